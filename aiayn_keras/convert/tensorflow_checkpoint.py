"""Checkpoints of TensorFlow: variables by their names, without TensorFlow.

An index says where in which file the numbers of each variable are, by messages of
https://github.com/tensorflow/tensorflow/blob/master/tensorflow/core/protobuf/tensor_bundle.proto.
"""

import math
import re
from dataclasses import dataclass
from pathlib import Path

from aiayn_keras.common.files import check_regular_file, read_bytes
from aiayn_keras.convert.crc32c import masked_crc32c
from aiayn_keras.convert.number_formats import bytes_per_number, read_numbers
from aiayn_keras.convert.tensorflow_table import read_message, read_table

INDEX = ".index"
STATE = "checkpoint"
"""File of a folder of checkpoints that names the newest."""

MAX_STATE_BYTES = 1 << 20
MAX_INDEX_BYTES = 1 << 24
MAX_SHARDS = 1 << 12
MAX_AXES = 8

NUM_SHARDS, ENDIANNESS = 1, 2
"""Fields of a `BundleHeaderProto`."""

DTYPE, SHAPE, SHARD, OFFSET, NUM_BYTES, CHECKSUM, SLICES = range(1, 8)
"""Fields of a `BundleEntryProto`."""

DIM, UNKNOWN_RANK = 2, 3
"""Fields of a `TensorShapeProto`."""

SIZE = 1
"""Field of a dimension."""

NUMBERS = {1: "float32", 2: "float64", 14: "bfloat16", 19: "float16"}
"""Values of a `DataType`."""


def find_checkpoint(path):
    """Finds a checkpoint's prefix, which the names of its files begin with.

    Args:
        path: The prefix, such as `run/ckpt-5000`; its file `*.index`; or a folder, whose newest
            checkpoint is meant.

    Returns:
        A `pathlib.Path`.

    Raises:
        OSError: If there is none, or the newest is missing.
        ValueError: If a folder has several and does not say which is the newest.
    """
    path = Path(path)
    if not path.is_dir():
        prefix = path.with_name(path.name.removesuffix(INDEX))
        check_regular_file(_index_of(prefix))
        return prefix
    names = sorted(file.name.removesuffix(INDEX) for file in path.glob(f"*{INDEX}"))
    if not names:
        raise FileNotFoundError(
            f"{path} has no checkpoint of TensorFlow: no file there has a name that ends in "
            f"{INDEX}."
        )
    if len(names) == 1:
        return path / names[0]
    newest = _newest(path / STATE)
    if newest is None:
        raise ValueError(
            f"{path} has several checkpoints, and no file `{STATE}` says which is the newest: name "
            f"one, such as {path / names[-1]}."
        )
    if newest not in names:
        raise FileNotFoundError(
            f"{path / newest}{INDEX} is missing, which {path / STATE} says is the newest: copy it, "
            f"or name another, such as {path / names[-1]}."
        )
    return path / newest


def read_checkpoint(prefix, choose):
    """Reads variables of a checkpoint.

    Args:
        prefix: What `find_checkpoint` returns.
        choose: Function from the list of all names to a dictionary, from the names of those that
            are wanted to what they are called in the result.

    Returns:
        Dictionary from names to float32 arrays.

    Raises:
        OSError: If a file is missing.
        ValueError: If the index is damaged or lies, or a variable holds no floating-point numbers;
            with the file and the variable.
    """
    index = _index_of(prefix)
    content = read_bytes(index, MAX_INDEX_BYTES)
    try:
        table = read_table(content)
        header = read_message(table.pop(b"", b""))
        messages = {name.decode("utf-8", "backslashreplace"): table[name] for name in sorted(table)}
        names = choose(list(messages))
    except ValueError as error:
        raise ValueError(f"{index}: {error}.") from None
    if _first(header, ENDIANNESS) or not 1 <= _first(header, NUM_SHARDS) <= MAX_SHARDS:
        raise ValueError(
            f"{index}: expected numbers in little-endian order in 1 to {MAX_SHARDS:,} files."
        )
    entries = {}
    for name, new in names.items():
        try:
            entries[new] = Entry.parse(messages[name])
        except ValueError as error:
            raise ValueError(f"{index}: `{name:.200}`: {error}.") from None
    return _read_arrays(prefix, _first(header, NUM_SHARDS), entries)


@dataclass(frozen=True)
class Entry:
    """A variable of the index (`BundleEntryProto`).

    Attributes:
        number_format: A key of `NUMBER_FORMATS`.
        shape: Tuple of sizes.
        shard: Number of its file.
        offset: Place of its first byte there.
        num_bytes: Number of its bytes.
        checksum: Their `masked_crc32c`.
    """

    number_format: str
    shape: tuple[int, ...]
    shard: int
    offset: int
    num_bytes: int
    checksum: int

    @classmethod
    def parse(cls, content):
        """Makes an `Entry` of a message, which must agree with itself."""
        fields = read_message(content)
        number_format = NUMBERS.get(_first(fields, DTYPE))
        if number_format is None or SLICES in fields:
            raise ValueError("it holds no floating-point numbers, or they are in slices")
        shape = read_message(_first(fields, SHAPE, b""))
        sizes = tuple(_first(read_message(dim), SIZE) for dim in shape.get(DIM, []))
        num_bytes = _first(fields, NUM_BYTES)
        if (
            UNKNOWN_RANK in shape
            or 0 in sizes
            or len(sizes) > MAX_AXES
            or math.prod(sizes) * bytes_per_number(number_format) != num_bytes
        ):
            raise ValueError(f"{num_bytes:,} bytes do not have the shape {sizes!s:.60}")
        places = (_first(fields, field) for field in (SHARD, OFFSET, NUM_BYTES, CHECKSUM))
        return cls(number_format, sizes, *places)


def _read_arrays(prefix, num_shards, entries):
    """The numbers of all entries, which together have no more bytes than the files."""
    arrays, total, sizes = {}, 0, {}
    for name, entry in entries.items():
        path = prefix.with_name(f"{prefix.name}.data-{entry.shard:05d}-of-{num_shards:05d}")
        if path not in sizes:
            check_regular_file(path)
            sizes[path] = path.stat().st_size
        total += entry.num_bytes
        if entry.offset + entry.num_bytes > sizes[path] or total > sum(sizes.values()):
            raise ValueError(
                f"{path}: `{name:.200}` is not in its {sizes[path]:,} bytes: copy it again."
            )
        with path.open("rb") as file:
            file.seek(entry.offset)
            content = file.read(entry.num_bytes)
        if masked_crc32c(content) != entry.checksum:
            raise ValueError(f"{path}: the checksum of `{name:.200}` does not hold: copy it again.")
        arrays[name] = read_numbers(content, entry.number_format).reshape(entry.shape)
    return arrays


def _first(fields, number, default=0):
    """The value of a field of a message; numbers that are 0 are not written."""
    value = fields.get(number, [default])[0]
    if type(value) is not type(default):
        raise ValueError(f"field {number} is of another kind")
    return value


def _newest(path):
    """Name of the checkpoint that a file `checkpoint` calls the newest, or None."""
    if not path.is_file():
        return None
    content = read_bytes(path, MAX_STATE_BYTES).decode("utf-8", errors="replace")
    match = re.search(r'^model_checkpoint_path: "(.*)"', content, re.MULTILINE)
    return Path(match[1]).name or None if match else None


def _index_of(prefix):
    return prefix.with_name(prefix.name + INDEX)
