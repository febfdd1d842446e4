"""CRC-32C (https://www.rfc-editor.org/rfc/rfc3720#appendix-B.4) of many megabytes, with NumPy."""

import math

import numpy as np

ONES = 0xFFFFFFFF


def crc32c(content):
    """The checksum of bytes, an integer of 32 bits.

    The bytes are cut into pieces of one length, which are gone through beside each other; then
    their checksums are joined: a piece behind another turns its checksum by a linear map.

    Args:
        content: Bytes.
    """
    data = np.frombuffer(content, "uint8")
    num_pieces = max(1, math.isqrt(len(data)))
    length = len(data) // num_pieces
    pieces = data[: num_pieces * length].reshape(num_pieces, length)
    registers = np.zeros(num_pieces, "uint32")
    registers[0] = ONES
    for column in np.ascontiguousarray(pieces.T):
        registers = TABLE[(registers ^ column) & 255] ^ registers >> 8
    images = _behind(np.uint32(1) << np.arange(32, dtype="uint32"), length).tolist()
    joined = 0
    for register in registers.tolist():
        for bit, image in enumerate(images):
            if joined >> bit & 1:
                register ^= image
        joined = register
    for byte in data[num_pieces * length :].tolist():
        joined = int(TABLE[(joined ^ byte) & 255]) ^ joined >> 8
    return joined ^ ONES


def masked_crc32c(content):
    """The checksum as LevelDB and TensorFlow store it: turned by 15 bits, and a number added."""
    crc = crc32c(content)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & ONES


def _behind(registers, length):
    """The registers after so many zeros."""
    for _ in range(length):
        registers = TABLE[registers & 255] ^ registers >> 8
    return registers


def _table():
    table = np.arange(256, dtype="uint32")
    for _ in range(8):
        table = table >> 1 ^ np.where(table & 1, np.uint32(0x82F63B78), np.uint32(0))
    return table


TABLE = _table()
