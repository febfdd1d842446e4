"""Files of the format safetensors (https://huggingface.co/docs/safetensors).

Eight bytes with the length of a header, the header in JSON, then the numbers: the header says the
format, the shape and the place of every tensor.
"""

import math
from pathlib import Path
from typing import Literal

import pydantic

from aiayn_keras.common.checks import parse
from aiayn_keras.common.files import check_regular_file
from aiayn_keras.convert.number_formats import bytes_per_number, read_numbers

MAX_HEADER_BYTES = 1 << 23
"""Bound on a header, of which a tensor takes about 100 bytes."""

FORMATS = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "I64": "int64",
    "I32": "int32",
    "I16": "int16",
    "I8": "int8",
    "U8": "uint8",
    "BOOL": "bool",
}

REMEDY = "It is no file of the format safetensors, or is damaged."


class Tensor(pydantic.BaseModel, extra="forbid", strict=True):
    """One tensor of a header."""

    dtype: Literal[tuple(FORMATS)]
    shape: list[pydantic.NonNegativeInt] = pydantic.Field(max_length=8)
    data_offsets: list[pydantic.NonNegativeInt] = pydantic.Field(min_length=2, max_length=2)

    def num_bytes(self):
        """Number of bytes of a tensor of this format and shape."""
        return math.prod(self.shape) * bytes_per_number(FORMATS[self.dtype])


class Header(pydantic.BaseModel, extra="allow", strict=True):
    """A header: tensors by their names, and a dictionary of remarks."""

    __pydantic_extra__: dict[str, Tensor]
    metadata: dict[str, str] = pydantic.Field(default={}, alias="__metadata__")


def read_safetensors(path):
    """Reads all tensors of a file.

    Args:
        path: The file.

    Returns:
        Dictionary from names to float32 arrays.

    Raises:
        OSError: If there is no such regular file.
        ValueError: If the header lies: it is not JSON, the tensors overlap, leave bytes out, or do
            not fill the file exactly; with the file and the tensor's name.
    """
    path = Path(path)
    check_regular_file(path)
    with path.open("rb") as file:
        tensors = _read_header(file, path)
        _check_ranges(tensors, path.stat().st_size - file.tell(), path)
        return {
            name: read_numbers(file.read(tensor.num_bytes()), FORMATS[tensor.dtype]).reshape(
                tensor.shape
            )
            for name, tensor in tensors.items()
        }


def _read_header(file, path):
    """Tensors by their names, in the order of their numbers; the file stands behind the header."""
    size = int.from_bytes(file.read(8), "little")
    if not 2 <= size <= min(MAX_HEADER_BYTES, path.stat().st_size - 8):
        raise ValueError(f"{path}: a header of {size:,} bytes cannot be. {REMEDY}")
    tensors = parse(Header, file.read(size), f"{path}, header", REMEDY).model_extra
    return dict(sorted(tensors.items(), key=lambda item: item[1].data_offsets))


def _check_ranges(tensors, num_bytes, path):
    """Checks that the tensors fill the bytes behind the header, one after the other."""
    end = 0
    for name, tensor in tensors.items():
        start, stop = tensor.data_offsets
        if start != end:
            what = "overlap another's" if start < end else f"leave out {start - end:,} bytes"
            raise ValueError(f"{path}, tensor `{name:.200}`: its bytes {what}. {REMEDY}")
        if stop - start != tensor.num_bytes():
            raise ValueError(
                f"{path}, tensor `{name:.200}`: {tensor.dtype} of the shape {tensor.shape} has "
                f"{tensor.num_bytes():,} bytes, the header gives it {stop - start:,}. {REMEDY}"
            )
        if stop > num_bytes:
            raise ValueError(
                f"{path}, tensor `{name:.200}`: it ends {stop - num_bytes:,} bytes behind the end "
                "of the file, which is cut off: copy it again."
            )
        end = stop
    if end != num_bytes:
        raise ValueError(f"{path}: {num_bytes - end:,} bytes belong to no tensor. {REMEDY}")
