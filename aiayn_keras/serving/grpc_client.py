"""The client for gRPC, with the messages of `tensorflow-serving-api`."""

import math

import numpy as np

from aiayn_keras.serving.answers import (
    MAX_PARTS,
    BadAnswerError,
    DeadlineExceededError,
    NotListeningError,
    RequestRefusedError,
    ServerUnavailableError,
    one_line,
)
from aiayn_keras.serving.translation_client import MEGABYTE, TranslationClient, checked_name

_METHOD = "/tensorflow.serving.PredictionService/Predict"
_MAX_RANK = 8
_NOT_CONNECTED = ("failed to connect to all addresses", "DNS resolution failed")
"""Beginnings of gRPC's words where no server has been reached."""

_VALUE_FIELDS = {
    "float32": "float_val",
    "float64": "double_val",
    "string": "string_val",
    "bool": "bool_val",
    "int64": "int64_val",
    "uint32": "uint32_val",
    "uint64": "uint64_val",
    **dict.fromkeys(("int8", "int16", "int32", "uint8", "uint16"), "int_val"),
}
"""Field of a `TensorProto` that holds the elements of each data type that the client reads."""


class GrpcClient(TranslationClient):
    """Sends requests to TensorFlow Serving's PredictionService.

    Args:
        address: Host and port, such as `"127.0.0.1:8500"`.
        model: Name under which the model is served.
        credentials: `grpc.ChannelCredentials` for TLS; without them nothing is encrypted.
        **options: See `TranslationClient`: `version`, `label`, `deadline` (60 seconds),
            `batch_size` (64), `max_answer_bytes` (64 MB), `connect_timeout` (5 seconds).

    Raises:
        ImportError: If TensorFlow or `tensorflow-serving-api` is not installed.

    Example:
        >>> client = GrpcClient("127.0.0.1:8500", "demo_en_de")
        >>> client.translate(["The girl is happy."])[0].text  # doctest: +SKIP
        'Das Mädchen ist glücklich.'
    """

    def __init__(self, address, model, credentials=None, **options):
        super().__init__(model, **options)
        try:
            import grpc
            from tensorflow_serving.apis import predict_pb2  # noqa: F401 - fail now if missing
        except ImportError as error:
            raise ImportError(
                f"gRPC needs `{error.name}`: pip install tensorflow-serving-api, or use REST."
            ) from error
        self.address = _checked_address(address)
        settings = [
            ("grpc.max_send_message_length", -1),
            ("grpc.max_receive_message_length", self.max_answer_bytes),
            ("grpc.enable_retries", 0),  # `TranslationClient` retries for both clients
            ("grpc.initial_reconnect_backoff_ms", 100),
            ("grpc.max_reconnect_backoff_ms", 5000),
        ]
        self._channel = (
            grpc.insecure_channel(address, settings)
            if credentials is None
            else grpc.secure_channel(address, credentials, settings)
        )
        self._call = self._channel.unary_unary(_METHOD)  # returns bytes, to be checked first

    def close(self):
        """Closes the connection."""
        self._channel.close()

    @property
    def _server(self):
        return f"{self.address}, model {self.model}"

    def _predict(self, signature, inputs, seconds):
        import grpc

        request = self._request(signature, inputs).SerializeToString()
        try:
            answer = self._call(request, timeout=seconds)
        except grpc.RpcError as error:
            raise self._failure(error) from error
        return _outputs(answer)

    def _failure(self, error):
        """Returns the error to raise for an error of gRPC."""
        import grpc

        code, details = error.code(), one_line(error.details() or "")
        if code == grpc.StatusCode.DEADLINE_EXCEEDED:
            return DeadlineExceededError(
                f"{self._server}: no answer within {self.deadline:g} seconds."
            )
        if code == grpc.StatusCode.RESOURCE_EXHAUSTED and _is_too_large(details):
            return BadAnswerError(
                f"the answer is larger than {self.max_answer_bytes} bytes; "
                f"`max_answer_bytes` can be raised ({details})."
            )
        message = f"{self._server}: {code.name}: {details}"
        if code == grpc.StatusCode.UNAVAILABLE:
            is_connected = not details.startswith(_NOT_CONNECTED)
            return (ServerUnavailableError if is_connected else NotListeningError)(message)
        return RequestRefusedError(message)

    def _request(self, signature, inputs):
        import tensorflow as tf
        from tensorflow_serving.apis import predict_pb2

        request = predict_pb2.PredictRequest()
        request.model_spec.name = self.model
        request.model_spec.signature_name = signature
        if self.version is not None:
            request.model_spec.version.value = self.version
        if self.label is not None:
            request.model_spec.version_label = self.label
        for name, value in inputs.items():
            is_text = not value or isinstance(value[0], str)
            try:
                tensor = tf.make_tensor_proto(value, tf.string if is_text else tf.int32)
            except (TypeError, ValueError, OverflowError) as error:
                raise ValueError(
                    f"`{name}` must be a list of strings, or nested lists of integers: {error}"
                ) from error
            request.inputs[name].CopyFrom(tensor)
        return request


def _checked_address(address):
    """Returns an address, or raises a `ValueError`; gRPC itself takes any number as a port."""
    host, colon, port = checked_name("address", address).rpartition(":")
    if "@" in address:
        raise ValueError(
            "`address` must not hold a user or password, which gRPC does not send. Use REST, or "
            f"`credentials`. Received an address that ends in {address.rpartition('@')[2]!r:.100}."
        )
    is_port = port.isascii() and port.isdecimal() and 0 < int(port[:9]) < 65536
    if not (colon and host and is_port) and not address.startswith("unix:"):
        raise ValueError(
            "`address` must be a host and a port from 1 to 65535, such as 127.0.0.1:8500. "
            f"Received: address={address!r:.100}."
        )
    return address


def _is_too_large(details):
    """Returns whether the client, not the SERVER, found a message too large."""
    return "larger than max" in details and "SERVER" not in details


def _outputs(answer):
    """Parses a serialized `PredictResponse` into arrays."""
    from google.protobuf.message import DecodeError
    from tensorflow_serving.apis import predict_pb2

    if len(answer) > MEGABYTE:
        check_num_fields(answer)
    try:
        response = predict_pb2.PredictResponse.FromString(answer)
    except DecodeError as error:
        raise BadAnswerError(f"the answer is not a PredictResponse: {error}.") from error
    return {name: read_tensor(name, tensor) for name, tensor in response.outputs.items()}


def read_tensor(name, tensor):
    """Makes an array of a `TensorProto`, with strings decoded.

    `tf.make_ndarray` repeats the last element until the declared shape, of any size, is full.
    Therefore the shape is first compared with the number of elements.

    Args:
        name: Name of the output, for the error.
        tensor: The `TensorProto`.

    Raises:
        BadAnswerError: If elements and shape disagree, or the data type is not supported.
    """
    import tensorflow as tf

    try:
        _check_shape(tensor)
        array = tf.make_ndarray(tensor)
        if array.dtype == object:
            texts = [text.decode("utf-8") for text in array.flat]
            array = np.array(texts, dtype=object).reshape(array.shape)
        return array
    except (ValueError, OverflowError) as error:
        raise BadAnswerError(f"output `{one_line(name, 60)}`: {one_line(str(error))}.") from error


def _check_shape(tensor):
    import tensorflow as tf

    try:
        dtype = tf.as_dtype(tensor.dtype)
        values = getattr(tensor, _VALUE_FIELDS[dtype.name])
    except (TypeError, KeyError):
        raise ValueError(f"the client does not read tensors of data type {tensor.dtype}") from None
    shape = [dim.size for dim in tensor.tensor_shape.dim]
    if tensor.tensor_shape.unknown_rank or len(shape) > _MAX_RANK or min(shape, default=0) < 0:
        raise ValueError(f"the shape must be known, not negative, with at most {_MAX_RANK} dims")
    num_elements = len(values)
    if tensor.tensor_content:
        if values or dtype == tf.string:
            raise ValueError("it holds bytes where its values should be")
        num_elements = len(tensor.tensor_content) // dtype.size
    if math.prod(shape) != num_elements:
        raise ValueError(f"{num_elements} elements cannot have the shape {shape}")


_VARINT, _LENGTH = 0, 2
_FIXED = {1: 8, 5: 4}
"""Wire types (https://protobuf.dev/programming-guides/encoding): those fixed with their bytes."""

_REFUSED, _PACKED = "refused", "packed"
_TENSOR = {
    2: {2: {}},  # tensor_shape: dim
    14: _REFUSED,  # resource_handle_val
    15: _REFUSED,  # variant_val
    **dict.fromkeys((7, 10, 11, 16, 17), _PACKED),  # int_val and its like
}
_RESPONSE = {1: {2: _TENSOR}}  # outputs: value
"""Fields that hold other fields, by number; the bytes of all others are skipped."""


def check_num_fields(answer):
    """Counts the fields of a serialized `PredictResponse` before it is parsed.

    Parsing turns two bytes into up to two hundred: 62 MB of empty outputs would take 5.5 GB.

    Args:
        answer: Bytes.

    Raises:
        BadAnswerError: If there are more than `MAX_PARTS`, eight packed integers counted as one
            field, or the message is malformed.
    """
    try:
        _count_fields(answer, 0, len(answer), _RESPONSE, 0)
    except IndexError as error:
        raise BadAnswerError("a field of the answer has no end.") from error


def _count_fields(answer, position, end, fields, count):
    """Returns `count` and the number of fields between two positions."""
    while position < end:
        tag, position = answer[position], position + 1
        if tag >= 0x80:  # a longer integer; most have one byte, and a call takes time
            tag, position = _read_varint(answer, position - 1)
        wire_type, inner = tag & 7, None
        if wire_type == _LENGTH:
            size, position = answer[position], position + 1
            if size >= 0x80:
                size, position = _read_varint(answer, position - 1)
            inner = fields.get(tag >> 3)
        elif wire_type == _VARINT:
            _, position = _read_varint(answer, position)
            size = 0
        elif wire_type in _FIXED:
            size = _FIXED[wire_type]
        else:
            raise BadAnswerError("the answer has a field of an unknown kind.")
        count += 1
        if inner is not None:
            if inner is _REFUSED:
                raise BadAnswerError("the answer holds resources or variants.")
            if inner is _PACKED:
                count += size // 8
            else:
                count = _count_fields(answer, position, min(position + size, end), inner, count)
        if count > MAX_PARTS:
            raise BadAnswerError(f"the answer has more than {MAX_PARTS} fields.")
        position += size
    return count


def _read_varint(answer, position):
    """Returns an integer and the position after it."""
    value = 0
    for shift in range(0, 70, 7):
        byte = answer[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
    raise BadAnswerError("an integer of the answer has no end.")
