import itertools

import keras
import numpy as np
import pytest
from keras import ops

from aiayn_keras.backend import compile_inference
from aiayn_keras.decoding.beam_search import SearchInputs, beam_search, start_search
from aiayn_keras.decoding.cached_decoding import ForeignCache
from aiayn_keras.decoding.search_options import SearchOptions
from tests.decoding.random_model import (
    END,
    PAD,
    START,
    RandomModel,
    StateCache,
    StayingCache,
    V,
    all_sequences,
    assert_nothing,
    beam_search_on_paper,
    beams,
    penalized,
    same_hypotheses,
)
from tests.helpers import B, K, T, assert_close

PENALTIES = [(0.0, 5), (0.6, 5), (1.0, 5), (1.0, 0), (2.5, 0)]
"""Exponents, and offsets: GNMT's length penalty, and that of other toolkits."""

# === The best there is ===


@pytest.mark.parametrize(("alpha", "offset"), PENALTIES)
def test_a_wide_beam_finds_what_exhaustive_search_finds(alpha, offset):
    model = RandomModel(seed=0, num_sentences=4)
    num_beams = sum((V - 1) ** length for length in range(4))  # 0 to 3 tokens before the end
    options = beams(num_beams, alpha, length_penalty_offset=offset)
    ids, log_probs = model.search(options, length=5)
    for b in range(4):
        expected = all_sequences(model, b, alpha, max_length=3, offset=offset)
        assert len(expected) == num_beams
        same_hypotheses(ids[b], log_probs[b], expected)


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
def test_a_wide_beam_is_exhaustive_under_all_limits_at_once(alpha):
    """Length limits of rows, forbidden tokens and forced beginnings."""
    model = RandomModel(seed=4, num_sentences=3)
    length, limits, prefixes = 7, [3, 4, 1], [(START,), (START, 4, PAD), (START, 5)]
    prompt, mask = np.full((3, length), 9, "int32"), np.zeros((3, length), bool)
    for b, prefix in enumerate(prefixes):
        prompt[b, : len(prefix)], mask[b, : len(prefix)] = prefix, True
    options = beams(num_beams=60, length_penalty=alpha)
    ids, log_probs = model.search(
        options,
        length,
        prompt,
        mask,
        max_lengths=np.array(limits, "int32"),
        forbidden_token_ids=(PAD, START),
    )
    for b, (limit, prefix) in enumerate(zip(limits, prefixes, strict=True)):
        expected = all_sequences(model, b, alpha, limit, prefix, forbidden=(PAD, START))
        same_hypotheses(ids[b], log_probs[b], expected)
        assert_nothing(ids[b, len(expected) :], log_probs[b, len(expected) :])


# === Narrow beams ===


@pytest.mark.parametrize(("alpha", "offset"), PENALTIES)
@pytest.mark.parametrize("num_beams", [1, 2, 4])
@pytest.mark.parametrize("end_bias", [-2.0, 0.0, 2.0])
@pytest.mark.parametrize("cache_type", [StateCache, StayingCache])
def test_stopping_early_loses_nothing(cache_type, alpha, offset, num_beams, end_bias):
    model = RandomModel(seed=12, num_sentences=8, end_bias=end_bias)
    options = beams(num_beams, alpha, length_penalty_offset=offset)
    ids, log_probs = model.search(options, length=12, cache_type=cache_type)
    for b in range(8):
        expected = beam_search_on_paper(model, b, num_beams, alpha, 10, offset)
        same_hypotheses(ids[b], log_probs[b], expected)


def test_a_short_finished_hypothesis_does_not_stop_a_long_one_that_will_win():
    """Ending at once has probability 0.7; 0.3 goes on, surely, to the limit, where α = 2 pays."""
    table = np.full((3, V), 1e-9)
    table[0, [END, 3]], table[1, 3], table[2, END] = (0.7, 0.3), 1.0, 1.0
    table = ops.convert_to_tensor(np.log(table), dtype="float32")
    length = 12

    def next_token(token_ids, cache, index):
        row = ops.where(index == 1, 0, ops.where(index == length - 1, 2, 1))
        return ops.take(table, ops.reshape(row, (1,)), axis=0), None, cache

    prompt = ops.convert_to_tensor([[START] + [0] * (length - 1)])
    for alpha, expected in ((0.0, [START, END]), (2.0, [START, *[3] * 10, END])):
        options = beams(num_beams=1, length_penalty=alpha)
        cache = StateCache(ops.zeros((1, 1, 1)))
        mask = ops.equal(prompt, START)
        ids, _ = beam_search(SearchInputs(next_token, cache, prompt, mask, options, END))
        assert ops.convert_to_numpy(ids)[0, 0, : len(expected)].tolist() == expected


def test_the_search_stops_when_nothing_can_improve():
    model = RandomModel(seed=0, end_bias=50.0)  # the end is certain
    ids, _ = model.search(beams(num_beams=1), length=40)
    np.testing.assert_array_equal(ids[:, 0, :3], [[START, END, 0]] * B)
    if keras.config.backend() != "jax":  # which traces the step
        assert model.calls == 1


def test_one_beam_without_length_penalty_is_greedy():
    model = RandomModel(seed=13, num_sentences=8)
    ids, _ = model.search(beams(num_beams=1, length_penalty=0.0), length=12)
    for b in range(8):
        prefix = (START,)
        while prefix[-1] != END:
            log_probs = model.log_probs(b, prefix)
            prefix += (END if len(prefix) == 11 else int(log_probs.argmax()),)
        assert tuple(ids[b, 0, : len(prefix)]) == prefix


def test_a_finished_hypothesis_is_frozen():
    """Of sequences that end at different times, scores and ids are those of re-scoring."""
    model = RandomModel(seed=14, num_sentences=8, end_bias=1.0)
    ids, log_probs = model.search(beams(num_beams=3), length=12)
    lengths = set()
    for b, w in itertools.product(range(8), range(3)):
        end = ids[b, w].tolist().index(END)
        lengths.add(end)
        assert (ids[b, w, end + 1 :] == 0).all()
        assert_close(log_probs[b, w], model.score(b, ids[b, w]), 1e-4, 1e-5)
    assert len(lengths) > 2


@pytest.mark.parametrize("alpha", [0.0, 1.0, 3.0])
def test_hypotheses_are_different_and_best_first(alpha):
    model = RandomModel(seed=5)
    ids, log_probs = model.search(beams(num_beams=4, length_penalty=alpha), length=9)
    for b in range(B):
        assert len({tuple(row) for row in ids[b].tolist()}) == 4
        lengths = [row.index(END) for row in ids[b].tolist()]
        scores = [penalized(*pair, alpha) for pair in zip(log_probs[b], lengths, strict=True)]
        assert scores == sorted(scores, reverse=True)


def test_a_row_alone_gets_what_it_gets_in_a_batch():
    model = RandomModel(seed=6, num_sentences=3)
    limits = np.array([9, 0, 5], "int32")
    options = beams(num_beams=3)
    together = model.search(options, length=11, max_lengths=limits)
    for b in range(3):
        alone = RandomModel(seed=6, num_sentences=3)
        alone.initial = model.initial[b : b + 1]
        ids, log_probs = alone.search(options, length=11, max_lengths=limits[b : b + 1])
        assert_close(ids[0], together[0][b])
        assert_close(np.exp(log_probs[0]), np.exp(together[1][b]))


def test_no_hypothesis_is_longer_than_its_limit():
    model = RandomModel(seed=7, num_sentences=3, end_bias=-9.0)
    limits = np.array([4, 0, 7], "int32")
    ids, log_probs = model.search(beams(num_beams=2), length=9, max_lengths=limits)
    assert ids[0, 0].tolist().index(END) == 4 + 1
    assert ids[1, 0].tolist() == [START, END, *[0] * 7]
    assert ids[2, 0].tolist().index(END) == 7 + 1
    assert log_probs[1, 1] == -np.inf
    assert not ids[1, 1].any()


def test_a_forbidden_token_is_never_chosen_and_its_share_is_not_given_away():
    model = RandomModel(seed=8)
    ids, log_probs = model.search(beams(num_beams=4), length=9, forbidden_token_ids=(PAD, START, 4))
    for b, w in np.ndindex(B, 4):
        hypothesis = ids[b, w, 1 : ids[b, w].tolist().index(END)]
        assert not np.isin(hypothesis, [PAD, START, 4]).any()
        assert_close(log_probs[b, w], model.score(b, ids[b, w]), 1e-4, 1e-5)


@pytest.mark.parametrize("num_return_sequences", [1, 2, 4])
@pytest.mark.parametrize("alpha", [0.0, 0.6, 2.0])
def test_fewer_hypotheses_are_the_best_of_all(alpha, num_return_sequences):
    model = RandomModel(seed=16, num_sentences=8)
    options = beams(4, alpha)
    ids, log_probs = model.search(options, length=12)
    fewer = model.search(beams(4, alpha, num_return_sequences=num_return_sequences), length=12)
    np.testing.assert_array_equal(fewer[0], ids[:, :num_return_sequences])
    assert_close(fewer[1], log_probs[:, :num_return_sequences])


def test_fewer_hypotheses_are_found_in_fewer_steps():
    if keras.config.backend() == "jax":
        pytest.skip("JAX traces a step, it does not run the function")
    calls = []
    for num_return_sequences in (1, 4):
        model = RandomModel(seed=16, num_sentences=1, end_bias=2.0)
        model.search(beams(4, 0.0, num_return_sequences=num_return_sequences), 40)
        calls.append(model.calls)
    assert calls[0] < calls[1]


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_no_hypothesis_is_shorter_than_the_minimum_unless_its_limit_is(alpha):
    model = RandomModel(seed=17, num_sentences=3, end_bias=1.0)
    limits = np.array([4, 4, 1], "int32")
    options = beams(num_beams=200, length_penalty=alpha, min_length=2)
    ids, log_probs = model.search(options, 6, max_lengths=limits, forbidden_token_ids=(PAD, START))
    for b, limit in enumerate(limits):
        expected = [
            hypothesis
            for hypothesis in all_sequences(model, b, alpha, limit, forbidden=(PAD, START))
            if len(hypothesis[2]) - 2 >= min(2, limit)
        ]
        same_hypotheses(ids[b], log_probs[b], expected)
        assert_nothing(ids[b, len(expected) :], log_probs[b, len(expected) :])


def repeats(ids, ngram_size):
    """Returns whether an n-gram of the words between start and end is there twice."""
    words = ids[1:-1]
    ngrams = [words[i : i + ngram_size] for i in range(len(words) - ngram_size + 1)]
    return len(set(ngrams)) < len(ngrams)


@pytest.mark.parametrize("ngram_size", [1, 2, 3])
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_a_wide_beam_finds_all_sequences_that_repeat_no_ngram(ngram_size, alpha):
    model = RandomModel(seed=18, num_sentences=3)
    forbidden = (PAD, START)
    options = beams(130, alpha, no_repeat_ngram_size=ngram_size)
    ids, log_probs = model.search(options, length=6, forbidden_token_ids=forbidden)
    for b in range(3):
        expected = [
            hypothesis
            for hypothesis in all_sequences(model, b, alpha, max_length=4, forbidden=forbidden)
            if not repeats(hypothesis[2], ngram_size)
        ]
        assert len(expected) < 121
        same_hypotheses(ids[b], log_probs[b], expected)
        assert_nothing(ids[b, len(expected) :], log_probs[b, len(expected) :])


@pytest.mark.parametrize("num_beams", [1, 3])
def test_a_bonus_orders_what_finishes_and_leaves_log_probabilities_alone(num_beams):
    """The bonus takes from a hypothesis what its cache has summed up."""
    model = RandomModel(seed=19, num_sentences=4)
    options = beams(num_beams, 0.0, coverage_penalty=1.0, num_return_sequences=1)
    ids, log_probs = model.search(options, length=7)
    if num_beams > 1:
        plain, _ = model.search(beams(num_beams, 0.0), length=7)
        assert (ids != plain[:, :1]).any()
    for b in range(4):
        assert_close(log_probs[b, 0], model.score(b, ids[b, 0]), 1e-4, 1e-5)
        found = tuple(ids[b, 0].tolist())
        best = max(
            (log_prob + model.bonus(b, hypothesis), hypothesis)
            for log_prob, hypothesis in model.finished(b, num_beams, max_length=5)
        )
        assert found[: len(best[1])] == best[1]


def test_half_precision_logits_are_compared_in_float32():
    model = RandomModel(seed=9)
    in_float32 = model.search(beams(num_beams=2), length=6)
    original = model.next

    def half(token_ids, cache, index):
        logits, state, cache = original(token_ids, cache, index)
        return ops.cast(logits, "bfloat16"), state, cache

    model.next = half
    _, log_probs = model.search(beams(num_beams=2), length=6)
    assert log_probs.dtype == np.float32
    assert_close(log_probs[:, 0], in_float32[1][:, 0], rtol=0.05, atol=0.05)


def test_compiled_equals_eager():
    model = RandomModel(seed=10)
    options = beams(num_beams=3)
    limits = np.array([8, 5], "int32")
    prompt = np.zeros((B, 10), "int32")
    prompt[:, 0] = START

    def search(prompt, limits):
        mask = ops.equal(prompt, START)
        return beam_search(
            SearchInputs(model.next, model.cache(3), prompt, mask, options, END, limits)
        )

    ids, log_probs = compile_inference(search, keras.Sequential())(prompt, limits)
    expected_ids, expected = model.search(options, length=10, max_lengths=limits)
    assert_close(ids, expected_ids)
    assert_close(log_probs, expected)


W, M = 4, 3
BEAMS = np.array([[2, 0, 0, 1], [1, 1, 2, 0]], dtype="int32")


def test_gather_picks_rows_of_the_cache():
    cache = np.random.normal(size=(B * W, T, K)).astype("float32")
    beams = BEAMS[:, :W]
    picked = ForeignCache(cache).reorder(keras.ops.convert_to_tensor(beams)).rows
    assert_close(picked, cache[[2, 0, 0, 1, 4 + 1, 4 + 1, 4 + 2, 4 + 0]])


def test_the_search_starts_from_one_live_hypothesis():
    prompt = np.array([[2, 5, 6, 7], [2, 8, 9, 9]], dtype="int32")
    mask = np.array([[True, True, False, False], [True, False, False, False]])
    options = SearchOptions(W, num_return_sequences=M)
    _, state = start_search(
        SearchInputs(None, "any", *map(ops.convert_to_tensor, (prompt, mask)), options, 1)
    )
    assert int(state.index) == 1
    assert_close(state.live_ids, [[[2, 5, 0, 0]] * W, [[2, 0, 0, 0]] * W])
    never = float("-inf")
    assert_close(keras.ops.exp(state.live_log_probs), [[1, 0, 0, 0]] * B)
    for nothing in (state.finished_log_probs, state.finished_scores):
        np.testing.assert_array_equal(keras.ops.convert_to_numpy(nothing), np.full((B, M), never))
    assert_close(state.finished_ids, np.zeros((B, M, 4)))
    assert_close(ops.cast(state.can_improve, "int32"), [1] * B)
    assert state.cache == "any"


NUM_SENTENCES = 19  # enough for groups where shapes are fixed
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
