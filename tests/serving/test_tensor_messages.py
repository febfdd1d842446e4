import numpy as np
import pytest

from aiayn_keras.serving import BadAnswerError
from aiayn_keras.serving.tensor_messages import FIELDS, arrays_of

pytest.importorskip("tensorflow_serving")
import tensorflow as tf

NUMBERS = sorted(FIELDS.keys() - {7})


def tensor(shape, **fields):
    return tf.make_tensor_proto(0.0).__class__(
        tensor_shape=tf.TensorShape(shape).as_proto(), **{"dtype": 1, **fields}
    )


def array_of(message):
    return arrays_of({"x": message})["x"]


@pytest.mark.parametrize("number", NUMBERS)
def test_numbers_are_read_from_content_and_from_fields(number):
    dtype, field = FIELDS[number]
    assert tf.dtypes.as_dtype(number).name == dtype
    values = np.array([[1, 0], [1, 1]], dtype)
    for message in (
        tf.make_tensor_proto(values),
        tensor([2, 2], dtype=number, tensor_content=values.tobytes()),
        tensor([2, 2], dtype=number, **{field: values.ravel().tolist()}),
    ):
        array = array_of(message)
        assert array.dtype == dtype
        assert np.array_equal(array, values)


def test_strings_are_decoded():
    assert array_of(tf.make_tensor_proto([["ä", ""]])).tolist() == [["ä", ""]]


@pytest.mark.parametrize(
    ("message", "error"),
    [
        (tensor([2**40], float_val=[1.0]), "1 elements cannot have the shape"),
        (tensor([3], float_val=[1.0]), "1 elements cannot have the shape"),
        (tensor([3]), "0 elements cannot have the shape"),
        (tensor([1], double_val=[1.0]), "0 elements cannot have the shape"),
        (tensor([1], tensor_content=b"12345"), "multiple of element size"),
        (tensor([1], tensor_content=b"1234", float_val=[1.0]), "bytes where its values"),
        (tensor([1], dtype=7, tensor_content=b"1234"), "bytes where its values"),
        (tensor([1], dtype=7, string_val=[b"\xff"]), "can't decode byte 0xff"),
        (tensor([1], dtype=4, int_val=[300]), "integers beyond uint8"),
        (tensor([1], dtype=0), "no tensors of data type 0"),
        (tensor([1], dtype=99), "no tensors of data type 99"),
        (tensor([1] * 9, float_val=[1.0]), "at most 8 dims"),
        (tensor(None, float_val=[1.0]), "must be known"),
    ],
)
def test_shapes_and_values_that_disagree_are_refused(message, error):
    with pytest.raises(BadAnswerError, match=f"output `x`: .*{error}"):
        array_of(message)


def test_negative_sizes_are_refused():
    message = tensor([1, 1], float_val=[1.0])
    for dim in message.tensor_shape.dim:
        dim.size = -1
    with pytest.raises(BadAnswerError, match="not negative"):
        array_of(message)
