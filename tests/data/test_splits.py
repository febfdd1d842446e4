from collections import Counter

import hypothesis
import hypothesis.strategies as st
import pytest

from aiayn_keras.data.parallel_text import letters_of, split_of, splits_by_component

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
    assert letters_of("¡Está a 30 °C, Straße!") == "estáa30cstrasse"


def test_hash_is_the_same_on_every_machine():
    splits = [split_of(word, 0.25) for word in ("Go.", "Run!", "Who?", "Wow!", "Fire!", "Help!")]
    assert splits == EXPECTED


def test_components_go_where_their_first_source_goes():
    pairs = [
        ("Wow!", "¡Vaya!"),
        ("Run!", "¡Corre!"),
        ("Go.", "Ve."),
        ("run", "Corred."),  # the source of another pair, by its letters
        ("Leave!", "¡Ve!"),  # the target of another pair, by its letters
        ("Leave!", "¡Sal!"),
        ("Fire!", "¡Fuego!"),
        ("Ask!", "sal"),  # "ask" comes before "go" and "leave", which it is connected to
    ]
    alone = {word: split_of(word, 0.25) for word in ("Wow!", "Run!", "Ask!", "Fire!")}
    assert alone == {"Wow!": "test", "Run!": "train", "Ask!": "test", "Fire!": "validation"}
    order = ["Wow!", "Run!", "Ask!", "Run!", "Ask!", "Ask!", "Fire!", "Ask!"]
    expected = [alone[word] for word in order]
    assert splits_by_component(pairs, 0.25) == expected


def test_the_same_word_on_both_sides_connects_nothing():
    words = ["Go.", "Wow!", "Who?"]
    splits = splits_by_component(list(zip(words, words[1:] + words[:1], strict=True)), 0.25)
    assert splits == [split_of(word, 0.25) for word in words]


# Few sentences, so that many are shared; some differ in what does not count.
sentences = st.builds(
    lambda word, mark: word.title() + mark if mark else word,
    st.sampled_from([f"word{n}" for n in range(25)]),
    st.sampled_from(["", "!", " ...", "?"]),
)
corpora = st.lists(st.tuples(sentences, sentences), max_size=30)


@hypothesis.given(pairs=corpora, other=corpora, held_out=st.sampled_from([0.1, 0.33, 0.5]))
def test_no_two_splits_share_a_sentence_and_other_pairs_move_nothing(pairs, other, held_out):
    splits = splits_by_component(pairs, held_out)
    homes = {}
    for pair, split in zip(pairs, splits, strict=True):
        for side, sentence in enumerate(pair):
            assert homes.setdefault((side, letters_of(sentence)), split) == split
    # Not connected to any of the pairs.
    elsewhere = [(f"elsewhere {source}", f"elsewhere {target}") for source, target in other]
    assert splits_by_component([*elsewhere, *pairs], held_out)[len(elsewhere) :] == splits
    assert splits_by_component(pairs[::-1], held_out) == splits[::-1]


@hypothesis.given(pairs=corpora)
def test_a_split_is_that_of_the_first_source_reached(pairs):
    """The slow way: spread the smallest source over neighbours until nothing changes."""
    keys = [(letters_of(source), letters_of(target)) for source, target in pairs]
    first = [source for source, _ in keys]
    changed = True
    while changed:
        changed = False
        for one, (source, target) in enumerate(keys):
            near = [n for n, key in enumerate(keys) if key[0] == source or key[1] == target]
            smallest = min(first[n] for n in near)
            changed |= smallest != first[one]
            first[one] = smallest
    assert splits_by_component(pairs, 0.33) == [split_of(source, 0.33) for source in first]
