"""Lines of text files that cannot be used: told apart from the others, collected and described."""

import gzip
import io
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from aiayn_keras_light.text_files import (
    MAX_LINE_BYTES,
    CorpusError,
    Unpacked,
    as_json_line,
    check_corpus_file,
    check_is_text,
)

_BOM = b"\xef\xbb\xbf"
_MAX_REASONS = 4
_MAX_RANGES = 8
"""Maximum numbers of reasons, and of ranges of lines for a reason, in a message."""


@dataclass(frozen=True)
class BadLine:
    """A line that cannot be used.

    Attributes:
        reason: What is wrong with it.
        kind: Its kind: the reason without the numbers of this line. Defaults to the reason.
    """

    reason: str
    kind: str | None = field(default=None, compare=False)


class FoundBadLine(NamedTuple):
    """A `BadLine` and its place.

    Attributes:
        file: Path of the file.
        line: Number of the line, from 1.
        reason: What is wrong with it.
        kind: The kind of fault, see `BadLine`.
    """

    file: str
    line: int
    reason: str
    kind: str


def decode_line(line, size=None, max_line_bytes=MAX_LINE_BYTES):
    """Decodes the bytes of a line without its end.

    Args:
        line: Its bytes, or the beginning of them if it is too long.
        size: Number of all its bytes; that of `line` if not given.
        max_line_bytes: Maximum size of a line, in bytes.

    Returns:
        A string, or a `BadLine` if the line is not UTF-8 or too long.
    """
    size = len(line) if size is None else size
    if size > max_line_bytes:
        limit = f"a line must have at most {max_line_bytes:,} bytes"
        return BadLine(f"{limit}, it has {size:,}", limit)
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        return BadLine(f"not valid UTF-8 (byte 0x{line[error.start]:02x})", "not valid UTF-8")


def split_columns(line):
    """Splits a line, or `BadLine`, of a tab-separated file into a list of source and target."""
    if isinstance(line, BadLine):
        return [line]
    columns = line.split("\t")
    if len(columns) < 2:
        return [BadLine("expected `source<TAB>target`, found no tab")]
    return columns[:2]


def skip_line(file, stop=None):
    """Skips to the end of a line, in blocks, or to a position; returns the number of bytes."""
    skipped = 0
    while (stop is None or file.tell() < stop) and (line := file.readline(MAX_LINE_BYTES)):
        skipped += len(line)
        if line.endswith(b"\n"):
            break
    return skipped


def decoded_lines(file, name, position=0, stop=None, max_line_bytes=MAX_LINE_BYTES):
    """Decodes the lines of an open binary file, without their ends.

    Args:
        file: The file, at `position`.
        name: Its path or address, for errors.
        position: Number of bytes before the first line.
        stop: Position at which no further line begins; the end of the file if not given.
        max_line_bytes: Maximum size of a line, in bytes.

    Yields:
        Strings and `BadLine`s.

    Raises:
        CorpusError: If the file is packed, UTF-16 or UTF-32.
    """
    is_counted = position == 0
    line_number = 0
    while stop is None or position < stop:
        line = file.readline(max_line_bytes + 1)
        if not line or (position == 0 and line == _BOM):
            return
        line_number += 1
        place = f"line {line_number}" if is_counted else f"byte {position:,}"
        check_is_text(line, position == 0, name, f"{name}, {place}")
        size = len(line)
        if size > max_line_bytes and not line.endswith(b"\n"):
            size += skip_line(file)
        line = line.removeprefix(_BOM if position == 0 else b"")
        yield decode_line(line.removesuffix(b"\n").removesuffix(b"\r"), size, max_line_bytes)
        position += size


def stream_lines_and_bad(path, max_line_bytes=MAX_LINE_BYTES) -> Iterator:
    """Reads a text file like `stream_lines`, but goes on after a line that cannot be used.

    Args:
        path: A regular file, which is decompressed if its name ends in `.gz`.
        max_line_bytes: Maximum size of a line, in bytes.

    Yields:
        Strings and `BadLine`s.

    Raises:
        FileNotFoundError: If the file does not exist.
        OSError: If it is not a regular file.
        CorpusError: If it is a damaged gzip file, a gzip bomb, packed otherwise, UTF-16 or UTF-32.
    """
    check_corpus_file(path)
    with open(path, "rb") as file:
        is_packed = str(path).endswith(".gz")
        lines = Unpacked.open(file, path) if is_packed else io.BufferedReader(file)
        try:
            yield from decoded_lines(lines, path, max_line_bytes=max_line_bytes)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise CorpusError(
                f"{path}: not a complete gzip file ({error}). Copy or download it again."
            ) from error


def describe_bad_lines(bad, num_lines):
    """Describes bad lines in one sentence, with their numbers and reasons.

    Args:
        bad: Non-empty list of `FoundBadLine`s.
        num_lines: Number of all lines.

    Example:
    >>> reason = "not valid UTF-8"
    >>> describe_bad_lines([FoundBadLine("a.en", n, reason, reason) for n in (2, 3, 4, 9)], 20)
    '4 of 20 lines cannot be used: a.en, lines 2-4, 9: not valid UTF-8'
    """
    if len(bad) == 1:
        return f"{bad[0].file}, line {bad[0].line}: {bad[0].reason}"
    groups = {}
    for each in bad:
        groups.setdefault((each.file, each.kind), []).append(each)
    parts, last = [], None
    for (file, kind), found in groups.items():
        place = "" if file == last else f"{file}, "
        reason = found[0].reason if len(found) == 1 else kind
        parts.append(f"{place}{_ranges([each.line for each in found])}: {reason}")
        last = file
    more = [f"and {len(parts) - _MAX_REASONS} more kinds"] if len(parts) > _MAX_REASONS else []
    shown = "; ".join(parts[:_MAX_REASONS] + more)
    num_bad = len({each.line for each in bad})
    return f"{num_bad:,} of {num_lines:,} lines cannot be used: {shown}"


def _ranges(numbers):
    """Writes ascending line numbers as ranges."""
    ranges = []
    for number in numbers:
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    shown = ", ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in ranges[:_MAX_RANGES])
    rest = sum(b - a + 1 for a, b in ranges[_MAX_RANGES:])
    more = f" and {rest:,} more" if rest else ""
    return f"{'lines' if len(numbers) > 1 else 'line'} {shown}{more}"


def bad_lines_as_json(bad):
    """Writes `FoundBadLine`s as JSON lines of `file`, `line` and `reason`."""
    rows = ({"file": each.file, "line": each.line, "reason": each.reason} for each in bad)
    return "".join(f"{as_json_line(row)}\n" for row in rows)
