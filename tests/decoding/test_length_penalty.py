import keras
import numpy as np
import pytest

from aiayn_keras.decoding.search_options import SearchOptions, length_penalty
from tests.helpers import assert_close


@pytest.mark.parametrize(
    ("length", "alpha", "offset", "expected"),
    [
        (1, 0.6, 5, 1.0),  # (6/6)^α
        (7, 1.0, 5, 2.0),  # 12/6
        (13, 2.0, 5, 9.0),  # (18/6)²
        (13, 0.5, 5, 1.7320508),
        (20, 0.6, 5, 2.3543620),  # (25/6)^0.6
        (20, 0.0, 5, 1.0),
        (1, 0.6, 0, 1.0),  # 1^α
        (7, 1.0, 0, 7.0),
        (13, 2.0, 0, 169.0),
        (9, 0.5, 0, 3.0),
        (20, 0.0, 0, 1.0),
        (7, 2.0, 1, 16.0),  # (8/2)²
    ],
)
def test_length_penalty_by_hand(length, alpha, offset, expected):
    options = SearchOptions(length_penalty=alpha, length_penalty_offset=offset)
    assert_close(length_penalty(length, options), expected)


@pytest.mark.parametrize("kind", [np.asarray, keras.ops.convert_to_tensor])
def test_length_penalty_of_many_lengths(kind):
    lengths = kind(np.array([[1, 7], [13, 19]], "float32"))
    penalty = length_penalty(lengths, SearchOptions(length_penalty=1.0))
    assert_close(penalty, [[1.0, 2.0], [3.0, 4.0]])
    assert keras.backend.standardize_dtype(penalty.dtype) == "float32"
    assert type(penalty) is type(lengths)
