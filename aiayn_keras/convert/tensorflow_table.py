"""The index of a TensorFlow checkpoint: a sorted table from names to messages, of LevelDB's format.

After https://github.com/google/leveldb/blob/main/doc/table_format.md, and for the messages
https://protobuf.dev/programming-guides/encoding. TensorFlow's own reader ends the whole process
where a table states a shape that cannot be.
"""

import struct

from aiayn_keras.convert.crc32c import masked_crc32c

BLOCK_END = 5
"""Bytes behind a block: how it is compressed, and a checksum."""

FOOTER = 48
MAGIC = (0xDB4775248B80FB57).to_bytes(8, "little")

MAX_ENTRIES = 1 << 17
MAX_NAME = 1 << 11
MAX_VARINT = 10

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
"""Ways in which a message holds a field."""


def read_table(content):
    """Reads all entries of a table.

    Args:
        content: Bytes of the file.

    Returns:
        Dictionary from names to values, both bytes.

    Raises:
        ValueError: If it is damaged.
    """
    if len(content) < FOOTER or content[-len(MAGIC) :] != MAGIC:
        raise ValueError("it is no index of a checkpoint, or its end is missing")
    footer = content[-FOOTER:]
    position = 0
    for _ in range(2):  # the place of a block that is not needed
        _, position = read_varint(footer, position)
    handle = footer[position:]
    found, num_bytes = {}, 0
    for _, value in _entries(_block(content, handle)):
        block = _block(content, value)
        num_bytes += len(block) + BLOCK_END
        if num_bytes > len(content):
            raise ValueError("its blocks overlap")
        for name, message in _entries(block):
            found[name] = message
            if len(found) > MAX_ENTRIES:
                raise ValueError(f"it has more than {MAX_ENTRIES:,} entries")
    return found


def read_message(content):
    """Reads a message.

    Args:
        content: Its bytes.

    Returns:
        Dictionary from the numbers of its fields to lists of values: integers, which are not
        negative, or bytes.

    Raises:
        ValueError: If it is damaged.
    """
    fields, position = {}, 0
    while position < len(content):
        tag, position = read_varint(content, position)
        kind, size = tag & 7, {FIXED64: 8, FIXED32: 4}.get(tag & 7)
        if kind == VARINT:
            value, position = read_varint(content, position)
        elif kind == BYTES:
            size, position = read_varint(content, position)
            value, position = _take(content, position, size)
        elif size is not None:
            value, position = _take(content, position, size)
            value = int.from_bytes(value, "little")
        else:
            raise ValueError(f"a field of the kind {kind}, which is not known")
        fields.setdefault(tag >> 3, []).append(value)
    return fields


def read_varint(content, position):
    """Reads a number of seven bits a byte; returns it and the position behind it."""
    number = 0
    for i, byte in enumerate(content[position : position + MAX_VARINT]):
        number |= (byte & 127) << 7 * i
        if byte < 128:
            return number, position + i + 1
    raise ValueError("a number is cut off")


def _block(content, handle):
    """The block at a place, whose checksum must hold."""
    start, position = read_varint(handle, 0)
    size, _ = read_varint(handle, position)
    block, end = _take(content, start, size)
    kind, checksum = struct.unpack("<BI", _take(content, end, BLOCK_END)[0])
    if kind:
        raise ValueError("a block is compressed, which TensorFlow does not do")
    if checksum != masked_crc32c(block + b"\0"):
        raise ValueError("the checksum of a block does not hold: copy it again")
    return block


def _entries(block):
    """Yields names and values of a block; a name shares its beginning with the one before."""
    if len(block) < 4:
        raise ValueError("a block is cut off")
    end = len(block) - 4 * (1 + int.from_bytes(block[-4:], "little"))
    position, name = 0, b""
    while position < end:
        shared, position = read_varint(block, position)
        added, position = read_varint(block, position)
        size, position = read_varint(block, position)
        if shared > len(name) or shared + added > MAX_NAME:
            raise ValueError("a name that cannot be")
        rest, position = _take(block, position, added)
        name = name[:shared] + rest
        value, position = _take(block, position, size)
        yield name, value


def _take(content, position, size):
    """So many bytes from a position on, and the position behind them."""
    end = position + size
    if end > len(content):
        raise ValueError("it points behind its end")
    return content[position:end], end
