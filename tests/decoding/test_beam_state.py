import keras
import numpy as np
from keras import ops

from aiayn_keras.decoding.beam_search import SearchInputs, start_search
from aiayn_keras.decoding.decoder_step import ForeignCache
from aiayn_keras.decoding.search_options import SearchOptions
from tests.helpers import B, K, T, assert_close

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
