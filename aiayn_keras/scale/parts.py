"""Files cut into parts; one worker processes a part, and its results are written together.

As in Hadoop and Spark, a plain text file is cut at bytes, and a line belongs to the part in which
it begins. A compressed file is one part because it can only be read from its beginning. A Parquet
file is cut between its row groups. Two aligned text files are cut at the same lines.

Pairs of source and target files meet by their names. What the wildcards of the two patterns match
must be the same in both names of a pair (`part-*.en` and `part-*.de`); or else the words and
numbers in which the files of one side differ (`en/*` and `de/*` with `en/news-1.en` and
`de/news-1.de`).

Lines and pairs that cannot be used are reported, and do not end the job.
"""

import contextlib
import gzip
import io
import itertools
import re
import unicodedata
import zlib
from dataclasses import dataclass

import numpy as np

from aiayn_keras.common.bad_lines import (
    BadLine,
    decode_line,
    decoded_lines,
    skip_line,
    split_columns,
)
from aiayn_keras.common.file_addresses import INSTALL, address_in, file_system, is_in
from aiayn_keras.common.found_files import FoundFile, find_files, unchanged
from aiayn_keras_light.text_files import CorpusError, Unpacked

_ROWS_PER_BATCH = 256
"""Rows of Parquet in memory at a time: a few bytes in a file may stand for many long ones."""
_SIDES = ("source", "target")
"""Columns of a Parquet file of pairs."""
_WILDCARD = re.compile(r"(\*\*/|\*+|\?|\[.[^/\]]*\])")
_MAX_NAMED = 4
"""Maximum number of names in an error."""
PART_BYTES = 1_000_000
"""Size of a part of plain text: some 10,000 sentences."""
MAX_PARTS = 100_000
"""Parts are made larger rather than more numerous: the files of each have to be listed."""
_BLOCK = 1 << 23
"""Number of bytes searched for line ends at a time."""


def is_parquet(address):
    """Returns whether an address ends like that of a Parquet file."""
    return address.endswith(".parquet")


def _row_groups(address, part_bytes):
    """Ranges of row groups that each have at least `part_bytes`, except the last one.

    Raises:
        CorpusError: If the file is not a whole Parquet file.
        ImportError: If pyarrow is not installed.
    """
    ranges, start, size = [], 0, 0
    with _opened(address) as parquet:
        groups = [parquet.metadata.row_group(n) for n in range(parquet.num_row_groups)]
    for number, group in enumerate(groups, start=1):
        size += group.total_byte_size
        if size >= part_bytes or number == len(groups):
            ranges.append((start, number))
            start, size = number, 0
    return ranges


def _read_rows(address, start, stop, columns):
    """Yields the rows of a range of row groups as tuples, in the order of `columns`.

    Strings are given as bytes, which may not be valid UTF-8; other values as Python's.

    Raises:
        CorpusError: If the file lacks a column, has two of its name, or is damaged.
        ImportError: If pyarrow is not installed.
    """
    with _opened(address) as parquet:
        names = parquet.schema_arrow.names
        for column in columns:
            if names.count(column) != 1:
                number = "no" if column not in names else f"{names.count(column)} times the"
                remedy = " Name one of them (`column`, --columns)." if len(columns) == 1 else ""
                raise CorpusError(
                    f"{address} has {number} column {column!r}. Its columns: {', '.join(names)}."
                    f"{remedy}"
                )
        for batch in parquet.iter_batches(
            _ROWS_PER_BATCH, row_groups=range(start, stop), columns=columns
        ):
            yield from zip(*(_values(batch.column(name)) for name in columns), strict=True)


def _values(column):
    """The values of a `pyarrow.Array`, with strings as bytes."""
    import pyarrow

    if isinstance(column, pyarrow.ExtensionArray):
        column = column.storage
    if pyarrow.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pyarrow.types.is_string_view(column.type):
        column = column.view(pyarrow.binary_view())
    if pyarrow.types.is_string(column.type) or pyarrow.types.is_large_string(column.type):
        column = column.cast(pyarrow.large_binary())
    try:
        return column.to_pylist()
    except (OverflowError, ValueError):  # such as a time that Python does not have
        return [_python_value(scalar) for scalar in column]


def _python_value(scalar):
    try:
        return scalar.as_py()
    except (OverflowError, ValueError):
        return scalar.type  # not text either


@contextlib.contextmanager
def _opened(address):
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError(f"{address} cannot be read: {error}. Install it: {INSTALL}") from error
    system, path = file_system(address)
    try:
        # An open file: pyarrow has its own ideas of what a path may be.
        with system.open(path, "rb") as opened, parquet.ParquetFile(opened) as file:
            yield file
    except (pyarrow.ArrowInvalid, OSError) as error:
        if isinstance(error, OSError) and (type(error) is not OSError or error.errno is not None):
            raise  # from the file system; errors about damage have no number
        reason = " ".join(str(error).split())[:200]
        raise CorpusError(f"{address} is not a whole Parquet file: {reason}") from error


def read_lines(part, column="text"):
    """Yields the lines of a part, without their ends.

    Args:
        part: A `Part` of one piece.
        column: Name of the column of a Parquet file.

    Yields:
        Strings, and a `BadLine` for each line that is not UTF-8 or is too long.

    Raises:
        CorpusError: If the file is damaged, so that the rest of it cannot be read, or has changed
            since it was found.
    """
    (piece,) = part.pieces
    with unchanged(piece.file):
        if is_parquet(piece.address):
            for (value,) in _read_rows(piece.address, piece.start, piece.stop, [column]):
                yield _text_of(value)
        else:
            yield from _piece_lines(piece)


def read_pairs(part):
    """Yields the pairs of a part of two aligned files, of tab-separated lines or of Parquet.

    Both sides are brought into Unicode's normal form NFC, as in `stream_parallel`.

    Args:
        part: A `Part`.

    Yields:
        Tuples of source and target, and a `BadLine` for each line with an unusable side.

    Raises:
        CorpusError: If a file is damaged, so that the rest of it cannot be read, or aligned files
            differ in their number of lines, or a file has changed since it was found.
    """
    pieces = part.pieces
    if len(pieces) == 2:
        rows = _aligned(pieces)
    elif is_parquet(pieces[0].address):
        rows = _read_rows(pieces[0].address, pieces[0].start, pieces[0].stop, _SIDES)
        rows = (tuple(map(_text_of, row)) for row in rows)
    else:
        rows = map(split_columns, _piece_lines(pieces[0]))
    with unchanged(*(piece.file for piece in pieces)):
        for row in rows:
            bad = next((side for side in row if isinstance(side, BadLine)), None)
            yield bad or tuple(unicodedata.normalize("NFC", side) for side in row)


def _aligned(pieces):
    for pair in itertools.zip_longest(*map(_piece_lines, pieces)):
        if None in pair:
            addresses = (piece.address for piece in pieces)
            raise CorpusError(
                f"Parallel files must have the same number of lines: {' and '.join(addresses)} "
                "differ."
            )
        yield pair


def _text_of(value):
    if isinstance(value, str):
        value = value.encode()
    if isinstance(value, bytes):
        return decode_line(value)
    return BadLine(f"not text: {value!r:.40}", "not text")


def _piece_lines(piece):
    """The lines that begin in a piece of a text file."""
    system, path = file_system(piece.address)
    with system.open(path, "rb") as file:
        is_packed = piece.address.endswith(".gz")
        lines = Unpacked.open(file, piece.address) if is_packed else io.BufferedReader(file)
        try:
            yield from _lines(lines, piece)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise CorpusError(
                f"{piece.address}: not a complete gzip file ({error}). Copy or download it again."
            ) from error


def _lines(file, piece):
    position, stop = piece.start, piece.stop
    if position:  # skip the line that began in the piece before, even if it ends after this one
        file.seek(position - 1)
        position += skip_line(file, stop) - 1
    return decoded_lines(file, piece.address, position, stop)


def pair_files(patterns, sides):
    """Pairs the files of two patterns.

    Args:
        patterns: The patterns of the sources and of the targets, as in `find_files`.
        sides: The two lists of `FoundFile`s.

    Returns:
        List of tuples of a source and a target file, in the order of the sources.

    Raises:
        CorpusError: If a file has no partner.
    """
    names = [[file.address for file in side] for side in sides]
    matched = [
        _matched_by_wildcards(pattern, side) for pattern, side in zip(patterns, names, strict=True)
    ]
    keys = [_differing_words(side) for side in names]
    if [len(side) for side in sides] == [1, 1]:  # a single name differs from no other
        if not all(matched):  # without wildcards, both files were named
            return list(zip(*sides, strict=True))
        keys = matched
    for sources, targets in (matched, keys):
        if None not in (sources, targets) and set(sources) == set(targets):
            partners = dict(zip(targets, sides[1], strict=True))
            return [(file, partners[key]) for key, file in zip(sources, sides[0], strict=True)]
    raise CorpusError(
        "There must be the same number of source and target files, and what differs between the "
        "names of one side must be the same on the other. Received: "
        f"{len(names[0])} like {names[0][0]}, {len(names[1])} like {names[1][0]}."
        f"{_without_partner(names, matched if all(matched) else keys)}"
    )


def _without_partner(names, keys):
    """Sentence that names files whose key the other side does not have."""
    alone = [
        name
        for own, other, side in ((keys[0], keys[1], names[0]), (keys[1], keys[0], names[1]))
        for key, name in zip(own, side, strict=True)
        if key not in set(other)
    ]
    more = f" and {len(alone) - _MAX_NAMED} more" if len(alone) > _MAX_NAMED else ""
    return f" Without a partner: {', '.join(alone[:_MAX_NAMED])}{more}." if alone else ""


def _matched_by_wildcards(pattern, names):
    """Tuples of what the wildcards of a pattern match in names; None if it has no wildcards."""
    literals = _WILDCARD.split(address_in(*file_system(pattern)))
    expression = "".join(
        _group_of(part) if place % 2 else re.escape(part) for place, part in enumerate(literals)
    )
    matches = [re.fullmatch(expression, name, re.DOTALL) for name in names]
    # A name with brackets may exist as it is.
    return [match.groups() for match in matches] if all(matches) and len(literals) > 1 else None


def _group_of(wildcard):
    if wildcard == "**/":
        return "((?:[^/]+/)*)"
    return "([^/]*)" if wildcard.startswith("*") else "([^/])"


def _differing_words(names):
    """Names without the beginning and the end that all share; words and numbers stay whole."""
    beginning = _without_last_word(_shared_beginning(names))
    rests = [name[len(beginning) :] for name in names]
    ending = _without_last_word(_shared_beginning([rest[::-1] for rest in rests]))
    return [rest[: len(rest) - len(ending)] for rest in rests]


def _shared_beginning(texts):
    first, last = min(texts), max(texts)  # what these two share, all share
    pairs = enumerate(zip(first, last, strict=False))
    return first[: next((place for place, (a, b) in pairs if a != b), len(first))]


def _without_last_word(text):
    """The text without its last word or number, which may be cut off."""
    end = len(text)
    while end and text[end - 1].isalnum():
        end -= 1
    return text[:end]


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
        FileNotFoundError: If no file matches.
        CorpusError: For a damaged Parquet file, or aligned files that differ in their names or in
            their number of lines.
    """
    sides = [_found(pattern, left_out) for pattern in patterns]
    part_bytes = max(part_bytes, sum(file.bytes for file in sides[0]) // MAX_PARTS)
    if len(sides) == 2:
        cuts = _aligned_files(patterns, sides, part_bytes)
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
        ranges = _row_groups(file.address, part_bytes)
    else:
        starts = range(0, max(file.bytes, 1), part_bytes)
        ranges = [(start, min(start + part_bytes, file.bytes)) for start in starts]
    return [Piece(file, *each) for each in ranges]


def _aligned_files(patterns, sides, part_bytes):
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
