"""A recorded search is the package's search: it ends with the same hypotheses and scores."""

import math
from pathlib import Path

import numpy as np
import pytest
from keras import ops

from aiayn_keras import TransformerSeq2SeqLM
from aiayn_keras.decoding.recording import FINISHES, LIVES
from aiayn_keras.decoding.search_options import SearchOptions
from aiayn_keras.decoding.translation_search import TranslationSearch
from tests.helpers import assert_close
from tests.random_parser import SOURCES as PARSED
from tests.random_parser import build_random_parser

SPANISH = Path(__file__).parents[2] / "saved_models" / "tatoeba_en_es_keras"
SOURCE = "All the money was gone."
BEAMS, ALPHAS = (1, 2, 3, 5), (0.0, 0.6, 1.0)
SEARCHED = ((5, 0.6),)
"""Each number of beams and each length penalty takes seconds; `make test-all` tries the others."""


@pytest.fixture(scope="module")
def spanish():
    return TransformerSeq2SeqLM.from_preset(str(SPANISH))


@pytest.fixture(scope="module")
def record(spanish):
    return spanish.record_search(SOURCE, BEAMS, ALPHAS)


def searched(model, num_beams, alpha):
    """Wordpieces and log-probability of the best hypothesis, by the search of `translate`."""
    tokenizer = model.preprocessor.tokenizer
    ids = ops.convert_to_tensor([[*tokenizer([SOURCE])[0], tokenizer.end_token_id]])
    search = TranslationSearch((model.backbone,), tokenizer, SearchOptions(num_beams, alpha))
    token_ids, log_probs = search.find(ids, ops.ones_like(ids))
    found = [int(i) for i in ops.convert_to_numpy(token_ids)[0, 0] if i]
    log_prob = float(ops.convert_to_numpy(log_probs)[0, 0])
    return tuple(map(tokenizer.id_to_token, found[1:-1])), log_prob


@pytest.mark.parametrize(
    ("num_beams", "alpha"),
    [
        pytest.param(beams, alpha, marks=[pytest.mark.slow] * ((beams, alpha) not in SEARCHED))
        for beams in BEAMS
        for alpha in ALPHAS
    ],
)
def test_every_search_ends_as_the_search_of_the_package(spanish, record, num_beams, alpha):
    search = record.searches[BEAMS.index(num_beams)]
    assert search.num_beams == num_beams
    best = search.finished[search.best[alpha]]
    tokens, log_prob = searched(spanish, num_beams, alpha)
    assert best.tokens == tokens
    assert_close(best.log_prob, log_prob, rtol=1e-4)


@pytest.mark.parametrize(("num_beams", "alpha"), [(3, 0.6), (3, 1.0)])
def test_a_recorded_search_ends_with_the_translation(spanish, record, num_beams, alpha):
    search = record.searches[BEAMS.index(num_beams)]
    best = search.finished[search.best[alpha]]
    (translation,) = spanish.translate([SOURCE], num_beams, alpha)
    assert (best.text, best.tokens) == (translation.text, translation.tokens)
    assert_close(best.log_prob, translation.score, rtol=1e-4)


def score(finished, alpha):
    return finished.log_prob / ((5 + len(finished.tokens) + 1) / 6) ** alpha


@pytest.mark.parametrize("alpha", ALPHAS)
def test_a_search_ends_with_the_first_step_after_which_no_live_hypothesis_can_win(record, alpha):
    for search in record.searches:
        hopes = []
        for step, following in enumerate(search.steps[1:]):
            scores = [score(each, alpha) for each in search.finished if each.step <= step]
            hope = following.log_probs[0] / ((5 + record.longest) / 6) ** alpha
            hopes.append(hope > max(scores, default=-math.inf))
        count = search.num_steps[alpha]
        assert all(hopes[: count - 1])
        assert not any(hopes[count - 1 : count])
        ended = [each for each in search.finished if each.step < count]
        assert search.finished[search.best[alpha]] == max(ended, key=lambda x: score(x, alpha))


def test_alpha_changes_the_winner_and_the_end_of_a_search(record):
    search = record.searches[BEAMS.index(3)]
    assert search.num_steps[0.0] <= search.num_steps[0.6] < search.num_steps[1.0]
    assert search.num_steps[1.0] == len(search.steps)
    assert search.best[0.0] != search.best[1.0]
    first = min(each.step for each in search.finished)
    assert first + 1 < search.num_steps[0.6], "it goes on after the first finished sentence"


def test_what_lives_on_is_what_the_next_step_begins_with(record):
    for search in record.searches:
        assert search.steps[0].hypotheses == ((),)
        assert search.steps[0].log_probs == (0.0,)
        for step, following in zip(search.steps[:-1], search.steps[1:], strict=True):
            living = [each for each in step.candidates if each.fate == LIVES]
            assert following.hypotheses == tuple(
                (*step.hypotheses[each.beam], each.token) for each in living
            )
            assert following.log_probs == tuple(each.log_prob for each in living)


def test_what_finishes_is_listed_with_its_step(record):
    for search in record.searches:
        ends = [
            (index, step.hypotheses[each.beam], each.log_prob)
            for index, step in enumerate(search.steps)
            for each in step.candidates
            if each.fate == FINISHES
        ]
        assert ends == [(each.step, each.tokens, each.log_prob) for each in search.finished]


def test_there_are_twice_as_many_candidates_as_beams_best_first(record):
    for search in record.searches:
        for step in search.steps:
            log_probs = [each.log_prob for each in step.candidates]
            assert len(log_probs) == 2 * search.num_beams
            assert log_probs == sorted(log_probs, reverse=True)


def test_the_scores_give_the_weights_of_cross_attention(spanish, record):
    search = record.searches[0]
    best = search.finished[search.best[0.6]]
    maps = spanish.attention_maps(SOURCE, best.text)
    assert maps.target_tokens[1:] == best.tokens
    assert record.source_tokens == maps.source_tokens
    for position, step in enumerate(search.steps[: best.step + 1]):
        assert step.hypotheses == (best.tokens[:position],)
        scores = step.scores[0].astype("float64") / math.sqrt(record.key_dim)
        powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights = powers / powers.sum(axis=-1, keepdims=True)
        assert_close(weights, maps.cross[:, :, position], rtol=1e-3, atol=1e-5)


def test_sizes_are_those_of_the_model(spanish, record):
    assert record.key_dim == spanish.backbone.key_dim == 64
    assert record.cache_width == 2 * 4 * 64
    assert record.longest == len(record.source_tokens) - 1 + 50 + 1


def test_neither_a_sentence_nor_an_alpha_needs_to_be_compiled_again(spanish, record):
    before = len(spanish._compiled_functions)
    assert before
    (search,) = spanish.record_search("Come in, please.", [3], [0.1, 0.7, 1.2]).searches
    assert set(search.num_steps) == {0.1, 0.7, 1.2}
    assert len(spanish._compiled_functions) == before


def test_other_options_of_the_search_hold(spanish):
    (search,) = spanish.record_search(SOURCE, [2], [0.6], max_length=4).searches
    assert len(search.steps) == 5
    assert {len(each.tokens) for each in search.finished} <= {0, 1, 2, 3, 4}


def test_a_text_without_words_is_refused(spanish):
    with pytest.raises(ValueError, match="`source` must have words"):
        spanish.record_search(" ")


@pytest.mark.parametrize("nothing", [{"beam_counts": ()}, {"length_penalties": ()}])
def test_no_search_at_all_is_refused(spanish, nothing):
    with pytest.raises(ValueError, match="must be lists of at least one value each"):
        spanish.record_search(SOURCE, **nothing)


def test_a_text_without_a_tree_is_refused():
    parser = build_random_parser()
    with pytest.raises(ValueError, match="no translation of `source`: `constraint` allows none"):
        parser.record_search(PARSED[2], (2,), (0.6,), constraint="brackets", max_length=7)
