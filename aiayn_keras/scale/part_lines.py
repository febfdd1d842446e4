"""The lines and pairs of a part, of text or Parquet files.

Unusable ones are reported and do not end the job.
"""

import contextlib
import gzip
import io
import itertools
import unicodedata
import zlib

from aiayn_keras.common.bad_lines import (
    BadLine,
    decode_line,
    decoded_lines,
    skip_line,
    split_columns,
)
from aiayn_keras.common.file_addresses import INSTALL, file_system
from aiayn_keras.common.found_files import unchanged
from aiayn_keras_light.text_files import CorpusError, Unpacked

_ROWS_PER_BATCH = 256
"""Rows of Parquet in memory at a time: a few bytes in a file may stand for many long ones."""


def is_parquet(address):
    """Returns whether an address ends like that of a Parquet file."""
    return address.endswith(".parquet")


def row_groups(address, part_bytes):
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


_SIDES = ("source", "target")
"""Columns of a Parquet file of pairs."""


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
