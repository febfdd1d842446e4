"""Text files read line by line with limits on their size, and rows in chunks and as fields."""

import codecs
import gzip
import io
import itertools
import json
import pathlib
import re
import zlib
from collections.abc import Iterator

from aiayn_keras_light.files import check_regular_file

MAX_ROWS = 10_000

_MAX_CHARACTERS = 10_000_000


MAX_LINE_BYTES = 1_000_000
"""Maximum size of a line, in bytes, including the line end."""
MAX_LINES = 10_000_000
"""Maximum number of lines kept in memory."""
_MAX_EXPANSION = 200
"""Maximum ratio of unpacked to compressed size; that of text is 3 to 20, of a gzip bomb 1,000."""
FREE_BYTES = 2_000_000
"""Unpacked bytes that are allowed at any ratio."""


class CorpusError(ValueError):
    """An invalid corpus file; the message names the file and, if known, the line."""


def read_lines(
    path, *, max_line_bytes: int = MAX_LINE_BYTES, max_lines: int = MAX_LINES
) -> list[str]:
    """Reads the lines of a text file into a list; see `stream_lines`.

    Args:
        path: The file.
        max_line_bytes: Maximum size of a line, in bytes.
        max_lines: Maximum number of lines.

    Returns:
        List of the lines without their line ends.

    Raises:
        CorpusError: If the file has more lines, and for the reasons given in `stream_lines`.
        OSError: If the file does not exist or is not a regular file.
    """
    lines = list(itertools.islice(stream_lines(path, max_line_bytes=max_line_bytes), max_lines + 1))
    check_number_of_lines(len(lines), path, max_lines)
    return lines


def check_number_of_lines(found, path, max_lines):
    """Raises a `CorpusError` if a file has too many lines to keep in memory."""
    if found > max_lines:
        raise CorpusError(
            f"{path}, line {max_lines + 1}: a file that is read into memory must have at most "
            f"{max_lines:,} lines. Split it, or use `aiayn-keras prepare` for a training text of "
            "any size."
        )


def stream_lines(
    path, *, max_line_bytes: int = MAX_LINE_BYTES, keep_ends: bool = False
) -> Iterator[str]:
    r"""Reads a UTF-8 text file, plain or `.gz`, one line at a time.

    Only `\n` ends a line, so characters such as U+2028 or U+0085 inside a sentence do not shift the
    two sides of a corpus relative to each other. A byte order mark at the beginning of the file and
    the `\r` in `\r\n` are removed.

    Args:
        path: A regular file, which is decompressed if its name ends in `.gz`.
        max_line_bytes: Maximum size of a line, in bytes, including the line end.
        keep_ends: Whether to keep the line ends.

    Yields:
        Lines, without their line ends unless `keep_ends` is true.

    Raises:
        FileNotFoundError: If the file does not exist.
        OSError: If it is not a regular file.
        CorpusError: If a line is not UTF-8 or is too long, or the compressed data are corrupt or a
            gzip bomb. It is raised when the line is reached.
    """
    path, number = pathlib.Path(path), 0
    check_corpus_file(path)
    with path.open("rb") as file:
        unpacked = Unpacked.open(file, path) if path.suffix == ".gz" else file
        try:
            while line := unpacked.readline(max_line_bytes + 1):
                number += 1
                if len(line) > max_line_bytes:
                    raise CorpusError(_too_long(f"{path}, line {number}", max_line_bytes))
                if number == 1 and line == codecs.BOM_UTF8:
                    return  # an empty file
                check_is_text(line, number == 1, path, f"{path}, line {number}")
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
                yield text if keep_ends else text.removesuffix("\n").removesuffix("\r")
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise CorpusError(
                f"{path}: not a complete gzip file ({error}). Copy or download it again."
            ) from error
        except UnicodeDecodeError as error:
            raise CorpusError(
                f"{path}, line {number}: not valid UTF-8 (byte 0x{error.object[error.start]:02x}). "
                "Convert the file to UTF-8."
            ) from error


_CONTROL = re.compile(rb"[\0-\x08\x0b\x0c\x0e-\x1f]")


_PACKERS = {
    b"\x1f\x8b": (
        "gzip",
        "unpack it, for example with `gunzip`, or give it a name that ends in .gz",
    ),
    b"BZh91AY&SY": ("bzip2", "unpack it, for example with `bunzip2`"),
    b"\xfd7zXZ\0": ("xz", "unpack it, for example with `unxz`"),
    b"\x28\xb5\x2f\xfd": ("zstd", "unpack it, for example with `unzstd`"),
    b"PK\x03\x04": ("zip, as tables and documents of office programs are", "export it as text"),
    b"PAR1": (
        "Parquet",
        "write its columns as lines of text, or give it to `aiayn-keras prepare` or `translate "
        "--output` under a name that ends in .parquet",
    ),
}
"""Beginnings of packed files, with the name of the program that packs them and what to do."""


def check_is_text(line, is_first, path, place):
    """Raises a `CorpusError` for a line that shows a file to be packed, UTF-16 or UTF-32.

    Without a byte order mark, UTF-16 and UTF-32 may be valid UTF-8 of other letters with U+0000
    among them.

    Args:
        line: Bytes up to a line feed, which in UTF-16 and UTF-32 has a zero before or after it.
        is_first: Whether it is the first line of its file, which may have a byte order mark.
        path: The file, for the error.
        place: File and line, for the error.
    """
    for beginning, (packer, remedy) in _PACKERS.items() if is_first else ():
        if line.startswith(beginning):
            raise CorpusError(f"{path}: not text, but packed by {packer}: {remedy}.")
    text = line.removesuffix(b"\n").removesuffix(b"\r")
    is_marked = is_first and line.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    has_zero = text.startswith(b"\0") or text.endswith(b"\0")
    # Half of the line feed's zero makes it odd. Other zeros, or the upper bytes of other alphabets,
    # tell it from UTF-8 with a stray zero at its end.
    inner = text[1:] if text.startswith(b"\0") else text[:-1]
    is_odd = len(text) % 2 == 1 and _CONTROL.search(inner)
    is_odd = is_odd or 3 * text.count(0) >= len(text)
    if is_marked or (has_zero and is_odd and text.strip(b"\0\r")):
        raise CorpusError(
            f"{place}: not UTF-8, but UTF-16 or UTF-32 by the look of it. Convert the file, as by "
            "`iconv -f UTF-16 -t UTF-8`."
        )


def check_corpus_file(path):
    """Raises an `OSError` unless `path` is a regular file or a link to one."""
    try:
        check_regular_file(path)
    except FileNotFoundError:
        is_relative = not pathlib.Path(path).is_absolute()
        place = f" in the current folder, {str(pathlib.Path.cwd())!r}" if is_relative else ""
        raise FileNotFoundError(f"Corpus file {str(path)!r} does not exist{place}.") from None


def _too_long(place, max_line_bytes):
    return (
        f"{place}: a line must have at most {max_line_bytes:,} bytes. "
        "Write one sentence per line, or split the text."
    )


class Unpacked(io.RawIOBase):
    """The decompressed bytes of an open `.gz` file; a gzip bomb raises a `CorpusError`."""

    def __init__(self, file, path):
        self._file, self._path, self._bytes = file, path, 0
        self._gzip = gzip.GzipFile(fileobj=file)

    @classmethod
    def open(cls, file, path):
        """Returns the bytes as a buffered file that can be read line by line."""
        return io.BufferedReader(cls(file, path), 2**17)

    def readable(self):
        return True

    def readinto(self, buffer):
        count = self._gzip.readinto(buffer)
        self._bytes += count
        if self._bytes > FREE_BYTES and self._bytes > _MAX_EXPANSION * self._file.tell():
            raise CorpusError(
                f"{self._path}: the unpacked file is over {_MAX_EXPANSION} times as large, which "
                "is unusual for text. If it really is text, unpack it and use the unpacked file."
            )
        return count


def chunk_rows(rows, max_rows=MAX_ROWS, max_characters=_MAX_CHARACTERS):
    """Cuts an iterable of rows into lists, without reading further than the current one.

    Args:
        rows: Iterable of tuples of strings.
        max_rows: Maximum number of rows in a list.
        max_characters: Number of characters at which a list ends, after the row that reaches it.

    Yields:
        Lists of at least one row, in order.

    Example:
    >>> list(chunk_rows([("a",), ("b",), ("c",)], max_rows=2))
    [[('a',), ('b',)], [('c',)]]
    """
    chunk, characters = [], 0
    for row in rows:
        chunk.append(row)
        characters += sum(map(len, row))
        if len(chunk) == max_rows or characters >= max_characters:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk


def without_breaks(text):
    """Replaces each tab and line break by a space, so that the text is one field of one line."""
    return re.sub(r"[\t\n\v\f\r]", " ", text)


def as_json_line(value):
    """Writes a value as JSON in one line, even for readers that end lines at U+2028 and others.

    Such readers are Python's `str.splitlines` and Node's `readline`.

    Args:
        value: Anything that `json.dumps` takes.
    """
    text = json.dumps(value, ensure_ascii=False)
    return re.sub("[\x85\u2028\u2029]", lambda match: f"\\u{ord(match[0]):04x}", text)
