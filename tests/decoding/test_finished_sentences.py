import keras
import numpy as np
import pytest
from keras import ops

from aiayn_keras.backend import compile_inference
from aiayn_keras.decoding.beam_search import SearchInputs, beam_search
from tests.decoding.random_model import END, START, RandomModel, StateCache, StayingCache, beams

NUM_SENTENCES = 13
LENGTH = 24


def model_of_many_lengths():
    """Sentences that are done after very different numbers of steps."""
    return RandomModel(seed=20, num_sentences=NUM_SENTENCES, end_bias=0.5)


@pytest.mark.parametrize("num_return_sequences", [1, 3])
@pytest.mark.parametrize("alpha", [0.0, 0.6])
def test_leaving_changes_no_hypothesis(alpha, num_return_sequences):
    options = beams(3, alpha, num_return_sequences=num_return_sequences)
    limits = np.arange(NUM_SENTENCES, dtype="int32")
    staying, leaving = (
        model_of_many_lengths().search(options, LENGTH, max_lengths=limits, cache_type=cache_type)
        for cache_type in (StayingCache, StateCache)
    )
    np.testing.assert_array_equal(leaving[0], staying[0])
    np.testing.assert_allclose(leaving[1], staying[1], rtol=1e-5)


def test_forced_tokens_stay_with_their_sentence():
    prompt = np.zeros((NUM_SENTENCES, LENGTH), "int32")
    prompt[:, 0] = START
    prompt[:, 1:9] = np.random.default_rng(1).integers(3, 6, size=(NUM_SENTENCES, 8))
    forced = np.arange(LENGTH) < np.arange(1, NUM_SENTENCES + 1)[:, None]
    forced[:, 9:] = False
    options = beams(3)
    staying, leaving = (
        model_of_many_lengths().search(options, LENGTH, prompt, forced, cache_type=cache_type)
        for cache_type in (StayingCache, StateCache)
    )
    np.testing.assert_array_equal(leaving[0], staying[0])


def test_who_is_done_is_computed_no_more():
    if keras.config.backend() == "jax":
        pytest.skip("shapes are fixed on JAX")
    staying, leaving = model_of_many_lengths(), model_of_many_lengths()
    staying.search(beams(3, 0.0), LENGTH, cache_type=StayingCache)
    leaving.search(beams(3, 0.0), LENGTH)
    assert leaving.calls == staying.calls
    assert leaving.rows < 0.7 * staying.rows


@pytest.mark.parametrize("num_sentences", [1, NUM_SENTENCES])
def test_they_leave_a_compiled_search_too(num_sentences):
    model = model_of_many_lengths()
    model.initial = model.initial[:num_sentences]
    options = beams(3)
    prompt = np.zeros((num_sentences, LENGTH), "int32")
    prompt[:, 0] = START

    def search(prompt):
        mask = ops.equal(prompt, START)
        return beam_search(SearchInputs(model.next, model.cache(3), prompt, mask, options, END))

    token_ids, log_probs = map(
        ops.convert_to_numpy, compile_inference(search, keras.Sequential())(prompt)
    )
    expected_ids, expected = model.search(options, LENGTH)
    np.testing.assert_array_equal(token_ids, expected_ids)
    np.testing.assert_allclose(log_probs, expected, rtol=1e-5)
