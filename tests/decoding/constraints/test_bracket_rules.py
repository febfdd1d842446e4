import hypothesis
import keras
import numpy as np
import pytest
from hypothesis import strategies as st
from keras import ops

from aiayn_keras.convert.tokenizers import build_word_model
from aiayn_keras.decoding.constraints import BalancedBrackets
from aiayn_keras.decoding.constraints.balanced_brackets import (
    BracketRules,
    bracket_vocabulary,
    read_vocabulary,
)
from aiayn_keras.models import TransformerTokenizer
from tests.decoding.constraints.trees import (
    PIECES,
    all_trees,
    as_text,
    bracket_rules,
    depth_of,
    is_tree,
    prefixes_of,
)
from tests.decoding.random_model import (
    END,
    PAD,
    START,
    RandomModel,
    StateCache,
    StayingCache,
    assert_nothing,
    beam_search_on_paper,
    beams,
    penalized,
    same_hypotheses,
)
from tests.helpers import assert_close

SPECIAL = (PAD, START)

# === The recognizer itself ===


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(A XX )A", True),
        ("(A XX (B (B XX )B )B XX )A", True),
        ("", False),
        ("XX", False),
        ("(A )A", False),
        ("(A XX )B", False),
        ("(A (B XX )A )B", False),
        ("(A XX )A (A XX )A", False),
        ("(A XX )A XX", False),
        ("(A XX", False),
        ("XX )A", False),
    ],
)
def test_trees_are_told_from_other_strings(text, expected):
    assert is_tree(text) == expected


def test_the_small_trees_are_those_that_can_be_counted_by_hand():
    """Two labels: (A XX XX )A; a bracket around all of it, around one word; three levels are out.

    2 flat, 2² unary, and of 6 pieces 2² with one word in a constituent of its own, twice.
    """
    trees = all_trees(max_length=6, max_depth=2, num_words=2)
    assert sorted(len(ids) - 2 for ids in trees) == [4] * 2 + [6] * 12
    assert depth_of("(A XX (B (B XX )B )B )A") == 3


# === The best there is ===


@pytest.mark.parametrize(
    ("nums_words", "max_length", "max_depth"),
    [((1, 2, 3), 6, 9), ((1, 2, 3), 7, 2), ((2, 4, 5), 6, 9), (None, 5, 9), (None, 6, 1)],
)
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_a_wide_beam_finds_every_tree_and_nothing_else(nums_words, max_length, max_depth, alpha):
    model = RandomModel(seed=21, num_sentences=3, vocabulary_size=len(PIECES))
    options = beams(num_beams=80, length_penalty=alpha)
    rules = bracket_rules(80, max_depth, nums_words)
    ids, log_probs = model.search(options, max_length + 2, forbidden_token_ids=SPECIAL, **rules)
    num_found = 0
    for b, num_words in enumerate(nums_words or 3 * [None]):
        trees = all_trees(max_length, max_depth, num_words)
        expected = [(model.score(b, tree), tree) for tree in trees]
        expected = [(penalized(p, len(ids) - 1, alpha), p, ids) for p, ids in expected]
        same_hypotheses(ids[b], log_probs[b], sorted(expected, reverse=True))
        assert_nothing(ids[b, len(expected) :], log_probs[b, len(expected) :])
        num_found += len(expected)
    assert num_found >= 6


# === Narrow beams ===


@pytest.mark.parametrize("cache_type", [StateCache, StayingCache])
@pytest.mark.parametrize("num_beams", [1, 2, 4])
@pytest.mark.parametrize("end_bias", [-3.0, 3.0])
def test_a_narrow_beam_takes_every_token_that_can_become_a_tree_and_no_other(
    cache_type, num_beams, end_bias
):
    nums_words, limits, max_depth = [1, 2, 3, 4, 3, 2, 1, 3], [7, 4, 6, 6, 5, 6, 3, 7], 3
    model = RandomModel(22, 8, end_bias, vocabulary_size=len(PIECES))
    ids, log_probs = model.search(
        beams(num_beams, 0.6),
        length=12,
        max_lengths=np.array(limits, "int32"),
        cache_type=cache_type,
        **bracket_rules(num_beams, max_depth, nums_words),
    )
    for b, (num_words, limit) in enumerate(zip(nums_words, limits, strict=True)):
        may_be = prefixes_of(all_trees(limit, max_depth, num_words)).__contains__
        expected = beam_search_on_paper(model, b, num_beams, 0.6, limit, may_be=may_be)
        same_hypotheses(ids[b], log_probs[b], expected)
        assert_nothing(ids[b, len(expected) :], log_probs[b, len(expected) :])


@pytest.mark.slow
@hypothesis.settings(max_examples=6 if keras.config.backend() == "jax" else 25)
@hypothesis.given(
    seed=st.integers(0, 2**32 - 1),
    nums_words=st.lists(st.integers(1, 9), min_size=3, max_size=3),
    room=st.lists(st.integers(0, 9), min_size=3, max_size=3),
    num_beams=st.integers(1, 5),
    max_depth=st.integers(1, 6),
    sharpness=st.floats(0.1, 20.0),
)
def test_whatever_the_weights_every_hypothesis_is_a_tree_of_the_words(
    seed, nums_words, room, num_beams, max_depth, sharpness
):
    """Limits may be as tight as a flat tree; then one is found for every sentence."""
    model = RandomModel(seed, 3, vocabulary_size=len(PIECES))
    model.output *= np.float32(sharpness)
    limits = [words + 2 + more for words, more in zip(nums_words, room, strict=True)]
    ids, log_probs = model.search(
        beams(num_beams, 0.6),
        length=22,
        max_lengths=np.array(limits, "int32"),
        forbidden_token_ids=SPECIAL,
        **bracket_rules(num_beams, max_depth, nums_words),
    )
    assert np.isfinite(log_probs[:, 0]).all()
    for b, w in zip(*np.nonzero(np.isfinite(log_probs)), strict=True):
        found = tuple(ids[b, w, : ids[b, w].tolist().index(END) + 1].tolist())
        text = as_text(found)
        assert is_tree(text)
        assert text.split().count("XX") == nums_words[b]
        assert depth_of(text) <= max_depth
        assert len(found) - 2 <= limits[b]
        # The probabilities are the model's, not shared out among what is allowed.
        assert_close(log_probs[b, w], model.score(b, found), 1e-3, 1e-3)


# === Limits and prompts ===


def test_where_the_limit_is_too_small_for_a_tree_nothing_is_found():
    model = RandomModel(seed=23, num_sentences=3, vocabulary_size=len(PIECES))
    limits = np.array([3, 4, 0], "int32")
    rules = bracket_rules(2, 9, [2, 2, 1])
    ids, log_probs = model.search(beams(num_beams=2), length=7, max_lengths=limits, **rules)
    for b in (0, 2):
        assert_nothing(ids[b], log_probs[b])
    assert sorted(map(as_text, map(tuple, ids[1, :, :6].tolist()))) == [
        "(A XX XX )A",
        "(B XX XX )B",
    ]


def test_a_forced_beginning_is_part_of_the_tree_and_one_that_is_of_none_ends_the_search():
    model = RandomModel(seed=24, num_sentences=3, vocabulary_size=len(PIECES))
    prefixes = [(START, 5, 7), (START, 5, 6), (START, 3, 5)]  # `(B XX`, `(B )B`, `(A (B`
    prompt, mask = np.zeros((3, 8), "int32"), np.zeros((3, 8), bool)
    for b, prefix in enumerate(prefixes):
        prompt[b, : len(prefix)], mask[b, : len(prefix)] = prefix, True
    rules = bracket_rules(60, 9, [2, 2, 2])
    ids, log_probs = model.search(beams(60, 0.0), 8, prompt, mask, **rules)
    for b, prefix in enumerate(prefixes):
        trees = {ids for ids in all_trees(6, 9, 2) if ids[: len(prefix)] == prefix}
        expected = sorted(((p := model.score(b, tree)), p, tree) for tree in trees)[::-1]
        same_hypotheses(ids[b], log_probs[b], expected)
        assert_nothing(ids[b, len(expected) :], log_probs[b, len(expected) :])
        assert bool(expected) == (b != 1)


# === The vocabulary ===


def test_pieces_are_brackets_by_their_first_letter_and_need_their_partner():
    pieces = ["<s>", "▁(NP", ")NP", "(X", "▁", "(", "▁)", ")Y", "word", "(NP", "▁()", "▁))"]
    opens, closes, is_leaf, begins_word = bracket_vocabulary(pieces, [False] + [True] * 11)
    # The labels are `)`, whose brackets are `()` and `))`, and `NP`.
    assert opens.tolist() == [-1, 1, -1, -1, -1, -1, -1, -1, -1, 1, 0, -1]
    assert closes.tolist() == [-1, -1, 1, -1, -1, -1, -1, -1, -1, -1, -1, 0]
    # A leaf that begins like a bracket, or is only a space, would not be read as a leaf.
    assert np.flatnonzero(is_leaf).tolist() == [8]
    assert np.flatnonzero(begins_word).tolist() == [1, 4, 6, 10, 11]


def test_leaves_begin_as_brackets_do_or_they_would_be_a_part_of_the_token_before_them():
    pieces = ["</s>", "▁(NP", "▁)NP", "▁XX", "s", "▁", "▁the"]
    _, _, is_leaf, _ = bracket_vocabulary(pieces, [False] + [True] * 6)
    assert np.flatnonzero(is_leaf).tolist() == [3, 6]


def test_control_and_unknown_symbols_are_nothing_in_a_tree():
    words = [None] * 4 + ["(S", ")S", None, "cat"]
    opens, closes, is_leaf, begins_word = read_vocabulary(build_word_model(words))
    assert np.flatnonzero(opens >= 0).tolist() == [4]
    assert np.flatnonzero(closes >= 0).tolist() == [5]
    assert not is_leaf[:6].any()
    assert is_leaf[7]
    assert np.flatnonzero(begins_word).tolist() == [4, 5, 7]


def test_a_vocabulary_without_brackets_is_refused():
    vocabulary = bracket_vocabulary(["</s>", "cat", "(NP", ")VP"], [False, True, True, True])
    with pytest.raises(ValueError, match="must have pairs of brackets"):
        BracketRules(vocabulary, 0, None, 9)


def test_words_are_counted_in_the_vocabulary_of_sources():
    sources = build_word_model([None] * 4 + ["cat", "dog", None, None])
    translations = build_word_model([None] * 4 + [None, "(S", ")S", "XX"])
    rules = BalancedBrackets().rules(TransformerTokenizer(sources, translations))
    token_ids = ops.convert_to_tensor([[4, 5, 4, 3], [5, 3, 0, 0]])
    state = rules.initial_state(token_ids, ops.not_equal(token_ids, 0), num_beams=2)
    assert_close(state.words_left, [[3, 3], [1, 1]])
