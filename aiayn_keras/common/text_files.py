"""Text files, plain or compressed, read line by line within limits."""

import codecs
import gzip
import io
import itertools
import pathlib
import zlib
from collections.abc import Iterator

from aiayn_keras.common.files import check_regular_file

MAX_LINE_BYTES = 1_000_000
"""Greatest size of a line, its end included."""
MAX_LINES = 10_000_000
"""Greatest number of lines that are held in memory."""
MAX_EXPANSION = 200
"""Times that a compressed file may grow; text grows by 3 to 20, a gzip bomb by 1,000."""
FREE_BYTES = 2_000_000
"""Unpacked bytes up to which a file may grow more than that."""


class CorpusError(ValueError):
    """A corpus file that cannot be used; the message names the file and, if known, the line."""


def read_lines(
    path, *, max_line_bytes: int = MAX_LINE_BYTES, max_lines: int = MAX_LINES
) -> list[str]:
    """Reads the lines of `stream_lines` into a list.

    Args:
        path: The file.
        max_line_bytes: Greatest size of a line.
        max_lines: Greatest number of lines.

    Returns:
        The lines without their line ends; an empty list for an empty file.

    Raises:
        CorpusError: If the file has more lines, or as `stream_lines` does.
        OSError: As `stream_lines` does.
    """
    lines = list(itertools.islice(stream_lines(path, max_line_bytes=max_line_bytes), max_lines + 1))
    check_number_of_lines(len(lines), path, max_lines)
    return lines


def check_number_of_lines(found, path, max_lines):
    """Raises a `CorpusError` if a file has more lines than are held in memory."""
    if found > max_lines:
        raise CorpusError(
            f"{path}, line {max_lines + 1}: a file that is held in memory must have at most "
            f"{max_lines:,} lines. Split it; a training text of any size can be read by "
            "`aiayn-keras prepare`."
        )


def stream_lines(
    path, *, max_line_bytes: int = MAX_LINE_BYTES, keep_ends: bool = False
) -> Iterator[str]:
    r"""Gives the lines of a UTF-8 text file, plain or `.gz`, one at a time.

    Lines end at `\n` only, so that characters such as U+2028 or U+0085 inside a sentence do not
    shift the two sides of a corpus against each other. The `\r` of a `\r\n` and a byte order mark
    at the start of the file are removed.

    Args:
        path: The file, a regular one. A name that ends in `.gz` is decompressed.
        max_line_bytes: Greatest size of a line in bytes, its end included.
        keep_ends: Whether to give the lines with their line ends.

    Yields:
        The lines without their line ends, if these are not kept.

    Raises:
        FileNotFoundError: If there is no such file.
        OSError: If it is no regular file.
        CorpusError: When the line is reached: if it is not UTF-8 or too long, or the compression
            is damaged or that of a gzip bomb.
    """
    path, number = pathlib.Path(path), 0
    _check_corpus_file(path)
    with path.open("rb") as file:
        unpacked = Unpacked.open(file, path) if path.suffix == ".gz" else file
        try:
            while line := unpacked.readline(max_line_bytes + 1):
                number += 1
                if len(line) > max_line_bytes:
                    raise CorpusError(_too_long(f"{path}, line {number}", max_line_bytes))
                if number == 1 and line == codecs.BOM_UTF8:
                    return  # an empty file
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


def _check_corpus_file(path):
    try:
        check_regular_file(path)
    except FileNotFoundError:
        raise FileNotFoundError(f"There is no corpus file {str(path)!r}.") from None


def _too_long(place, max_line_bytes):
    return (
        f"{place}: a line must have at most {max_line_bytes:,} bytes. "
        "Write one sentence a line, or split the text."
    )


class Unpacked(io.RawIOBase):
    """The decompressed bytes of an open `.gz` file, refused where they are too many for text."""

    def __init__(self, file, path):
        self._file, self._path, self._bytes = file, path, 0
        self._gzip = gzip.GzipFile(fileobj=file)

    @classmethod
    def open(cls, file, path):
        """The bytes as a buffered file, whose lines can be read."""
        return io.BufferedReader(cls(file, path), 2**17)

    def readable(self):
        return True

    def readinto(self, buffer):
        count = self._gzip.readinto(buffer)
        self._bytes += count
        if self._bytes > FREE_BYTES and self._bytes > MAX_EXPANSION * self._file.tell():
            raise CorpusError(
                f"{self._path}: unpacked, the file is more than {MAX_EXPANSION} times as large, "
                "which no text is. If it is one, unpack it and give the unpacked file."
            )
        return count
