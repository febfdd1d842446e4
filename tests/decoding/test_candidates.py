import keras
import numpy as np
import pytest
from keras import ops

from aiayn_keras.decoding.beam_search import Sentences
from aiayn_keras.decoding.candidates import (
    TokenLimits,
    repeats_ngram,
    top_candidates,
    top_log_probs,
)
from tests.helpers import assert_close

N = 3


def logits_of(vocabulary_size, scale=5.0):
    return (np.random.normal(size=(N, vocabulary_size)) * scale).astype("float32")


@pytest.mark.parametrize("k", [1, 2, 7])
@pytest.mark.parametrize("vocabulary_size", [7, 130, 1000, 1024, 4097, 5003])
def test_candidates_are_those_of_sorting_everything(vocabulary_size, k):
    logits = logits_of(vocabulary_size)
    values, tokens = top_candidates(keras.ops.convert_to_tensor(logits), k)
    expected = np.argsort(-logits, axis=-1)[:, :k]
    np.testing.assert_array_equal(keras.ops.convert_to_numpy(tokens), expected)
    assert_close(values, np.take_along_axis(logits, expected, axis=-1))


@pytest.mark.parametrize("where", ["first block", "last block", "behind the blocks"])
def test_candidates_may_all_lie_together(where):
    vocabulary_size = 5003  # a prime: no block divides it
    first = {"first block": 0, "last block": 4928, "behind the blocks": 4996}[where]
    logits = logits_of(vocabulary_size, scale=0.1)
    best = first + np.random.permutation(7)
    logits[:, best] = np.arange(7, 0, -1)
    _, tokens = top_candidates(keras.ops.convert_to_tensor(logits), 7)
    np.testing.assert_array_equal(keras.ops.convert_to_numpy(tokens), [best] * N)


@pytest.mark.parametrize("is_small", [False, True])
@pytest.mark.parametrize("scale", [0.0, 1.0, 80.0])
def test_log_probabilities_are_those_of_the_whole_softmax(scale, is_small):
    logits = logits_of(1000, scale)
    log_probs, tokens, log_normalizer = top_log_probs(
        keras.ops.convert_to_tensor(logits), 5, is_small=is_small
    )
    shifted = logits.astype("float64") - logits.max(axis=-1, keepdims=True)
    expected = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    tokens = keras.ops.convert_to_numpy(tokens)
    assert_close(log_probs, np.take_along_axis(expected, tokens, axis=-1), 1e-5, 2e-5)
    assert_close(logits - keras.ops.convert_to_numpy(log_normalizer), expected, 1e-5, 2e-5)


@pytest.mark.parametrize("is_small", [False, True])
def test_probabilities_survive_where_the_best_token_may_not_be_chosen(is_small):
    """A sharp model: all that may be chosen has a probability of less than any float32."""
    logits = np.array([[200.0, 3.0, 1.0, 2.0], [0.0, 1.0, 300.0, -5.0]], "float32")
    selectable = np.where(logits > 100, -np.inf, logits).astype("float32")
    log_probs, tokens, log_normalizer = top_log_probs(
        keras.ops.convert_to_tensor(logits), 2, keras.ops.convert_to_tensor(selectable), is_small
    )
    np.testing.assert_array_equal(keras.ops.convert_to_numpy(tokens), [[1, 3], [1, 0]])
    assert_close(log_probs, [[-197.0, -198.0], [-299.0, -300.0]])
    assert_close(log_normalizer, [[200.0], [300.0]])


NUM_BEAMS, VOCABULARY_SIZE, END = 2, 50, 3


def test_forbidden_tokens_and_an_early_end_take_nobody_s_place():
    """The most probable tokens may not be chosen: 2·W others are there nevertheless."""
    logits = np.tile(-np.arange(VOCABULARY_SIZE, dtype="float32"), (NUM_BEAMS, 1))
    prompt = np.zeros((1, 8), "int32")
    sentences = Sentences(
        np.array([0], "int32"), prompt, prompt > 0, np.array([6], "int32"), np.ones(1, "float32")
    )
    limits = TokenLimits(END, min_length=4, forbidden_token_ids=(0, 1, 2))
    tokens, log_probs = map(
        ops.convert_to_numpy,
        limits.candidates(
            ops.convert_to_tensor(logits),
            ops.zeros((NUM_BEAMS, 8), dtype="int32"),
            ops.convert_to_tensor(2, dtype="int32"),
            NUM_BEAMS,
            Sentences(*map(ops.convert_to_tensor, sentences)),
        ),
    )
    for beam in range(NUM_BEAMS):
        allowed = tokens[0, beam][np.isfinite(log_probs[0, beam])]
        np.testing.assert_array_equal(np.sort(allowed), [4, 5, 6, 7])


START = 1


def forbidden_next(row, index, ngram_size):
    """The tokens of a row that must not be written at `index`."""
    token_ids = np.array([row])
    repeats = repeats_ngram(ops.convert_to_tensor(token_ids), index, ngram_size)
    return set(token_ids[ops.convert_to_numpy(repeats)].tolist())


def test_the_last_token_of_an_earlier_ngram_is_forbidden():
    row = [START, 5, 6, 7, 5, 6, 0]
    assert forbidden_next(row, 6, 3) == {7}
    assert forbidden_next(row, 6, 2) == {7}
    assert forbidden_next(row, 6, 1) == {5, 6, 7}
    assert forbidden_next(row, 6, 4) == set()


@pytest.mark.parametrize(("ngram_size", "expected"), [(1, [0, 1, 1, 1, 1]), (2, [0, 0, 1, 0, 1])])
def test_all_places_of_a_token_have_one_answer(ngram_size, expected):
    """Those that are not yet written, too."""
    token_ids = ops.convert_to_tensor([[START, 5, 7, 5, 7]])
    found = ops.convert_to_numpy(repeats_ngram(token_ids, 4, ngram_size))
    assert found.astype(int).tolist() == [expected]


def test_the_start_token_is_part_of_no_ngram():
    row = [START, 5, START, 0]
    assert forbidden_next(row, 3, 2) == set()
    assert forbidden_next(row, 3, 1) == {5, START}
