"""Parallel text, and how it is read: two aligned files, or one file of tab-separated pairs."""

import codecs
import dataclasses
import gzip
import itertools
import pathlib
import unicodedata
import zlib
from collections.abc import Iterator

NORMALIZATIONS = ("NFC", "NFD", "NFKC", "NFKD")


class CorpusError(ValueError):
    """A corpus file that cannot be used; the message names the file and, if known, the line."""


@dataclasses.dataclass(frozen=True, repr=False)
class ParallelText:
    """Aligned sentences of two languages.

    Args:
        sources: The source sentences, in order.
        targets: The target sentences; `targets[i]` translates `sources[i]`.
        name: Name of this text in messages and logs.

    Raises:
        CorpusError: If the two sides do not have the same number of sentences.

    Example:
    >>> text = ParallelText(["a cat", "a dog"], ["eine Katze", "ein Hund"], name="pets")
    >>> len(text), text[1]
    (2, ('a dog', 'ein Hund'))
    >>> text[:1]
    ParallelText(name='pets', pairs=1)
    """

    sources: tuple[str, ...]
    targets: tuple[str, ...]
    name: str = "text"

    def __post_init__(self):
        """Freeze both sides and compare their lengths."""
        object.__setattr__(self, "sources", tuple(self.sources))
        object.__setattr__(self, "targets", tuple(self.targets))
        if len(self.sources) != len(self.targets):
            raise CorpusError(
                "`sources` and `targets` must have the same number of sentences. "
                f"Received: {len(self.sources)} sources, {len(self.targets)} targets "
                f"(name={self.name!r})."
            )

    def __len__(self) -> int:
        return len(self.sources)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return zip(self.sources, self.targets, strict=True)

    def __getitem__(self, index):
        """The pair at `index`, or a `ParallelText` for a slice."""
        if isinstance(index, slice):
            return ParallelText(self.sources[index], self.targets[index], self.name)
        return self.sources[index], self.targets[index]

    def __repr__(self) -> str:
        return f"ParallelText(name={self.name!r}, pairs={len(self)})"


def read_parallel(source_path, target_path=None, *, normalization="NFC") -> ParallelText:
    """Reads the pairs of `stream_parallel` into a `ParallelText` named after the source file.

    Raises:
        CorpusError: If there is no line at all, or as `stream_parallel` does.
    """
    pairs = list(stream_parallel(source_path, target_path, normalization=normalization))
    if not pairs:
        raise CorpusError(f"{source_path}: the corpus is empty.")
    return ParallelText(*zip(*pairs, strict=True), name=pathlib.Path(source_path).name)


def stream_parallel(source_path, target_path=None, *, normalization="NFC") -> Iterator:
    """Gives aligned sentences one pair at a time, for corpora larger than memory.

    No line is dropped, empty ones included: see `filter_pairs`.

    Args:
        source_path: File with one source sentence per line, plain or `.gz`. Without `target_path`,
            a file with at least two tab-separated columns: source, target. Further columns (the
            attribution of a Tatoeba export) are left out.
        target_path: File with the translations, line by line, or `None`.
        normalization: Unicode normal form of both sides: `"NFC"`, `"NFKC"`, `"NFD"`, `"NFKD"`,
            or `None` to leave the text as it is.

    Yields:
        Tuples of source and target sentence.

    Raises:
        FileNotFoundError: If a file is missing.
        CorpusError: When the line is reached: if the two files differ in their number of lines, a
            line of a tab-separated file has no tab, or `read_lines` cannot read a file.
        ValueError: If `normalization` is not known.
    """
    if normalization is not None and normalization not in NORMALIZATIONS:
        raise ValueError(
            f"`normalization` must be None or one of {', '.join(NORMALIZATIONS)}. "
            f"Received: normalization={normalization!r}."
        )
    pairs = _columns(source_path) if target_path is None else _aligned(source_path, target_path)
    for pair in pairs:
        if normalization is not None:
            pair = tuple(unicodedata.normalize(normalization, side) for side in pair)
        yield pair


def read_lines(path) -> list[str]:
    r"""Reads one UTF-8 text file, plain or `.gz`, as a list of lines.

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
    return list(_stream_lines(path))


def _stream_lines(path):
    path = pathlib.Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"There is no corpus file {str(path)!r}.")
    number = 0
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        try:
            for number, line in enumerate(file, start=1):
                if number == 1 and line == codecs.BOM_UTF8:
                    return  # an empty file
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
                yield text.removesuffix("\n").removesuffix("\r")
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
    for number, line in enumerate(_stream_lines(path), start=1):
        columns = line.split("\t")
        if len(columns) < 2:
            raise CorpusError(
                f"{path}, line {number}: expected `source<TAB>target`, found no tab. "
                "For two separate files, give `target_path` too."
            )
        yield columns[0], columns[1]


def _aligned(*paths):
    """The lines of two files, side by side."""
    files = [_stream_lines(path) for path in paths]
    for number, pair in enumerate(itertools.zip_longest(*files), start=1):
        if None in pair:
            counts = [
                number - (line is None) + sum(1 for _ in file)
                for line, file in zip(pair, files, strict=True)
            ]
            raise CorpusError(
                "Parallel files must have the same number of lines. "
                f"Received: {counts[0]} lines in {paths[0]}, {counts[1]} lines in {paths[1]}."
            )
        yield pair
