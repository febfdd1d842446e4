"""Ellipses stay, and the sentences around them are translated as sentences."""

import re

import pytest

from aiayn_keras_light.text_batches import TextError
from aiayn_keras_light.text_parts import translate_ellipses, with_last_ellipsis
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
        ("I met Mr. Škoda", None),
        ("A song feat. Beyoncé", None),
        ("See you soon. Tom", None),
        ("It was 5. Škoda", None),
        ('He said "come. Škoda"', None),
        ("Nos vemos mañana. Łódź", None),
        ("See you. 👋", None),
    ],
)
def test_a_foreign_word_behind_a_sentence_is_a_text_of_its_own(text, parts):
    double = SentencesDouble()
    (found,) = translate_ellipses([text], double)
    assert found.text == text.upper()
    assert [texts for texts, _ in double.calls] == ([[""], parts] if parts else [[text]])


def test_words_are_found_in_texts_as_long_as_they_come():
    for text in ("a. " * 50_000 + "é", "a" * 100_000 + "é", "ab!" + " " * 100_000 + "é é"):
        assert translate_ellipses([text], SentencesDouble())


def test_a_text_of_which_a_part_has_no_translation_has_none():
    assert translate_ellipses(["so... nothing"], SentencesDouble()) == [None]


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
