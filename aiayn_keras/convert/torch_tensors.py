"""Tensors of PyTorch as its files describe them: a stretch of a storage, with a shape."""

import math
from dataclasses import dataclass

import numpy as np

from aiayn_keras.convert.inert_pickle import Name, StandIn
from aiayn_keras.convert.number_formats import bytes_per_number, read_numbers

STORAGES = {
    "DoubleStorage": "float64",
    "FloatStorage": "float32",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "LongStorage": "int64",
    "IntStorage": "int32",
    "ShortStorage": "int16",
    "CharStorage": "int8",
    "ByteStorage": "uint8",
    "BoolStorage": "bool",
}
"""PyTorch's names of storages by the numbers in them."""

REBUILDS = ("torch._utils._rebuild_tensor_v2", "torch._utils._rebuild_tensor")
REBUILDS_PARAMETER = (
    "torch._utils._rebuild_parameter",
    "torch._utils._rebuild_parameter_with_state",
)
MAX_AXES = 8


@dataclass(frozen=True)
class Storage:
    """Numbers of a file, side by side.

    Attributes:
        key: Its name in the file.
        number_format: A key of `NUMBER_FORMATS`.
        count: Number of numbers.
    """

    key: str
    number_format: str
    count: int

    @property
    def num_bytes(self):
        """Number of bytes in the file."""
        return self.count * bytes_per_number(self.number_format)


@dataclass(frozen=True)
class Tensor:
    """A view of a storage: where it begins, its shape and its steps, in numbers."""

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def num_bytes(self):
        """Number of bytes of the array."""
        return 4 * math.prod(self.shape)

    def array(self, data):
        """A float32 array of its own, made from the bytes of the storage."""
        size = bytes_per_number(self.storage.number_format)
        data = memoryview(data)[size * self.offset : size * self._end()]
        numbers = read_numbers(data, self.storage.number_format)
        strides = [4 * stride for stride in self.strides]
        view = np.lib.stride_tricks.as_strided(numbers, self.shape, strides, writeable=False)
        return np.array(view)

    def check(self):
        """Raises a `ValueError` if it is larger than its storage, or ends behind it."""
        if math.prod(self.shape) > self.storage.count or self._end() > self.storage.count:
            raise ValueError(
                f"a tensor of the shape {self.shape} at {self.offset:,} is not within its storage "
                f"of {self.storage.count:,} numbers"
            )

    def _end(self):
        if not math.prod(self.shape):
            return self.offset
        steps = ((n - 1) * stride for n, stride in zip(self.shape, self.strides, strict=True))
        return self.offset + sum(steps) + 1


def make_tensor(name, arguments):
    """Makes `Tensor`s of the calls by which pickles make tensors, and stand-ins of all others.

    See the argument `make` of `read_pickle`.

    Raises:
        ValueError: For a tensor that cannot be.
    """
    if name in REBUILDS:
        storage, offset, shape, strides = arguments[:4]
        if not isinstance(storage, Storage) or not _are_counts((offset,), shape, strides):
            raise ValueError("a tensor is described in an unknown way")
        if not len(shape) == len(strides) <= MAX_AXES:
            raise ValueError(f"a tensor of {len(shape)} axes and {len(strides)} strides")
        tensor = Tensor(storage, offset, shape, strides)
        tensor.check()
        return tensor
    if name in REBUILDS_PARAMETER and isinstance(arguments[0], Tensor):
        return arguments[0]
    return StandIn(name)


def make_storage(identifier):
    """Makes a `Storage` of a persistent identifier, see the argument `load` of `read_pickle`.

    Raises:
        ValueError: For anything else, and for numbers of an unknown format.
    """
    kind, storage_type, key, _, count = identifier[:5]
    view = identifier[5:]  # of old files: a storage that is part of another
    if kind != "storage" or not isinstance(storage_type, Name) or not isinstance(key, str):
        raise ValueError("it refers to something that is no storage")
    name = storage_type.text.removeprefix("torch.").removeprefix("storage.")
    if name not in STORAGES:
        raise ValueError(f"a storage of the unknown type {storage_type.text:.60}")
    if not _are_counts((count,)) or any(part is not None for part in view):
        raise ValueError(f"the storage {key:.60} is described in an unknown way")
    return Storage(key, STORAGES[name], count)


def _are_counts(*groups):
    return all(
        isinstance(group, tuple) and all(type(n) is int and 0 <= n < 1 << 62 for n in group)
        for group in groups
    )
