import pytest

from aiayn_keras.serving import BadAnswerError, message_parts
from aiayn_keras.serving.message_parts import check_num_parts

pytest.importorskip("tensorflow_serving")
from tests.serving import grpc_lies
from tests.serving.right_answers import METHODS, right_outputs

MOST = 1000


@pytest.fixture(autouse=True)
def fewer_parts(monkeypatch):
    monkeypatch.setattr(message_parts, "MAX_PARTS", MOST)


@pytest.mark.parametrize("method", METHODS)
def test_right_answers_have_few_parts(method):
    response = grpc_lies.response_of(right_outputs(method))
    assert check_num_parts(response.SerializeToString()) is None


def test_many_floats_are_one_part():
    response = grpc_lies.response_of({"score": [0.5] * (2 * MOST)})
    assert check_num_parts(response.SerializeToString()) is None


@pytest.mark.parametrize(
    "tensor",
    [
        grpc_lies.field(2, b"\x12\x00" * MOST),
        b"\x42\x00" * MOST,
        grpc_lies.field(10, b"\x01" * 8 * MOST),
        b"\x50\x01" * MOST,
    ],
    ids=["dims", "strings", "packed integers", "integers"],
)
def test_answers_of_too_many_parts_are_refused(tensor):
    with pytest.raises(BadAnswerError, match="more than 1000 fields"):
        check_num_parts(grpc_lies.answer_of(tensor))


@pytest.mark.parametrize("number", [14, 15])
def test_resources_and_variants_are_refused(number):
    with pytest.raises(BadAnswerError, match="resources or variants"):
        check_num_parts(grpc_lies.answer_of(grpc_lies.field(number, b"")))


@pytest.mark.parametrize("data", [b"\x08", b"\x0a", b"\x0b", b"\xff" * 20])
def test_broken_messages_are_refused(data):
    with pytest.raises(BadAnswerError):
        check_num_parts(data)
