"""Several pairs in one row: first-fit packing of two lengths at once."""

import numpy as np

CHUNK = 2**15
"""Pairs that are packed together: a chunk looks through its own open rows only."""


def first_fit(source_lengths, target_lengths, source_room: int, target_room: int) -> np.ndarray:
    """Puts every pair into the first row that has room for both sides, long pairs first.

    Args:
        source_lengths: Integer array `(pairs,)`, in tokens, end ids included.
        target_lengths: The same for the target side.
        source_room: Source tokens that a row holds, at least the longest source.
        target_room: Target tokens that a row holds, at least the longest target.

    Returns:
        Int32 array `(pairs,)` of each pair's row, counted from 0.

    Example:
    >>> first_fit(np.array([3, 2, 1]), np.array([3, 4, 1]), source_room=4, target_room=5).tolist()
    [0, 1, 0]
    """
    rows = np.empty(len(source_lengths), dtype=np.int32)
    num_rows = 0
    for start in range(0, len(rows), CHUNK):
        chunk = slice(start, start + CHUNK)
        sides = source_lengths[chunk], target_lengths[chunk]
        rows[chunk] = num_rows + _pack(*sides, source_room, target_room)
        num_rows = int(rows[chunk].max()) + 1
    return rows


def _pack(source_lengths, target_lengths, source_room, target_room):
    """The rows of one chunk."""
    pairs = len(source_lengths)
    source_left = np.zeros(pairs, dtype=np.int32)
    target_left = np.zeros(pairs, dtype=np.int32)
    rows = np.empty(pairs, dtype=np.int32)
    opened = 0
    order = np.argsort(-(source_lengths + target_lengths), kind="stable")
    lengths = zip(
        order, source_lengths[order].tolist(), target_lengths[order].tolist(), strict=True
    )
    for pair, source, target in lengths:
        fits = (source_left[:opened] >= source) & (target_left[:opened] >= target)
        row = int(fits.argmax()) if opened else 0
        if row == opened or not fits[row]:
            row, opened = opened, opened + 1
            source_left[row], target_left[row] = source_room, target_room
        source_left[row] -= source
        target_left[row] -= target
        rows[pair] = row
    return rows
