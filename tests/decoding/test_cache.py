import numpy as np
from keras import ops

from aiayn_keras.decoding.decoder_step import DecoderCache
from tests.helpers import assert_close


def test_coverage_bonus_by_hand():
    """Two hypotheses, three words and one padded position that nobody has looked at."""
    coverage = np.array([[[0.5, 1.0, 3.0, 0.0], [0.25, 0.5, 1.0, 0.0]]], "float32")
    mask = np.array([[[True, True, True, False]]])
    cache = DecoderCache(None, ops.convert_to_tensor(mask), None, None, coverage)
    assert_close(cache.coverage_bonus(0.2), [[0.2 * np.log(0.5), 0.2 * np.log(0.125)]])
