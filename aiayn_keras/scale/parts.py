"""Files cut into parts; one worker processes a part, and its results are written together.

As in Hadoop and Spark, a plain text file is cut at bytes, and a line belongs to the part in which
it begins. A compressed file is one part because it can only be read from its beginning. A Parquet
file is cut between its row groups. Two aligned text files are cut at the same lines.
"""

from dataclasses import dataclass

import numpy as np

from aiayn_keras.common.file_addresses import file_system, is_in
from aiayn_keras.common.found_files import FoundFile, find_files, unchanged
from aiayn_keras.scale.aligned_files import pair_files
from aiayn_keras.scale.part_lines import is_parquet, row_groups
from aiayn_keras_light.text_files import CorpusError

PART_BYTES = 1_000_000
"""Size of a part of plain text: some 10,000 sentences."""
MAX_PARTS = 100_000
"""Parts are made larger rather than more numerous: the files of each have to be listed."""

_BLOCK = 1 << 23
"""Number of bytes searched for line ends at a time."""


@dataclass(frozen=True)
class Piece:
    """A piece of a file.

    Attributes:
        file: The file, as it was found.
        start: Beginning of the piece: a byte, or a row group of Parquet.
        stop: Beginning of the next piece; `None` for the rest of the file.
    """

    file: FoundFile
    start: int
    stop: int | None

    @property
    def address(self):
        """Address of the file."""
        return self.file.address


@dataclass(frozen=True)
class Part:
    """Lines that one worker processes together.

    Attributes:
        number: Position among all parts.
        pieces: One `Piece`, or two for aligned files: the sources and the targets.
    """

    number: int
    pieces: tuple[Piece, ...]

    def described(self):
        """Describes the part in JSON values."""
        pieces = [
            {"address": piece.address, "start": piece.start, "stop": piece.stop}
            for piece in self.pieces
        ]
        return {"number": self.number, "pieces": pieces}


def plan_parts(patterns, part_bytes=PART_BYTES, left_out=None):
    """Cuts files into parts.

    Args:
        patterns: One pattern as in `find_files`; or two for aligned files, which are paired as in
            `pair_files`.
        part_bytes: Size of a part of plain text and minimum size of a part of Parquet. Larger if
            there would be more than `MAX_PARTS`.
        left_out: Folder whose files are ignored, such as that of the results; an address as
            `absolute` returns it.

    Returns:
        The list of `FoundFile`s, and the list of `Part`s in order.

    Raises:
        FileNotFoundError: If there is no file.
        CorpusError: For a damaged Parquet file, or aligned files that differ in their names or in
            their number of lines.
    """
    sides = [_found(pattern, left_out) for pattern in patterns]
    part_bytes = max(part_bytes, sum(file.bytes for file in sides[0]) // MAX_PARTS)
    if len(sides) == 2:
        cuts = _aligned(patterns, sides, part_bytes)
    else:
        cuts = [(piece,) for file in sides[0] for piece in _pieces(file, part_bytes)]
    parts = [Part(number, pieces) for number, pieces in enumerate(cuts)]
    return [file for side in sides for file in side], parts


def _found(pattern, left_out):
    files = find_files(pattern)
    if left_out is not None:
        files = [file for file in files if not is_in(file.address, left_out)]
    if not files:
        raise FileNotFoundError(f"There is no file {pattern} except those in {left_out}.")
    return files


def _pieces(file, part_bytes):
    if file.address.endswith(".gz"):
        ranges = [(0, None)]
    elif is_parquet(file.address):
        ranges = row_groups(file.address, part_bytes)
    else:
        starts = range(0, max(file.bytes, 1), part_bytes)
        ranges = [(start, min(start + part_bytes, file.bytes)) for start in starts]
    return [Piece(file, *each) for each in ranges]


def _aligned(patterns, sides, part_bytes):
    """Pairs of pieces that begin with the same line."""
    for source, target in _paired(patterns, sides):
        pairs = [((0, None), (0, None))]
        if not source.address.endswith(".gz") and not target.address.endswith(".gz"):
            with unchanged(source, target):
                pairs = _cut_aligned(source.address, target.address, part_bytes)
        for source_range, target_range in pairs:
            yield Piece(source, *source_range), Piece(target, *target_range)


def _paired(patterns, sides):
    for file in (*sides[0], *sides[1]):
        if is_parquet(file.address):
            raise CorpusError(
                f"{file.address}: a Parquet file holds both sides, in its columns `source` and "
                "`target`. Give one pattern."
            )
    return pair_files(patterns, sides)


def _cut_aligned(source, target, part_bytes):
    """Pairs of byte ranges of two plain text files, with the same lines.

    Both files are read once, to find their lines. A range of the first file has at least
    `part_bytes`, except the last one.
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
    if len(starts) > 1 and lines[-1] == num_lines:  # nothing follows the last cut
        starts, others = starts[:-1], others[:-1]
    return list(zip(_ranges(starts), _ranges(others), strict=True))


def _ranges(starts):
    return list(zip(starts, [*starts[1:], None], strict=True))


def _line_ends(address):
    """Yields integer arrays of the positions after lines; the last line may lack its newline."""
    system, path = file_system(address)
    position = last = 0
    with system.open(path, "rb") as file:
        while block := file.read(_BLOCK):
            ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n")) + position + 1
            position += len(block)
            if len(ends):
                last = int(ends[-1])
                yield ends
    if position > last:
        yield np.array([position])
