"""Lines of text files."""

import codecs
import gzip
import pathlib
import zlib
from collections.abc import Iterator


class CorpusError(ValueError):
    """A corpus file that cannot be used; the message names the file and, if known, the line."""


def read_lines(path) -> list[str]:
    r"""Read one UTF-8 text file, plain or `.gz`, as a list of lines.

    Lines end at `\n` only, so that characters such as U+2028 or U+0085 inside a sentence do not
    shift the two sides of a corpus against each other. The `\r` of a `\r\n` and a byte order mark
    at the start of the file are removed.

    Args:
        path: The file. A name that ends in `.gz` is decompressed.

    Returns:
        The lines without their line ends; an empty list for an empty file.

    Raises:
        FileNotFoundError: If there is no such file.
        CorpusError: If the file is not UTF-8 (with the line) or its compression is damaged.
    """
    return list(stream_lines(path))


def stream_lines(path) -> Iterator[str]:
    """Gives the lines that `read_lines` reads, one by one.

    Args:
        path: The file, plain or `.gz`.

    Yields:
        The lines without their line ends.

    Raises:
        FileNotFoundError: If there is no such file.
        CorpusError: If the file is not UTF-8 (with the line) or its compression is damaged.
    """
    path = pathlib.Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"There is no corpus file {str(path)!r}.")
    number = 0
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        try:
            for number, line in enumerate(file, start=1):
                if number == 1 and line == codecs.BOM_UTF8:
                    return  # an empty file
                text = line.decode("utf-8").removesuffix("\n").removesuffix("\r")
                yield text.removeprefix("\ufeff") if number == 1 else text
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise CorpusError(
                f"{path}: not a complete gzip file ({error}). Copy or download it again."
            ) from error
        except UnicodeDecodeError as error:
            raise CorpusError(
                f"{path}, line {number}: not valid UTF-8 (byte 0x{error.object[error.start]:02x}). "
                "Convert the file to UTF-8."
            ) from error


def stream_columns(path) -> Iterator[tuple[str, str]]:
    """The first two tab-separated columns of a file."""
    for number, line in enumerate(stream_lines(path), start=1):
        columns = line.split("\t")
        if len(columns) < 2:
            raise CorpusError(
                f"{path}, line {number}: expected `source<TAB>target`, found no tab. "
                "For two separate files, give `target_path` too."
            )
        yield columns[0], columns[1]
