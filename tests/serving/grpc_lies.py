"""Answers of lying gRPC servers; see `lies.Case` for the fields of a case."""

import time

import grpc
import numpy as np
import tensorflow as tf
from tensorflow_serving.apis import predict_pb2

from tests.serving.right_answers import METHODS, right_outputs

MEGABYTE = 1 << 20
LONG = 60.0
SETTINGS = b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"
PING = b"\x00\x00\x08\x06\x00\x00\x00\x00\x00" + bytes(8)
HEADERS = b"\xff\xff\xff\x00\x00\x00\x00\x00\x01"
"""Frames of HTTP/2; that of headers declares 16 MB."""

SIZES = (-1, 0, 1, 2, 3, 4, 2**31, 2**40, 2**62, 2**63 - 1)
TYPES = (*range(26), 99, 101, 2**31 - 1)
"""Numbers of data types, some of which there are not."""


def response_of(outputs):
    """The right message."""
    response = predict_pb2.PredictResponse()
    for name, value in outputs.items():
        array = np.array(value)
        dtype = tf.string if array.dtype.kind == "U" else tf.float32
        response.outputs[name].CopyFrom(tf.make_tensor_proto(value, dtype))
    return response


def slow_and_broken():
    """Errors, silence, and servers that speak no HTTP/2."""
    for code in grpc.StatusCode:
        if code is not grpc.StatusCode.OK:
            yield _abort(code, "a reason")
    for details in ("x" * 6000, "a\nb\x1b[31m\u202e", "", "larger than max"):
        yield _abort(grpc.StatusCode.RESOURCE_EXHAUSTED, details)
    for seconds in (3.0, LONG):
        yield _lie(f"an answer after {seconds:g} s", lambda context, s=seconds: _late(context, s))
    yield _lie("an exception", lambda context: 1 // 0)
    for name, *steps in (
        ("silence", ("wait", LONG)),
        ("an end", ("close",)),
        ("a reset", ("reset",)),
        ("HTTP/1.1", ("send", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")),
        ("nonsense", ("send", bytes(range(256)) * 9)),
        ("settings, a byte in 0.3 s", ("drip", SETTINGS * 99, 0.3)),
        ("settings and silence", ("send", SETTINGS), ("wait", LONG)),
        ("pings without end", ("repeat", PING, 0.01, 10**6)),
        ("a frame of 16 MB", ("send", HEADERS + bytes(10_000)), ("wait", LONG)),
    ):
        yield {**_lie(f"{name} for a connection", None), "steps": steps, "at_connect": True}
    for name, data in (
        ("nothing", b""),
        ("nonsense", bytes(range(256))),
        ("a page", b"<html>Welcome</html>"),
        ("half an answer", response_of(right_outputs("translate")).SerializeToString()[:-9]),
        ("deep messages", _deep(1000)),
        ("zeros", bytes(100)),
    ):
        yield _lie(name, lambda context, data=data: data)


def endless():
    """Answers of great size, or that ask for great memory."""
    for size in (65, 200):
        yield _heavy(f"{size} MB", lambda context, size=size: bytes(size * MEGABYTE))
    yield _heavy("200 MB of zeros, compressed", _bomb)
    size = 62 * MEGABYTE
    for name, make in (
        ("empty dims", lambda: answer_of(field(2, b"\x12\x00" * (size // 2)))),
        ("empty strings", lambda: answer_of(b"\x42\x00" * (size // 2))),
        ("resources", lambda: answer_of(b"\x72\x00" * (size // 2))),
        ("a resource's dtypes", lambda: answer_of(field(14, b"\x32\x00" * (size // 2)))),
        ("variants", lambda: answer_of(b"\x7a\x00" * (size // 2))),
        ("tensors of a variant", lambda: answer_of(field(15, b"\x1a\x00" * (size // 2)))),
        ("numbers", lambda: answer_of(field(10, b"\x01" * size))),
        ("outputs", lambda: b"\x0a\x00" * (size // 2)),
        ("unknown fields", lambda: b"\x98\x06\x01" * (size // 3)),
    ):
        yield _heavy(f"62 MB of {name}", lambda context, make=make: make())


def wrong_tensors():
    """Right answers of which one tensor is not."""
    for name, change in {
        "one value of shape 2**40": lambda t: _only(t, [2**40]),
        "one value of shape 3": lambda t: _only(t, [3]),
        "one value of shape 2**20, 2**20": lambda t: _only(t, [2**20, 2**20]),
        "no value": lambda t: t.ClearField("tensor_content"),
        "no shape": lambda t: t.ClearField("tensor_shape"),
        "no type": lambda t: t.ClearField("dtype"),
        "shape -3": lambda t: _reshape(t, [-3]),
        "shape -1, -3": lambda t: _reshape(t, [-1, -3]),
        "shape 3, 0": lambda t: _reshape(t, [3, 0]),
        "shape 3, 1": lambda t: _reshape(t, [3, 1]),
        "shape 2": lambda t: _reshape(t, [2]),
        "shape 2**62, 4": lambda t: _reshape(t, [2**62, 4]),
        "shape 0, 2**62": lambda t: _reshape(t, [0, 2**62]),
        "a million dims": lambda t: _reshape(t, [1] * 10**6),
        "many great dims": lambda t: _reshape(t, [2**62] * 10**5),
        "unknown rank": lambda t: setattr(t.tensor_shape, "unknown_rank", True),
        "strings": lambda t: t.CopyFrom(tf.make_tensor_proto(["a", "b", "c"])),
        "integers that are text": lambda t: setattr(t, "dtype", 7),
        "booleans": lambda t: t.CopyFrom(tf.make_tensor_proto([True, False, True])),
        "complex numbers": lambda t: t.CopyFrom(tf.make_tensor_proto([1j, 2j, 3j])),
        "NaN": lambda t: t.CopyFrom(tf.make_tensor_proto([0.0, np.nan, 0.0])),
        "inf": lambda t: t.CopyFrom(tf.make_tensor_proto([0.0, -np.inf, 0.0])),
        "a byte too many": lambda t: setattr(t, "tensor_content", t.tensor_content + b"x"),
        "1,000 rows": lambda t: t.CopyFrom(tf.make_tensor_proto(np.zeros(1000))),
        **{
            f"type {number}": lambda t, n=number: setattr(t, "dtype", n)
            for number in (0, 2, 19, 99)
        },
    }.items():
        yield _changed(name, "score", change)
    for text in (b"\xff", b"\xed\xa0\x80", b"\xc3", b"\xf4\x90\x80\x80"):
        yield _changed(
            f"text {text!r}", "translation", lambda t, text=text: t.string_val.__setitem__(1, text)
        )
    yield _changed("text in content", "translation", lambda t: setattr(t, "tensor_content", b"abc"))
    yield _changed("a text less", "translation", lambda t: t.string_val.pop())


def right():
    """Right answers, plain and in other forms."""
    for method in METHODS:
        yield _right(method, "in content", response_of(right_outputs(method)))
        response = response_of(right_outputs(method))
        for tensor in response.outputs.values():
            if tensor.tensor_content:
                tensor.float_val.extend(np.frombuffer(tensor.tensor_content, "float32"))
                tensor.ClearField("tensor_content")
        yield _right(method, "in fields", response)


def random_tensors(rng, method):
    """A right answer, its tensors changed anywhere."""
    response = response_of(right_outputs(method))
    for _ in range(rng.choice((1, 1, 2, 5))):
        names = list(response.outputs)
        if names:
            _change(rng, response, rng.choice(names))
    return _random("gRPC: random tensors", method, response.SerializeToString())


def random_bytes(rng, method):
    """A right answer with bytes changed."""
    data = bytearray(response_of(right_outputs(method)).SerializeToString(deterministic=True))
    for _ in range(rng.choice((1, 2, 8))):
        place = rng.randrange(len(data))
        data[place : place + rng.randint(0, 2)] = rng.randbytes(rng.randint(0, 2))
    return _random("gRPC: random bytes", method, bytes(data))


def _change(rng, response, name):
    tensor = response.outputs[name]
    dims = tensor.tensor_shape.dim
    action = rng.randrange(8)
    if action == 0:
        del response.outputs[name]
    elif action == 1:
        tensor.dtype = rng.choice(TYPES)
    elif action == 2 and dims:
        rng.choice(dims).size = rng.choice(SIZES)
    elif action == 3:
        dims.add().size = rng.choice(SIZES)
    elif action == 4 and dims:
        del dims[rng.randrange(len(dims))]
    elif action == 5:
        tensor.CopyFrom(response.outputs[rng.choice(list(response.outputs))])
    elif action == 6 and tensor.string_val:
        tensor.string_val[rng.randrange(len(tensor.string_val))] = rng.randbytes(rng.randint(0, 3))
    else:
        tensor.tensor_content = rng.randbytes(rng.choice((0, 1, 4, 12, 24)))


def _random(group, method, data):
    fields = {"protocol": "grpc", "method": method, "expected": None}
    return {"group": group, "name": repr(data)[:60], "reply": lambda context: data, **fields}


def _changed(name, output, change):
    response = response_of(right_outputs("translate"))
    change(response.outputs[output])
    data = response.SerializeToString()
    return _lie(f"{output}: {name}", lambda context: data) | {"group": "gRPC: other tensors"}


def _only(tensor, shape):
    tensor.ClearField("tensor_content")
    tensor.float_val.append(-1.5)
    _reshape(tensor, shape)


def _reshape(tensor, shape):
    tensor.tensor_shape.CopyFrom(tf.TensorShape([]).as_proto())
    for size in shape:
        tensor.tensor_shape.dim.add().size = size


def _abort(code, details):
    name = f"{code.name} {details[:20]!r}"
    return _lie(name, lambda context: context.abort(code, details))


def _late(context, seconds):
    end = time.monotonic() + seconds
    while context.is_active() and time.monotonic() < end:
        time.sleep(0.05)
    return b""


def _bomb(context):
    context.set_compression(grpc.Compression.Gzip)
    return bytes(200 * MEGABYTE)


def _deep(levels):
    data = b""
    for _ in range(levels):
        data = field(15, field(3, data))  # a variant of a tensor of a variant
    return answer_of(data)


def answer_of(data):
    """An answer whose one output is a tensor of these bytes."""
    return field(1, field(1, b"score") + field(2, data))


def field(number, data):
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(value):
    data = bytearray()
    while value > 0x7F:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*data, value])


def _lie(name, reply):
    return {"group": "gRPC: slow and broken", "name": name, "protocol": "grpc", "reply": reply}


def _heavy(name, reply):
    return _lie(name, reply) | {"group": "gRPC: too much", "is_heavy": True}


def _right(method, name, response):
    data = response.SerializeToString()
    fields = {"method": method, "expected": "answer", "outputs": right_outputs(method)}
    case = _lie(f"{method} {name}", lambda context: data) | fields
    return case | {"group": "gRPC: right answers"}
