"""The gRPC client reads messages whose fields, shapes and values may not agree."""

import numpy as np
import pytest

from aiayn_keras.serving import BadAnswerError, GrpcClient, grpc_client

pytest.importorskip("tensorflow_serving")
import tensorflow as tf

from tests.serving import grpc_lies
from tests.serving.right_answers import METHODS, right_outputs

NUMBERS = [1, 2, 3, 4, 5, 6, 9, 10, 17, 22, 23]
"""The data types of the tensors that the client reads, without strings."""

MAX_FIELDS = 1000


def tensor(shape, **fields):
    return tf.make_tensor_proto(0.0).__class__(
        tensor_shape=tf.TensorShape(shape).as_proto(), **{"dtype": 1, **fields}
    )


def array_of(message):
    return grpc_client.read_tensor("x", message)


@pytest.mark.parametrize("number", NUMBERS)
def test_numbers_are_read_from_content_and_from_fields(number):
    dtype = tf.dtypes.as_dtype(number).name
    field = grpc_client._VALUE_FIELDS[dtype]
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
        (tensor([1], dtype=4, int_val=[300]), "300 out of bounds for uint8"),
        (tensor([1], dtype=0), "not read tensors of data type 0"),
        (tensor([1], dtype=99), "not read tensors of data type 99"),
        (tensor([1], dtype=20), "not read tensors of data type 20"),
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


# ---- Fields, counted before a message is parsed ----


@pytest.fixture
def fewer_fields(monkeypatch):
    monkeypatch.setattr(grpc_client, "MAX_PARTS", MAX_FIELDS)


@pytest.mark.parametrize("method", METHODS)
def test_right_answers_have_few_fields(fewer_fields, method):
    response = grpc_lies.response_of(right_outputs(method))
    assert grpc_client.check_num_fields(response.SerializeToString()) is None


def test_many_floats_are_one_field(fewer_fields):
    response = grpc_lies.response_of({"score": [0.5] * (2 * MAX_FIELDS)})
    assert grpc_client.check_num_fields(response.SerializeToString()) is None


@pytest.mark.parametrize(
    "tensor",
    [
        grpc_lies.field(2, b"\x12\x00" * MAX_FIELDS),
        b"\x42\x00" * MAX_FIELDS,
        grpc_lies.field(10, b"\x01" * 8 * MAX_FIELDS),
        b"\x50\x01" * MAX_FIELDS,
    ],
    ids=["dims", "strings", "packed integers", "integers"],
)
def test_answers_of_too_many_fields_are_refused(fewer_fields, tensor):
    with pytest.raises(BadAnswerError, match="more than 1000 fields"):
        grpc_client.check_num_fields(grpc_lies.answer_of(tensor))


@pytest.mark.parametrize("number", [14, 15])
def test_resources_and_variants_are_refused(number):
    with pytest.raises(BadAnswerError, match="resources or variants"):
        grpc_client.check_num_fields(grpc_lies.answer_of(grpc_lies.field(number, b"")))


@pytest.mark.parametrize("data", [b"\x08", b"\x0a", b"\x0b", b"\xff" * 20])
def test_broken_messages_are_refused(data):
    with pytest.raises(BadAnswerError):
        grpc_client.check_num_fields(data)


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1:99999", "127.0.0.1:0", "127.0.0.1", "127.0.0.1:", ":8500", "h:8x", "h:-1"],
)
def test_a_port_that_cannot_be_is_refused(address):
    with pytest.raises(ValueError, match=r"`address` must be a host and a port from 1 to 65535"):
        GrpcClient(address, "small")


def test_a_password_is_refused_and_not_shown():
    with pytest.raises(ValueError, match=r"must not hold a user or password.*'h:8500'") as caught:
        GrpcClient("anna:secret@h:8500", "small")
    assert "secret" not in str(caught.value)
