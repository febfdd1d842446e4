"""Arrays of the messages of a gRPC answer, whose declared shapes are not believed."""

import math

import numpy as np

from aiayn_keras.serving.answers import MAX_PARTS
from aiayn_keras.serving.errors import BadAnswerError, one_line

MAX_RANK = 8

STRING = 7
FIELDS = {
    1: ("float32", "float_val"),
    2: ("float64", "double_val"),
    3: ("int32", "int_val"),
    4: ("uint8", "int_val"),
    5: ("int16", "int_val"),
    6: ("int8", "int_val"),
    STRING: ("object", "string_val"),
    9: ("int64", "int64_val"),
    10: ("bool", "bool_val"),
    17: ("uint16", "int_val"),
    22: ("uint32", "uint32_val"),
    23: ("uint64", "uint64_val"),
}
"""Numbers of `tensorflow.DataType`: type of the array, and field of a `TensorProto`."""


def arrays_of(outputs):
    """Makes arrays of a `PredictResponse`'s outputs, strings decoded.

    Raises:
        BadAnswerError: Naming the output.
    """
    arrays = {}
    for name, tensor in outputs.items():
        try:
            arrays[name] = _array(tensor)
        except (ValueError, OverflowError) as error:
            raise BadAnswerError(f"output `{one_line(name, 60)}`: {error}.") from error
    return arrays


def _array(tensor):
    if tensor.dtype not in FIELDS:
        raise ValueError(f"the client reads no tensors of data type {tensor.dtype}")
    dtype, field = FIELDS[tensor.dtype]
    shape = [dim.size for dim in tensor.tensor_shape.dim]
    if tensor.tensor_shape.unknown_rank or len(shape) > MAX_RANK or min(shape, default=0) < 0:
        raise ValueError("the shape must be known, not negative, and of at most 8 dims")
    values = getattr(tensor, field)
    if tensor.tensor_content and tensor.dtype != STRING:
        values = np.frombuffer(tensor.tensor_content, dtype)
    if math.prod(shape) != len(values):
        raise ValueError(f"{len(values)} elements cannot have the shape {shape}")
    if tensor.dtype == STRING:
        values = [value.decode("utf-8") for value in values]
    return np.array(values, dtype).reshape(shape)


def check_num_parts(answer):
    """Counts the fields of a serialized `PredictResponse`; raises `BadAnswerError` if too many.

    A field of two bytes can take a hundred in memory once it is parsed.
    """
    counter = _FieldCounter(memoryview(answer))
    try:
        counter.walk(0, len(answer), _RESPONSE)
    except IndexError as error:
        raise BadAnswerError("a field of the answer has no end.") from error


_TENSOR = {2: {2: {}}, 14: None, 15: None}  # tensor_shape: dim; resource_handle_val, variant_val
_RESPONSE = {1: {2: _TENSOR}}  # outputs: value
"""Messages in messages that can be many, by the number of their field; None for those refused."""


class _FieldCounter:
    def __init__(self, data):
        self.data, self.num_parts = data, 0

    def walk(self, position, end, nested):
        """Counts the fields from `position` to `end`."""
        while position < end:
            self.num_parts += 1
            if self.num_parts > MAX_PARTS:
                raise BadAnswerError(f"the answer has more than {MAX_PARTS} fields.")
            tag, position = self._varint(position)
            kind = tag & 7
            if kind == 0:
                _, position = self._varint(position)
            elif kind in (1, 5):
                position += 8 if kind == 1 else 4
            elif kind == 2:
                length, position = self._varint(position)
                field = tag >> 3
                if field in nested and nested[field] is None:
                    raise BadAnswerError("the answer holds resources or variants.")
                if field in nested:
                    self.walk(position, min(position + length, end), nested[field])
                position += length
            else:
                raise BadAnswerError("the answer has a field of an unknown kind.")

    def _varint(self, position):
        value = shift = 0
        while True:
            byte = self.data[position]
            position += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value, position
            shift += 7
            if shift > 63:
                raise BadAnswerError("a number of the answer has no end.")
