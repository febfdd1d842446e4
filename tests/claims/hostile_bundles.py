"""Checkpoints of TensorFlow that lie, written byte by byte: each is right except for one thing.

A checkpoint is a table of LevelDB's format, `*.index`, from names to places in the files `*.data-*`
(https://github.com/tensorflow/tensorflow/blob/master/tensorflow/core/protobuf/tensor_bundle.proto).
TensorFlow's own writer makes only right ones, and would start threads.
"""

import os
import struct
from pathlib import Path

import numpy as np
from tensorflow.core.protobuf.tensor_bundle_pb2 import BundleEntryProto, BundleHeaderProto

from tests.convert import tensorflow_models as toolkits

MAGIC = 0xDB4775248B80FB57
FOOTER = 48
STRING, INT8 = 7, 6
END_OF_NO_TEXT = b"model/\xff\xfe" + toolkits.SUFFIX.encode()
NAME = f"model/decoder/layers/0/ffn/layer/outer/bias{toolkits.SUFFIX}"


def hostile_bundles(folder):
    """Yields what is wrong, arguments of `convert_opennmt_tf`, and what the answer must say.

    Args:
        folder: A folder to write them into.
    """
    theirs = toolkits.OpenNMTTF(layers=(1, 1))
    paths = theirs.write_vocabularies(folder)
    for number, (name, change, message) in enumerate(_changes()):
        place = folder / str(number)
        place.mkdir()
        bundle = Bundle(theirs.variables)
        change(bundle)
        bundle.write(place / "ckpt-1")
        yield name, (place / "ckpt-1", *paths), message


def _changes():
    """Functions that change a `Bundle`, each with its name and the answer.

    The answer is None where TensorFlow reads the right numbers all the same.
    """
    one_line = "ckpt-1"
    for size in (0, 7, 47, 60, -FOOTER, -1):
        yield f"index cut to {size}", _set("cut", size), one_line
    yield "index of zeros", _set("index", bytes(1000)), one_line
    yield "index of noise", _set("index", np.random.default_rng(1).bytes(5000)), "not an sstable"
    yield "index that is a pickle", _set("index", b"\x80\2cos\nsystem\n."), one_line
    yield "a checksum of the index", _set("is_damaged", True), one_line
    yield "no data", _set("data", None), "There is no file"
    yield (
        "data cut",
        lambda bundle: _set("data", bundle.data[:100])(bundle),
        "beta/.*Read less bytes than requested",
    )
    yield (
        "data changed",
        lambda b: _set("data", b"x" * len(b.data))(b),
        "decoder/layer_norm/beta/.*Checksum does not match",
    )
    yield "data that is a folder", _set("data", os.mkdir), one_line
    yield "index that is a pipe", _set("index", os.mkfifo), "regular file"
    yield "an endless index", _set("index", lambda path: path.symlink_to("/dev/zero")), "regular"
    yield "a gigabyte of index", _set("index", _sparse), "not an sstable"
    for what, dims in (
        ("10^12 numbers", [10**6, 10**6]),
        ("2^62 by 2^62 numbers", [2**62, 2**62]),
        ("2^63 numbers", [2**63 - 1]),
        ("-1 numbers", [-1]),
        ("-2^63 numbers", [-(2**63)]),
        ("-3 by -4 numbers", [-3, -4]),
        ("300 axes", [1] * 300),
        ("no numbers", [0]),
        ("0 by 2^62 numbers", [0, 2**62]),
        ("one number more", [13]),
        ("one number less", [11]),
    ):
        yield f"a shape of {what}", _entry(dims=dims), one_line
    yield "a shape of unknown rank", _entry(unknown_rank=True), None
    for what, value in (("of text", STRING), ("int8", INT8), ("unknown", 9999), ("0", 0)):
        yield f"a type that is {what}", _entry(dtype=value), one_line
    for what, fields in (
        ("an offset behind the end", {"offset": 2**40}),
        ("a negative offset", {"offset": -8}),
        ("a size of 2^62", {"size": 2**62}),
        ("a negative size", {"size": -48}),
        ("a part of nothing", {"shard_id": 7}),
        ("a negative part", {"shard_id": -1}),
        ("a wrong checksum", {"crc32c": 1}),
    ):
        yield what, _entry(**fields), one_line
    for what, fields in (
        ("2^31 parts", {"num_shards": 2**31 - 1}),
        ("no parts", {"num_shards": 0}),
        ("-1 parts", {"num_shards": -1}),
    ):
        yield what, _header(**fields), one_line
    yield "the other byte order", _header(endianness=1), one_line
    yield "no header", lambda bundle: bundle.entries.pop(b""), one_line
    yield "a header of noise", _raw(b"", b"\xff" * 40), one_line
    yield "an entry of noise", _raw(NAME.encode(), b"\xff" * 40), one_line
    yield "a name that is no text", _raw(END_OF_NO_TEXT, b"\xff"), "its reader crashed"
    yield "a name of a megabyte", _raw(b"model/" + b"x" * 10**6, b""), one_line
    yield (
        "NaN",
        _values(np.full(12, np.nan, "float32")),
        "output/bias`: it holds numbers that are not finite",
    )
    yield "missing", lambda bundle: bundle.entries.pop(NAME.encode()), "outer/bias` is missing"
    yield "the same bytes for all", _all_of_one_place, "does not belong to a Transformer|16 times"


def _set(name, value):
    return lambda bundle: setattr(bundle, name, value)


def _raw(name, value):
    return lambda bundle: bundle.entries.update({name: value})


def _entry(dims=None, unknown_rank=False, **fields):
    """A change of the entry of one variable."""

    def change(bundle):
        entry = BundleEntryProto.FromString(bundle.entries[NAME.encode()])
        for name, value in fields.items():
            setattr(entry, name, value)
        if dims is not None:
            del entry.shape.dim[:]
            for size in dims:
                entry.shape.dim.add(size=size)
        entry.shape.unknown_rank = unknown_rank
        bundle.entries[NAME.encode()] = entry.SerializeToString()

    return change


def _all_of_one_place(bundle):
    """A thousand more variables in the bytes of one."""
    for i in range(1000):
        bundle.entries[f"model/{i}{toolkits.SUFFIX}".encode()] = bundle.entries[NAME.encode()]


def _header(**fields):
    def change(bundle):
        header = BundleHeaderProto.FromString(bundle.entries[b""])
        for name, value in fields.items():
            setattr(header, name, value)
        bundle.entries[b""] = header.SerializeToString()

    return change


def _values(array):
    """A change of a variable's numbers, with their right checksum."""

    def change(bundle):
        entry = BundleEntryProto.FromString(bundle.entries[NAME.encode()])
        place = slice(entry.offset, entry.offset + entry.size)
        bundle.data = bundle.data[: place.start] + array.tobytes() + bundle.data[place.stop :]
        entry.crc32c = masked_crc32c(array.tobytes())
        bundle.entries[NAME.encode()] = entry.SerializeToString()

    return change


def _sparse(path):
    with Path(path).open("wb") as file:
        file.truncate(10**9)


class Bundle:
    """The two files of a checkpoint.

    Attributes:
        entries: Dictionary from names to serialized messages; the header has an empty name.
        data: Content of the data file, None for no such file, or a function that makes it.
        index: Content of the index, or a function that makes it, in the place of `entries`.
        cut: Length of the index, if it is cut.
        is_damaged: Whether the checksum of the index's first block is wrong.
    """

    def __init__(self, variables):
        header = BundleHeaderProto(num_shards=1)
        header.version.producer = 1
        self.entries, self.data = {b"": header.SerializeToString()}, b""
        for name, array in variables.items():
            content = array.tobytes()
            entry = BundleEntryProto(dtype=1, offset=len(self.data), size=len(content))
            entry.crc32c = masked_crc32c(content)
            for size in array.shape:
                entry.shape.dim.add(size=size)
            self.entries[name.encode()] = entry.SerializeToString()
            self.data += content
        self.index, self.cut, self.is_damaged = None, None, False

    def write(self, prefix):
        """Writes the files whose names begin so."""
        index = self._table() if self.index is None else self.index
        if self.cut is not None:
            index = index[: self.cut]
        for name, content in ((".index", index), (".data-00000-of-00001", self.data)):
            path = prefix.with_name(prefix.name + name)
            if callable(content):
                content(path)
            elif content is not None:
                path.write_bytes(content)

    def _table(self):
        """The index: a block of entries, an empty one, and one that names the first."""
        found = b""

        def add(block):
            nonlocal found
            handle = varint(len(found)) + varint(len(block))
            checksum = masked_crc32c(block + b"\0") ^ (self.is_damaged and not found)
            found += block + b"\0" + struct.pack("<I", checksum)
            return handle

        first = add(block_of(sorted(self.entries.items())))
        empty = add(block_of([]))
        last = add(block_of([(max(self.entries, default=b""), first)]))
        return found + (empty + last).ljust(FOOTER - 8, b"\0") + struct.pack("<Q", MAGIC)


def block_of(items):
    """A block of pairs of keys and values, of which each key is written whole."""
    block, starts = b"", []
    for key, value in items:
        starts.append(len(block))
        block += varint(0) + varint(len(key)) + varint(len(value)) + key + value
    starts = starts or [0]
    return block + struct.pack(f"<{len(starts) + 1}I", *starts, len(starts))


def masked_crc32c(content):
    """The checksum of bytes as LevelDB and TensorFlow store it: CRC-32C, turned and moved."""
    crc = 0xFFFFFFFF
    for byte in content:
        crc = CRC_TABLE[(crc ^ byte) & 255] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _crc_of_byte(byte):
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    return byte


CRC_TABLE = [_crc_of_byte(byte) for byte in range(256)]


def varint(number):
    """A number as bytes of seven bits."""
    found = b""
    while number > 127:
        found += bytes([number & 127 | 128])
        number >>= 7
    return found + bytes([number])
