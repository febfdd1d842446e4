"""Acronyms that a model loses stay as they are; those that it translates are translated."""

import pytest

from aiayn_keras_light.acronyms import translate_acronyms
from aiayn_keras_light.text_batches import TextError
from aiayn_keras_light.translating import Hypothesis, as_translation


class ScoresDouble:
    """In the place of a model's `translate`: texts and scores from a dictionary.

    Args:
        answers: Dictionary from a text to the `(translation, score)` of each hypothesis. Other
            texts are translated as `?`, with a score of -5.
    """

    def __init__(self, answers):
        self.answers, self.calls = answers, []

    def __call__(self, texts, progress):
        self.calls.append((list(texts), progress))
        return [
            as_translation(
                [Hypothesis(words, 2 * score, score, ("x",)) for words, score in hypotheses]
            )
            if (hypotheses := self.answers.get(text, [("?", -5.0)]))
            else None
            for text in texts
        ]


def translated(text, answers):
    double = ScoresDouble(answers)
    (found,) = translate_acronyms([text], double, "ヌメ")
    return found, double.calls


def test_a_lost_acronym_is_put_back():
    found, calls = translated(
        "my PC is off",
        {"my PC is off": [("mi trozo", -2.0)], "my ヌ is off": [("mi ヌ", -1.0), ("mi", -1.5)]},
    )
    assert [(each.text, each.normalized_score) for each in found.hypotheses] == [("mi PC", -1.0)]
    assert calls == [
        (["my PC is off"], None),
        (["pc"], None),
        (["my ヌ is off"], None),
    ]


@pytest.mark.parametrize(
    ("text", "translation"),
    [
        ("my PC is off", "mi PC"),
        ("two CDs here", "dos CD aquí"),
        ("I am here", "aquí"),
        ("I am at IBM", "我在IBM工作"),
        ("see Tom and Mary", "ven"),
        ("MY PC IS OFF", "?"),
        ("the UN met in May", "la ONU se reunió"),
        ("NATO and the EU met in May", "la OTAN y la UE"),
        ("IBM PC", "?"),
        ("at IBM.com or A/B@IBM", "?"),
        ("Anglo-Saxon art", "?"),
        ("ein LKW-Fahrer", "?"),
        ("그는 IBM에서 일한다", "?"),
        ("", "?"),
    ],
)
def test_other_texts_are_read_once(text, translation):
    found, calls = translated(text, {text: [(translation, -2.0)]})
    assert (found.text, len(calls)) == (translation, 1)


def test_another_acronym_with_other_letters_is_no_translation():
    answers = {"my PC is off": [("mi CD", -2.0)], "my ヌ is off": [("mi ヌ", -1.0)]}
    assert translated("my PC is off", answers)[0].text == "mi PC"
    answers = {
        "the EU and the UE met": [("la UE", -2.0)],
        "the ヌ and the UE met": [("la ヌ", -1.0)],
    }
    assert translated("the EU and the UE met", answers)[0].text == "la EU"


@pytest.mark.parametrize("word", ["PC", "CDs", "U.S.", "USB-C", "PayPal", "ООН"])
def test_kinds_of_acronyms(word):
    found, _ = translated(
        f"it is {word} here",
        {f"it is {word} here": [("x", -2.0)], "it is ヌ here": [("a ヌ b", -1.0)]},
    )
    assert found.text == f"a {word} b"


def test_an_acronym_between_chinese_words_is_one():
    found, calls = translated(
        "我在IBM工作。", {"我在IBM工作。": [("x", -2.0)], "我在ヌ工作。": [("I work at ヌ.", -1.0)]}
    )
    assert (found.text, calls[1]) == ("I work at IBM.", (["ibm"], None))


@pytest.mark.parametrize(
    "other",
    [[("la ヌ", -0.8)], [("la", -0.1)], [("ヌ ヌ", -0.1)], []],
    ids=["hardly better", "without the letter", "twice", "no translation"],
)
def test_the_first_translation_stays_unless_the_second_is_better_and_whole(other):
    found, _ = translated("the TV", {"the TV": [("la tele", -1.0)], "the ヌ": other})
    assert found.text == "la tele"


def test_a_known_word_in_capitals_is_read_in_small_letters():
    found, _ = translated(
        "it was AWFUL at IBM today",
        {
            "it was AWFUL at IBM today": [("x", -3.0)],
            "awful": [("horrible", -0.8)],
            "it was awful at ヌ today": [("fue horrible en ヌ hoy", -1.0)],
        },
    )
    assert found.text == "fue horrible en IBM hoy"


@pytest.mark.parametrize(
    ("score_of_word", "masked", "small", "text"),
    [
        (-3.0, -1.0, -1.1, "a HUGE"),
        (-3.0, -1.0, -0.9, "a huge"),
        (-1.0, -1.0, -1.6, "a huge"),
        (-1.0, -0.9, -1.8, "a HUGE"),
        (-1.0, -1.1, -1.8, "x"),
    ],
    ids=["letter", "small letters", "known", "known, but improbable", "hardly better"],
)
def test_the_more_probable_reading_is_taken(score_of_word, masked, small, text):
    found, _ = translated(
        "my HUGE is here",
        {
            "my HUGE is here": [("x", -2.0)],
            "huge": [("y", score_of_word)],
            "my ヌ is here": [("a ヌ", masked)],
            "my huge is here": [("a huge", small)],
        },
    )
    assert found.text == text


def test_a_known_word_that_is_the_same_in_the_translation_is_left_to_the_model():
    found, calls = translated(
        "he said NO.", {"he said NO.": [("dijo que no.", -3.0)], "no": [("No", -0.3)]}
    )
    assert (found.text, len(calls)) == ("dijo que no.", 2)


def test_an_acronym_alone_is_its_own_translation_if_the_model_is_unsure():
    answers = {"FAQ": [("rápido", -1.8)], "UFO": [("OVNI", -1.5)], "NOW": [("ahora", -1.8)]}
    answers["now"] = [("ahora", -0.2)]
    double = ScoresDouble(answers)
    found = translate_acronyms(["FAQ", "UFO", "NOW"], double, "ヌメ")
    assert [each.text for each in found] == ["FAQ", "OVNI", "ahora"]


def test_an_acronym_with_a_point_does_not_double_that_of_the_sentence():
    found, _ = translated(
        "so L.A. is big", {"so L.A. is big": [("L.", -3.0)], "so ヌ is big": [("Así es ヌ.", -1.0)]}
    )
    assert found.text == "Así es L.A."


def test_letters_of_the_text_itself_are_not_taken():
    text = "ヌ and IBM, BBC on my old desk"
    double = ScoresDouble({text: [("ヌ x", -3.0)]})
    translate_acronyms([text], double, "ヌメ", progress=print)
    assert [progress for _, progress in double.calls] == [print, None, None]
    assert double.calls[2][0] == [
        "ヌ and メ, BBC on my old desk",
    ]


def test_texts_without_a_translation_have_none():
    double = ScoresDouble({"the TV is on": []})
    assert translate_acronyms(["the TV is on"], double, "ヌ") == [None]


def test_an_error_names_the_place_of_the_text():
    def refuse(texts, progress):
        if "it is ヌ here" in texts:
            raise TextError("texts", texts.index("it is ヌ here"), "too long")
        return ScoresDouble({})(texts, progress)

    with pytest.raises(TextError, match=r"`texts\[1\]`: too long"):
        translate_acronyms(["so it is", "it is IBM here"], refuse, "ヌ")


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("we live in the U.K.", "we live in the UK."),
        ("the E.U.'s rules, the U.N., the U.K.", "the EU's rules, the UN, the UK."),
        ("U.K.", "UK"),
        ("the U.N. Army", "the U.N. Army"),
        ("it is in the U.K. He left", "it is in the U.K. He left"),
        ("the U.S., L.A. and F.B.I.", "the U.S., L.A. and F.B.I."),
    ],
)
def test_points_of_unions_are_not_read(text, read):
    _, calls = translated(text, {})
    assert calls[0][0] == [read]


def test_a_name_with_inner_capitals_is_never_a_word_in_small_letters():
    answers = {
        "I paid by PayPal": [("pagué con pago", -0.5)],
        "I paid by ヌ": [("pagué con ヌ", -0.1)],
        "paypal": [("pago", -0.1)],
        "PayPal": [("Pago", -0.1)],
    }
    found, calls = translated("I paid by PayPal", answers)
    assert found.text == "pagué con PayPal"
    assert [] not in [texts for texts, _ in calls]
    assert translated("PayPal", answers)[0].text == "PayPal"
