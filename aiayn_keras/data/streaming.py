"""Parallel text read line by line, for corpora that are larger than memory."""

import gzip
import itertools
import pathlib
import unicodedata
import zlib
from collections.abc import Iterator

from aiayn_keras.data.parallel_text import CorpusError


def stream_parallel(source_path, target_path=None, *, normalization="NFC") -> Iterator:
    """Gives the pairs that `read_parallel` reads, one by one.

    Args:
        source_path: File with one source sentence per line, plain or `.gz`; without `target_path`
            a file of tab-separated columns.
        target_path: File with the translations, line by line, or `None`.
        normalization: Unicode normal form of both sides.

    Yields:
        Tuples of source and target sentence.

    Raises:
        FileNotFoundError: If a file is missing.
        CorpusError: As `read_parallel`, when the line is reached.
    """
    if target_path is None:
        pairs = _columns(source_path)
    else:
        pairs = itertools.zip_longest(stream_lines(source_path), stream_lines(target_path))
    for number, (source, target) in enumerate(pairs, start=1):
        if source is None or target is None:
            longer, shorter = (source_path, target_path)[:: -1 if source is None else 1]
            raise CorpusError(
                "Parallel files must have the same number of lines. "
                f"Received: {number - 1} lines in {shorter}, more in {longer}."
            )
        yield tuple(unicodedata.normalize(normalization, side) for side in (source, target))


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


def _columns(path):
    """The first two tab-separated columns of a file."""
    for number, line in enumerate(stream_lines(path), start=1):
        columns = line.split("\t")
        if len(columns) < 2:
            raise CorpusError(
                f"{path}, line {number}: expected `source<TAB>target`, found no tab. "
                "For two separate files, give `target_path` too."
            )
        yield columns[0], columns[1]
