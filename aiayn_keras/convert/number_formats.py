"""Numbers of files of tensors, as float32 arrays."""

import numpy as np

NUMBER_FORMATS = {
    "float64": "<f8",
    "float32": "<f4",
    "float16": "<f2",
    "bfloat16": "<u2",
    "int64": "<i8",
    "int32": "<i4",
    "int16": "<i2",
    "int8": "<i1",
    "uint8": "<u1",
    "bool": "<u1",
}
"""How NumPy reads the bytes of each format; bfloat16, which it has not, as integers."""


def bytes_per_number(number_format):
    """Number of bytes of one number of a key of `NUMBER_FORMATS`."""
    return np.dtype(NUMBER_FORMATS[number_format]).itemsize


def read_numbers(data, number_format):
    """Reads bytes as a new float32 array `(n,)`.

    Args:
        data: Bytes or another buffer of whole numbers.
        number_format: A key of `NUMBER_FORMATS`.

    Returns:
        The array; a number that float32 has not is infinite in it.
    """
    raw = np.frombuffer(data, NUMBER_FORMATS[number_format])
    if number_format == "bfloat16":  # the upper half of a float32
        return (raw.astype("<u4") << 16).view("<f4").astype("float32")
    with np.errstate(over="ignore"):
        return raw.astype("float32")
