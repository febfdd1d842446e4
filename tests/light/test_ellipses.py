"""Ellipses stay, and the sentences around them are translated as sentences."""

import itertools
import re

import pytest

from aiayn_keras_light.text_batches import TextError
from aiayn_keras_light.text_parts import joined, translate_ellipses, with_last_ellipsis
from aiayn_keras_light.translating import Hypothesis, as_translation


class SentencesDouble:
    """In the place of a model: words in capitals, with a full stop for each ellipsis, and `¿`."""

    def __init__(self):
        self.calls = []

    def __call__(self, texts, progress):
        self.calls.append((list(texts), progress))
        return [self.translated(text) for text in texts]

    def translated(self, text):
        if text == "nothing":
            return None
        found = re.sub(r"\.{3}|…", ".", text).upper()
        return as_translation([Hypothesis(found, -2.0, -1.0, ("x",))] * 2)


@pytest.mark.parametrize(
    ("text", "translation"),
    [
        ("wait...", "WAIT..."),
        ("wait…  ", "WAIT…"),
        ('"wait....."', '"WAIT....."'),
        ("(so on...)", "(SO ON...)"),
        ("well... yes.", "WELL... YES."),
        ("well…\nyes…", "WELL…\nYES…"),
        ('"wait..." he said.', '"WAIT..." HE SAID.'),
        ("...and so... on", "...AND SO... ON"),
        ("tea, ...", "TEA, ..."),
        ("the end ... is near", "THE END ... IS NEAR"),
        ("3... 2... go!", "3. 2. GO!"),
        ("...", "."),
        ("1...10 ok", "1.10 OK"),
        ('he said "well... yes"', 'HE SAID "WELL. YES"'),
        ("`a... b` (c... d)", "`A. B` (C. D)"),
    ],
)
def test_texts_with_ellipses(text, translation):
    (found,) = translate_ellipses([text], SentencesDouble())
    assert found.text == translation


def test_the_model_reads_sentences():
    double = SentencesDouble()
    found = translate_ellipses(["no dots", "So... What?", "Wait..."], double, print)
    assert double.calls == [(["no dots", "", ""], print), (["So.", "What?", "Wait."], None)]
    assert [(len(each.hypotheses), each.score) for each in found] == [(2, -2), (1, -4), (2, -2)]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("See you soon. Владимир", ["See you soon.", "Владимир"]),
        ("Where is it?  東京!", ["Where is it?", "東京!"]),
        ("Thanks! Škoda", ["Thanks!", "Škoda"]),
        ("Thank you. Bye!", ["Thank you.", "Bye!"]),
        ("are you ok? yes", ["are you ok?", "yes"]),
        ("Nos vemos mañana. Adiós", ["Nos vemos mañana.", "Adiós"]),
        ("Thank you! Bye 👋 ", ["Thank you!", "Bye 👋 "]),
        ("Thank you! Bye - now", None),
        ("I met Mr. Škoda", None),
        ("I live in the U.S. Embassy", None),
        ("it is approx. half", None),
        ("two tbsp. oil", None),
        ("A song feat. Beyoncé", None),
        ("2,5 Mio. Menschen", None),
        ("Voir p. ex. Paris.", None),
        ("vijf mld. Euro en dhr. Jansen", None),
        ("I watch TV. Bye", ["I watch TV.", "Bye"]),
        ("It was 5. Škoda", None),
        ('He said "come. Škoda"', None),
        ("See you. 👋", None),
    ],
)
def test_a_word_behind_a_sentence_is_a_text_of_its_own(text, parts):
    double = SentencesDouble()
    (found,) = translate_ellipses([text], double)
    assert found.text == text.upper()
    assert [texts for texts, _ in double.calls] == ([[""], parts] if parts else [[text]])


def test_words_are_found_in_texts_as_long_as_they_come():
    for text in ("a. " * 50_000 + "é", "a" * 100_000 + "é", "ab!" + " " * 100_000 + "é é"):
        assert translate_ellipses([text], SentencesDouble())


def test_a_text_of_which_a_part_has_no_translation_has_none():
    assert translate_ellipses(["so... nothing"], SentencesDouble()) == [None]


def test_the_hypotheses_are_the_best_combinations_of_those_of_the_parts():
    scores = {"So.": [-1.0, -4.0, -4.5], "What?": [-2.0, -2.5], "Well.": [-3.0]}

    def translate(texts, progress):
        return [
            as_translation(
                [Hypothesis(f"{text[:-1]}{n}.", 2 * x, x, (str(n),)) for n, x in enumerate(each)]
            )
            for text in texts
            for each in [scores.get(text, [0.0])]
        ]

    (found,) = translate_ellipses(["So... Well... What?"], translate)
    expected = sorted(
        (-(a + b - 3.0), f"So{i}... Well0... What{k}.")
        for (i, a), (k, b) in itertools.product(*map(enumerate, (scores["So."], scores["What?"])))
    )[:3]
    assert [(-each.normalized_score, each.text) for each in found.hypotheses] == expected
    assert [each.score for each in found.hypotheses] == [-2 * each[0] for each in expected]
    assert found.hypotheses[0].tokens == ("0", "0", "0")


def test_what_is_found_twice_is_one_hypothesis():
    def translate(texts, progress):
        found = [
            [("a.", -1.0), ("b.", -2.0), ("a.", -3.0)][: 3 if text == "So." else 1]
            for text in texts
        ]
        return [as_translation([Hypothesis(t, s, s, ()) for t, s in each]) for each in found]

    (found,) = translate_ellipses(["So... what"], translate)
    assert [each.text for each in found.hypotheses] == ["A... a.", "B... a."]


def test_an_error_names_the_place_of_the_text():
    def refuse(texts, progress):
        if "bad." in texts:
            raise TextError("texts", texts.index("bad."), "too long")
        return SentencesDouble()(texts, progress)

    with pytest.raises(TextError, match=r"`texts\[1\]`: too long"):
        translate_ellipses(["a... b", "so... bad..."], refuse)


@pytest.mark.parametrize("translation", ["lo sé", "lo sé.", "lo sé...", "lo sé…"])
def test_a_last_ellipsis_is_written_once(translation):
    assert with_last_ellipsis("I know...", translation) == "lo sé..."


def test_parts_without_words_are_joined():
    assert joined(["12 -"], []).text == "12 -"
