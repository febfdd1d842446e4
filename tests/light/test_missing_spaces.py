"""Texts have the spaces that models have read in others, and rows of tables stay rows."""

import pytest

from aiayn_keras_light.placeable_patterns import placeable_in_line
from aiayn_keras_light.spaces import with_spaces


def read(text):
    return with_spaces(text, placeable_in_line())


def test_a_number_has_a_space_before_its_unit():
    assert read("5km in 25min for 12€, the 5me") == "5 km in 25 min for 12 €, the 5me"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("it rained.He stayed at home", "it rained. He stayed at home"),
        ("it was late.I left", "it was late. I left"),
        ("great!See you,my friend", "great! See you, my friend"),
        ("ok?I am.", "ok? I am."),
        ("stop!!you will fall", "stop!! you will fall"),
        ("c'est fini!Après,rien", "c'est fini! Après, rien"),
        ("Привет,как дела?Хорошо", "Привет, как дела? Хорошо"),
        ("I know...but no", "I know... but no"),
        ("yes,please", "yes, please"),
        ("if you want,I can", "if you want, I can"),
        ("sh!t, f!ne and fr!ends", "sh!t, f!ne and fr!ends"),
        ("System.Out, e.g.This, 1,234.56, U.S.A.", "System.Out, e.g.This, 1,234.56, U.S.A."),
        ("a,b or c.d", "a,b or c.d"),
        ("She left(she was tired).", "She left (she was tired)."),
        ("call main(a, b), main(a b=1) or dog(s)", "call main(a, b), main(a b=1) or dog(s)"),
        ("está aquí.Él,no", "está aquí. Él, no"),
        (
            "os.Exit(1), obj.Name = 5 or typing.List[a]",
            "os.Exit(1), obj.Name = 5 or typing.List[a]",
        ),
        ("a@b.org,please, with 5km,if so", "a@b.org, please, with 5 km, if so"),
        ("Hi Tom,How are you?", "Hi Tom, How are you?"),
        ("We paid $5,Tom paid 6,and left.", "We paid $5, Tom paid 6, and left."),
        ("On Monday,May 5,2024,we left.", "On Monday, May 5,2024, we left."),
        ("In Paris,France, we saw 3,or 4", "In Paris, France, we saw 3, or 4"),
        ("好,我!你", "好,我!你"),
        ("tea,coffee,milk", "tea,coffee,milk"),
    ],
)
def test_a_mark_has_a_space_behind_it(text, wanted):
    assert read(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "`a,bc!De 5km` and https://xy.org/ab,cd!Ef?gh/5km",
        "12,Anna Maria,a dog",
        "Mary Smith,New York,a dog",
        "Mary Smith,23,She is nice.",
        'Mary Smith,"tea, please",to go',
        "12;Anna;now,please",
    ],
)
def test_no_space_is_put_into_placeables_or_rows_of_tables(text):
    assert read(text) == text


def test_each_line_of_a_text_is_a_row_or_a_sentence():
    text = "tea,coffee,milk\r\nWe saw Tom,Mary and Bob.\n12,Tom,so so\n`a\nb`\nyes,but"
    assert read(text) == (
        "tea,coffee,milk\r\nWe saw Tom, Mary and Bob.\n12,Tom,so so\n`a\nb`\nyes, but"
    )
