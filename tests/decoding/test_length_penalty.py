import keras
import numpy as np
import pytest

from aiayn_keras.decoding.length_penalty import length_penalty
from tests.helpers import assert_close


@pytest.mark.parametrize(
    ("length", "alpha", "expected"),
    [
        (1, 0.6, 1.0),  # (6/6)^α
        (7, 1.0, 2.0),  # 12/6
        (13, 2.0, 9.0),  # (18/6)²
        (13, 0.5, 1.7320508),
        (20, 0.6, 2.3543620),  # (25/6)^0.6
        (20, 0.0, 1.0),
    ],
)
def test_length_penalty_by_hand(length, alpha, expected):
    assert_close(length_penalty(length, alpha), expected)


@pytest.mark.parametrize("kind", [np.asarray, keras.ops.convert_to_tensor])
def test_length_penalty_of_many_lengths(kind):
    lengths = kind(np.array([[1, 7], [13, 19]], "float32"))
    penalty = length_penalty(lengths, 1.0)
    assert_close(penalty, [[1.0, 2.0], [3.0, 4.0]])
    assert keras.backend.standardize_dtype(penalty.dtype) == "float32"
    assert type(penalty) is type(lengths)
