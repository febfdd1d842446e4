"""Arrays of the messages of a gRPC answer, whose declared shapes are not believed."""

import math

import numpy as np

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
    if tensor.tensor_content:
        if len(values) or tensor.dtype == STRING:
            raise ValueError("it holds bytes where its values should be")
        values = np.frombuffer(tensor.tensor_content, dtype)
    if math.prod(shape) != len(values):
        raise ValueError(f"{len(values)} elements cannot have the shape {shape}")
    if tensor.dtype == STRING:
        values = [value.decode("utf-8") for value in values]
    array = np.array(values, dtype)
    if array.dtype.kind in "iu" and not np.array_equal(array, values):
        raise ValueError(f"integers beyond {dtype}")
    return array.reshape(shape)
