from collections import Counter

import pytest

from aiayn_keras.data.splits import split_of

EXPECTED = ["validation", "train", "train", "test", "validation", "train"]


def test_shares_are_as_asked():
    counts = Counter(split_of(f"sentence {number}", 0.05) for number in range(20_000))
    assert counts["validation"] == pytest.approx(1000, abs=120)
    assert counts["test"] == pytest.approx(1000, abs=120)
    assert counts.total() == 20_000


def test_case_spaces_and_punctuation_do_not_matter():
    for number in range(200):
        split = split_of(f"Hello, world {number}!", 0.25)
        assert split_of(f"hello world {number}", 0.25) == split


def test_hash_is_the_same_on_every_machine():
    splits = [split_of(word, 0.25) for word in ("Go.", "Run!", "Who?", "Wow!", "Fire!", "Help!")]
    assert splits == EXPECTED
