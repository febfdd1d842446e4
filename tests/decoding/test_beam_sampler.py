import keras
import numpy as np
import pytest
from keras import ops

from aiayn_keras.decoding.beam_sampler import BeamSampler, search_tokens
from tests.decoding.random_model import END, START, RandomModel, beams
from tests.helpers import B, assert_close


def test_called_like_a_sampler_of_keras_hub_it_returns_the_best():
    model = RandomModel(seed=11)
    sampler = BeamSampler(num_beams=3)
    expected, _ = model.search(beams(num_beams=3), length=9)
    prompt = np.zeros((B, 9), "int32")
    prompt[:, 0] = START
    for mask in (None, ops.convert_to_tensor(prompt == START)):
        ids = sampler(
            model.next_of_rows,
            ops.convert_to_tensor(prompt),
            cache={"state": ops.convert_to_tensor(model.initial)},
            index=1,
            mask=mask,
            stop_token_ids=(END,),
        )
        assert_close(ids, expected[:, 0])


def test_a_prompt_that_leaves_no_room_stays_as_it_is():
    model = RandomModel(seed=11)
    prompt = np.full((B, 5), END + 1, "int32")
    prompt[:, 0] = START
    ids = BeamSampler(num_beams=3)(
        model.next_of_rows,
        ops.convert_to_tensor(prompt),
        cache={"state": ops.convert_to_tensor(model.initial)},
        mask=ops.ones((B, 5), dtype="bool"),
        stop_token_ids=(END,),
    )
    assert_close(ids, prompt)


def test_a_coverage_penalty_is_refused_where_nobody_tells_the_attention():
    model = RandomModel(seed=11)
    with pytest.raises(ValueError, match=r"`coverage_penalty` must be 0.*coverage_penalty=0.2"):
        BeamSampler(coverage_penalty=0.2)(
            model.next_of_rows,
            ops.full((B, 5), START, dtype="int32"),
            cache={"state": ops.convert_to_tensor(model.initial)},
            stop_token_ids=(END,),
        )


@pytest.mark.parametrize("stop_token_ids", [None, (), (2, 3)])
def test_exactly_one_end_token_is_needed(stop_token_ids):
    with pytest.raises(ValueError, match="exactly one `stop_token_ids`"):
        BeamSampler()(None, ops.zeros((1, 3), dtype="int32"), stop_token_ids=stop_token_ids)


def test_options_out_of_range_are_refused():
    with pytest.raises(ValueError, match=r"`num_beams` must be at least 1.*num_beams=0"):
        BeamSampler(num_beams=0)


def test_defaults_are_the_paper_s():
    assert BeamSampler().get_config() == {
        "num_beams": 4,
        "length_penalty": 0.6,
        "coverage_penalty": 0.0,
        "no_repeat_ngram_size": 0,
        "length_penalty_offset": 5,
    }


def test_config_round_trip():
    config = {
        "num_beams": 7,
        "length_penalty": 1.5,
        "coverage_penalty": 0.25,
        "no_repeat_ngram_size": 3,
        "length_penalty_offset": 0,
    }
    serialized = keras.saving.serialize_keras_object(BeamSampler(**config))
    sampler = keras.saving.deserialize_keras_object(serialized)
    assert isinstance(sampler, BeamSampler)
    assert sampler.get_config() == config


def test_any_step_function_is_searched():
    model = RandomModel(seed=11)
    options = {"num_beams": 3, "num_return_sequences": 2, "length_penalty": 0.6}
    expected = model.search(beams(**options), length=9)
    cache = {"state": ops.convert_to_tensor(model.initial)}
    found = search_tokens(
        model.next_of_rows, [START] * B, END, cache, max_length=7, min_length=0, **options
    )
    for received, wanted in zip(found, expected, strict=True):
        assert_close(received, wanted)


def test_forbidden_tokens_are_never_chosen():
    model = RandomModel(seed=11)
    cache = {"state": ops.convert_to_tensor(model.initial)}
    arguments = model.next_of_rows, [START] * B, END, cache
    ids, _ = search_tokens(*arguments, max_length=7)
    often = np.bincount(ops.convert_to_numpy(ids)[:, 0, 1:-1].ravel())
    often[[0, END]] = 0
    token = int(np.argmax(often))
    ids, _ = search_tokens(*arguments, max_length=7, forbidden_token_ids=[token])
    assert token not in ops.convert_to_numpy(ids)[:, :, 1:]


@pytest.mark.parametrize(
    ("changes", "error", "reason"),
    [
        ({"max_length": None}, ValueError, "`max_length`"),
        ({"coverage_penalty": 0.2}, ValueError, "`coverage_penalty`"),
        ({"constraint": "brackets"}, ValueError, "`constraint` needs the tokenizer"),
        ({"start_token_ids": START}, TypeError, "`start_token_ids` must be integers"),
        ({"start_token_ids": [1.5]}, TypeError, "`start_token_ids` must be integers"),
        ({"end_token_id": 99}, ValueError, "end_token_id=99"),
        ({"end_token_id": -1}, ValueError, "end_token_id=-1"),
        ({"end_token_id": [END]}, TypeError, "integer"),
        ({"forbidden_token_ids": [99]}, ValueError, r"forbidden_token_ids=\[99\]"),
        ({"cache": ()}, ValueError, r"each of the 8 rows.*shape \(4, 9\)"),
        ({"n_best": 2}, TypeError, "n_best"),
    ],
)
def test_a_search_without_what_it_needs_is_refused(changes, error, reason):
    def one_row_a_sequence(token_ids, cache, index):
        return ops.zeros((4, 9)), None, cache

    wrong_rows = changes.get("cache") == ()
    arguments = {
        "next_token": one_row_a_sequence if wrong_rows else RandomModel(seed=11).next_of_rows,
        "start_token_ids": [START, START],
        "end_token_id": END,
        "cache": {"state": ops.convert_to_tensor(RandomModel(seed=11).initial[:2])},
        "max_length": 5,
    }
    with pytest.raises(error, match=reason):
        search_tokens(**{**arguments, **changes})
