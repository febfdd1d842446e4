"""Cuts of two aligned text files, so that their pieces have the same lines."""

import numpy as np

from aiayn_keras.common.addresses import file_system
from aiayn_keras.common.text_files import CorpusError

BLOCK = 1 << 23
"""Bytes that are looked at together."""


def cut_aligned(source, target, part_bytes):
    """Cuts two plain text files at the same lines.

    Both are read once, to find their lines.

    Args:
        source: Address of the first file.
        target: Address of the second one.
        part_bytes: Least size of a piece of the first file, but for the last one.

    Returns:
        List of tuples of two ranges of bytes.

    Raises:
        CorpusError: If the files differ in their number of lines.
    """
    starts, lines, num_lines = [0], [0], 0
    for ends in _line_ends(source):
        while ends[-1] >= starts[-1] + part_bytes:
            place = int(np.searchsorted(ends, starts[-1] + part_bytes))
            starts.append(int(ends[place]))
            lines.append(num_lines + place + 1)
        num_lines += len(ends)
    found, others = 0, [0]
    for ends in _line_ends(target):
        here = [line for line in lines[len(others) :] if line <= found + len(ends)]
        others += [int(ends[line - found - 1]) for line in here]
        found += len(ends)
    if found != num_lines:
        raise CorpusError(
            "Parallel files must have the same number of lines. "
            f"Received: {num_lines} lines in {source}, {found} lines in {target}."
        )
    if len(starts) > 1 and lines[-1] == num_lines:  # nothing is behind the last cut
        starts, others = starts[:-1], others[:-1]
    return list(zip(_ranges(starts), _ranges(others), strict=True))


def _ranges(starts):
    return list(zip(starts, [*starts[1:], None], strict=True))


def _line_ends(address):
    """Gives integer arrays of the places behind lines; the last line may have no newline."""
    system, path = file_system(address)
    position = last = 0
    with system.open(path, "rb") as file:
        while block := file.read(BLOCK):
            ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n")) + position + 1
            position += len(block)
            if len(ends):
                last = int(ends[-1])
                yield ends
    if position > last:
        yield np.array([position])
