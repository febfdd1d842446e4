"""A real model of somebody else, where it is at hand (the variable AIAYN_KERAS_DATA)."""

import os
from pathlib import Path

import pytest

from aiayn_keras.convert import convert_ctranslate2
from tests.claims.engine_words import MAX_DIFFERENCE, compare, our_answers

pytest.importorskip("ctranslate2")

FOLDER = Path(os.environ.get("AIAYN_KERAS_DATA", "nowhere")) / "ctranslate2-aren"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="AIAYN_KERAS_DATA has no such model")


def test_arabic_letters_become_latin_ones():
    texts, scores = our_answers(convert_ctranslate2(FOLDER), [["آ", "ت", "ز", "م", "و", "ن"]])
    assert texts == ["a t z m o n"]
    assert scores[0] == pytest.approx(-1.0617, abs=1e-3)


def test_random_words_are_translated_as_by_the_engine():
    different, difference = compare(FOLDER, num_words=20)
    assert different == []
    assert difference < MAX_DIFFERENCE
