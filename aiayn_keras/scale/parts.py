"""Files cut into parts, each of which one process works on, and whose results are written at once.

As in Hadoop and Spark, a plain text file is cut at bytes, and a line belongs to the part in which
it begins; a compressed file is one part, since it can be read from its beginning only; a Parquet
file is cut between its row groups.
"""

from dataclasses import dataclass

from aiayn_keras.common.addresses import find_files, is_in
from aiayn_keras.common.text_files import CorpusError
from aiayn_keras.scale.aligned_cuts import cut_aligned
from aiayn_keras.scale.parquet_files import is_parquet, row_groups

PART_BYTES = 1_000_000
"""Size of a part of plain text: some 10,000 sentences."""
MAX_PARTS = 100_000
"""Parts are larger where there would be more: each has files of its own, which are listed."""


@dataclass(frozen=True)
class Piece:
    """A piece of a file.

    Attributes:
        address: The file.
        start: Where it begins: a byte, or a row group of Parquet.
        stop: Where the next one begins; `None` for the rest of the file.
    """

    address: str
    start: int
    stop: int | None


@dataclass(frozen=True)
class Part:
    """Lines that are worked on together.

    Attributes:
        number: Its place among all parts.
        pieces: One `Piece`; of two aligned files two, the sources and the targets.
    """

    number: int
    pieces: tuple[Piece, ...]


def plan_parts(patterns, part_bytes=PART_BYTES, left_out=None):
    """Cuts files into parts.

    Args:
        patterns: One pattern as in `find_files`; or two, of aligned files, which go together in
            the order of their names.
        part_bytes: Size of a part of plain text, and the least of a part of Parquet, unless there
            would be more than `MAX_PARTS`.
        left_out: Folder whose files are not taken, as the parts' own results; its address is as
            `absolute` gives it.

    Returns:
        The list of `FoundFile`s, and the list of `Part`s in their order.

    Raises:
        FileNotFoundError: If there is no file.
        CorpusError: For a file that says it is Parquet and is not; if aligned files differ in
            number, or in their number of lines.
    """
    sides = [_found(pattern, left_out) for pattern in patterns]
    part_bytes = max(part_bytes, sum(file.bytes for file in sides[0]) // MAX_PARTS)
    if len(sides) == 2:
        cuts = _aligned(*sides, part_bytes)
    else:
        cuts = [(piece,) for file in sides[0] for piece in _pieces(file, part_bytes)]
    parts = [Part(number, pieces) for number, pieces in enumerate(cuts)]
    return [file for side in sides for file in side], parts


def _found(pattern, left_out):
    files = find_files(pattern)
    if left_out is not None:
        files = [file for file in files if not is_in(file.address, left_out)]
    if not files:
        raise FileNotFoundError(f"There is no file {pattern} but those in {left_out}.")
    return files


def _pieces(file, part_bytes):
    if file.address.endswith(".gz"):
        ranges = [(0, None)]
    elif is_parquet(file.address):
        ranges = row_groups(file.address, part_bytes)
    else:
        starts = range(0, max(file.bytes, 1), part_bytes)
        ranges = [(start, min(start + part_bytes, file.bytes)) for start in starts]
    return [Piece(file.address, *each) for each in ranges]


def _aligned(sources, targets, part_bytes):
    """Pairs of pieces that begin with the same line."""
    for source, target in _paired(sources, targets):
        pairs = [((0, None), (0, None))]
        if not source.address.endswith(".gz") and not target.address.endswith(".gz"):
            pairs = cut_aligned(source.address, target.address, part_bytes)
        for source_range, target_range in pairs:
            yield Piece(source.address, *source_range), Piece(target.address, *target_range)


def _paired(sources, targets):
    if len(sources) != len(targets):
        raise CorpusError(
            "There must be as many files of sources as of targets. "
            f"Received: {len(sources)} like {sources[0].address}, {len(targets)} like "
            f"{targets[0].address}."
        )
    if any(is_parquet(file.address) for file in (*sources, *targets)):
        raise CorpusError(
            f"{sources[0].address}: a Parquet file holds both sides, in its columns `source` and "
            "`target`. Give one pattern."
        )
    return zip(sources, targets, strict=True)
