from collections import Counter

import numpy as np
import pytest

from aiayn_keras.data.typing_habits import in_shorthand


def variants(text, number=300):
    random = np.random.default_rng(0)
    return Counter(in_shorthand(text, random) for _ in range(number))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I don't know.", {"idk.", "i dunno.", "i dont know."}),
        ("See you tomorrow!", {"c u tmrw!", "see u 2moro!", "see you tomorrow!"}),
        ("Thanks.", {"thx.", "thanks."}),
        ("Are you okay?", {"r u ok?", "are u ok?"}),
        ("It’s late.", {"its late.", "its l8."}),
    ],
)
def test_english_is_written_as_in_a_chat(text, expected):
    found = variants(text)
    assert expected <= set(found), found.most_common(12)


def test_words_are_whole():
    assert not any("u" in text for text in variants("Beyond yoyos, yonder toe."))


def test_some_marks_and_vowels_are_repeated():
    found = variants("It is so good!")
    assert any(text.endswith("!!") for text in found)
    assert any("ooo" in text for text in found)


@pytest.mark.parametrize("text", ["", ".", "😀", "東京", "“”"])
def test_what_has_no_words_keeps_its_characters(text):
    assert {each.rstrip(".") for each in variants(text)} == {text.rstrip(".")}
