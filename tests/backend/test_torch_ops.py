"""PyTorch's operations without Keras around them are Keras' operations."""

import keras
import numpy as np
import pytest
from keras import ops

from tests.helpers import assert_close

if keras.config.backend() != "torch":
    pytest.skip("operations of PyTorch", allow_module_level=True)

from aiayn_keras.backend import torch_ops
from aiayn_keras.backend.torch_ops import append_in_place, layer_norm, lean_ops, take_in_rows

RNG = np.random.default_rng(5)
X = RNG.normal(size=(3, 4, 5)).astype("float32")
Y = RNG.normal(size=(3, 5, 2)).astype("float32")
IDS = RNG.integers(0, 4, size=(3, 6)).astype("int32")

CALLS = {
    "any": [(X > 1,), (X > 1, 2)],
    "cast": [(X, "int32"), (IDS, "bool"), (X, "bfloat16")],
    "concatenate": [([X, X[:, :2]], 1), ([X, X],)],
    "equal": [(IDS, 2), (IDS[:, :, None], (0, 3)), (IDS, IDS[:, :1])],
    "expand_dims": [(X, 1), (X, -1)],
    "log": [(np.abs(X),)],
    "logical_and": [(X > 0, X < 1), (X > 0, X[:, :1] < 1)],
    "matmul": [(X, Y), (X, Y[0])],
    "max": [(X, -1), (X, 1, True)],
    "multiply": [(X, X[:, :, :1]), (X, 0.5)],
    "not_equal": [(IDS, 0)],
    "ones_like": [(X,), (X, "bool")],
    "reshape": [(X, (-1, 5)), (X, (4, -1))],
    "shape": [(X,)],
    "softmax": [(X,), (X, 1)],
    "split": [(X[:, :3], 3, 1), (X, [1, 3], 1)],
    "stack": [([X, X + 1], 1), ([X, X],)],
    "swapaxes": [(X, -1, -2)],
    "take": [(X, IDS, 1), (X, IDS[0, :3] % 3, 0), (X, 2, 1), (X, np.int32(3), 2)],
    "top_k": [(X, 2)],
    "transpose": [(X, (1, 0, 2))],
    "where": [(X > 0, X, -np.inf), (X > 0, 0.0, 1.0), (IDS > 1, IDS, 7)],
    "zeros_like": [(IDS,), (IDS, "float32")],
}


def as_arguments(values, convert):
    """The values, with arrays converted, those in lists too."""
    return [
        as_arguments(x, convert)
        if isinstance(x, list)
        else convert(x)
        if isinstance(x, np.ndarray | np.generic)
        else x
        for x in values
    ]


@pytest.mark.parametrize("rows", [1, 4, 300])
def test_packed_kernels_give_the_product(rows):
    import torch

    x = torch.tensor(RNG.normal(size=(rows, 40)).astype("float32"))
    kernel = torch.tensor(RNG.normal(size=(40, 24)).astype("float32"))
    with torch.inference_mode():
        packed = torch_ops.pack_kernel(kernel)
        assert packed.is_mkldnn == torch.backends.mkldnn.is_available()
        for each in (x, x.T.contiguous().T):
            product = torch_ops.multiply_packed(each, packed)
            assert_close(product, x.numpy() @ kernel.numpy(), rtol=1e-4, atol=1e-5)


def test_what_onednn_cannot_multiply_is_left():
    import torch

    kernel = torch.ones(3, 2)
    assert torch_ops.pack_kernel(kernel) is kernel  # gradients are wanted
    with torch.inference_mode():
        half = kernel.half()
        assert torch_ops.pack_kernel(half) is half
        x = torch.ones(4, 3).half()
        assert torch_ops.multiply_packed(x, half).tolist() == [[3.0, 3.0]] * 4


def test_every_operation_is_compared():
    assert set(CALLS) == set(torch_ops._OPERATIONS)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("convert", [ops.convert_to_tensor, np.asarray], ids=["tensor", "array"])
def test_operations_are_keras_operations(name, convert):
    for values in CALLS[name]:
        arguments = as_arguments(values, convert)
        received = getattr(lean_ops, name)(*arguments)
        wanted = getattr(ops, name)(*arguments)
        received, wanted = (
            list(x) if isinstance(x, tuple | list) else [x] for x in (received, wanted)
        )
        assert len(received) == len(wanted)
        for one, other in zip(received, wanted, strict=True):
            assert np.shape(one) == np.shape(other)
            # Only Keras narrows the positions of `top_k`.
            if hasattr(one, "dtype") and one.dtype.is_floating_point:
                assert one.dtype == other.dtype
            assert_close(one, other)


def test_what_is_not_there_is_of_keras():
    assert lean_ops.cumsum is ops.cumsum


@pytest.mark.parametrize("x", [X[:, :, 0], X, X[:, :, :, None] + np.zeros(2, "float32")])
def test_rows_are_picked(x):
    wanted = np.stack([row[ids] for row, ids in zip(x, IDS, strict=True)])
    received = take_in_rows(ops.convert_to_tensor(x), ops.convert_to_tensor(IDS))
    np.testing.assert_array_equal(ops.convert_to_numpy(received), wanted)


def test_layer_norm_is_that_of_keras():
    layer = keras.layers.LayerNormalization(epsilon=1e-3)
    layer.build((None, 5))
    gamma, beta = RNG.normal(size=(2, 5)).astype("float32")
    layer.set_weights([gamma, beta])
    parts = map(ops.convert_to_tensor, (X[0], gamma, beta))
    assert_close(layer_norm(*parts, 1e-3), layer(X[0]))


def test_a_cache_grows_and_keeps_what_was_written():
    width, cached, written = 3, ops.zeros((2, 4, 0, 5)), []
    for index in range(40):
        new = RNG.normal(size=(2, 4, width, 5)).astype("float32")
        written.append(new)
        cached, visible = append_in_place(cached, ops.convert_to_tensor(new), index)
        np.testing.assert_array_equal(
            ops.convert_to_numpy(visible), np.concatenate(written, axis=2)
        )
    assert cached.shape[2] < 1.5 * 40 * width + 12 * width
