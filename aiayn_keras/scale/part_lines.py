"""The lines of a part; those that cannot be used are told, not fatal."""

import gzip
import zlib
from dataclasses import dataclass

from aiayn_keras.data.text_files import MAX_LINE_BYTES, CorpusError, Unpacked
from aiayn_keras.scale.addresses import file_system
from aiayn_keras.scale.parts import PARQUET, open_parquet

BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class BadLine:
    """A line that cannot be used.

    Attributes:
        reason: What is wrong with it.
    """

    reason: str


def read_part(part, column="text"):
    """Gives the lines of a part, without their ends.

    Args:
        part: A `Part`.
        column: Name of the column of a Parquet file.

    Yields:
        Strings, and a `BadLine` for each line that is not UTF-8, or too long.

    Raises:
        CorpusError: If the file is damaged, so that its further lines are lost.
    """
    if part.address.endswith(PARQUET):
        yield from _rows(part, column)
        return
    system, path = file_system(part.address)
    with system.open(path, "rb") as file:
        compressed = part.address.endswith(".gz")
        yield from _lines(Unpacked.open(file, part.address) if compressed else file, part)


def _lines(file, part):
    position = part.start
    if position:  # the line that began in the part before
        file.seek(position - 1)
        position += _skip_line(file) - 1
    try:
        while part.stop is None or position < part.stop:
            line = file.readline(MAX_LINE_BYTES + 1)
            if not line:
                return
            size = len(line)
            if size > MAX_LINE_BYTES and not line.endswith(b"\n"):
                size += _skip_line(file)
            yield _text(line, size, first=position == 0)
            position += size
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise CorpusError(
            f"{part.address}: not a complete gzip file ({error}). Copy or download it again."
        ) from error


def _skip_line(file):
    """Reads to the end of a line, in pieces; the number of its bytes."""
    skipped = 0
    while line := file.readline(MAX_LINE_BYTES):
        skipped += len(line)
        if line.endswith(b"\n"):
            break
    return skipped


def _text(line, size, first):
    if size > MAX_LINE_BYTES:
        return BadLine(f"a line must have at most {MAX_LINE_BYTES:,} bytes, it has {size:,}")
    try:
        text = line.removeprefix(BOM if first else b"").decode("utf-8")
    except UnicodeDecodeError as error:
        return BadLine(f"not valid UTF-8 (byte 0x{line[error.start]:02x})")
    return text.removesuffix("\n").removesuffix("\r")


def _rows(part, column):
    with open_parquet(part.address) as parquet:
        if column not in parquet.schema_arrow.names:
            names = ", ".join(parquet.schema_arrow.names)
            raise CorpusError(f"{part.address} has no column {column!r}. Its columns: {names}.")
        groups = list(range(part.start, part.stop))
        for batch in parquet.iter_batches(row_groups=groups, columns=[column]):
            for value in batch.column(0).to_pylist():
                yield value if isinstance(value, str) else BadLine(f"no text: {value!r:.40}")
