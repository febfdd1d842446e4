import keras
import numpy as np
import pytest

from aiayn_keras.backend import compile_inference, take, take_in_rows
from tests.helpers import B, K, T, assert_close

W = 3
INDICES = np.array([[2, 0, 0, 1], [1, 1, 2, 0]], dtype="int32")


@pytest.mark.parametrize("shape", [(B, W), (B, W, T), (B, W, T, K)])
def test_rows_pick_for_themselves(shape):
    x = np.random.normal(size=shape).astype("float32")
    picked = take_in_rows(keras.ops.convert_to_tensor(x), keras.ops.convert_to_tensor(INDICES))
    assert_close(picked, np.stack([x[b, INDICES[b]] for b in range(B)]))


def test_rows_pick_where_shapes_are_not_known_beforehand():
    x = np.random.normal(size=(B, W, T)).astype("float32")
    picked = compile_inference(take_in_rows)(x, INDICES)
    assert_close(picked, np.stack([x[b, INDICES[b]] for b in range(B)]))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("indices", [1, [2, 0], INDICES])
def test_indices_take_the_place_of_an_axis(axis, indices):
    x = np.random.normal(size=(W, W + 1, K)).astype("float32")
    indices = np.array(indices, "int32")
    taken = take(keras.ops.convert_to_tensor(x), keras.ops.convert_to_tensor(indices), axis)
    assert_close(taken, np.take(x, indices, axis))
