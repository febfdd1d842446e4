"""Read parallel text from disk: two aligned files, or one file of tab-separated pairs."""

import dataclasses
import gzip
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
        name: What to call this text in messages and logs.

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
    path = pathlib.Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"There is no corpus file {str(path)!r}.")
    data = path.read_bytes()
    if path.suffix == ".gz":
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise CorpusError(
                f"{path}: not a complete gzip file ({error}). Copy or download it again."
            ) from error
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise CorpusError(
            f"{path}, line {line}: not valid UTF-8 (byte 0x{data[error.start]:02x}). "
            "Convert the file to UTF-8."
        ) from error
    lines = text.removeprefix("\ufeff").split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def read_parallel(source_path, target_path=None, *, normalization="NFC") -> ParallelText:
    """Read aligned sentences from two files, or from one file of tab-separated columns.

    Args:
        source_path: File with one source sentence per line, plain or `.gz`. Without `target_path`,
            a file with at least two tab-separated columns: source, target. Further columns (the
            attribution of a Tatoeba export) are left out.
        target_path: File with the translations, line by line, or `None`.
        normalization: Unicode normal form of both sides: `"NFC"`, `"NFKC"`, `"NFD"`, `"NFKD"`,
            or `None` to leave the text as it is.

    Returns:
        A `ParallelText` named after the source file. No line is dropped, empty ones included:
        see `filter_pairs`.

    Raises:
        FileNotFoundError: If a file is missing.
        CorpusError: If the two files differ in their number of lines, a line of a tab-separated
            file has no tab, there is no line at all, or `read_lines` cannot read a file.
    """
    if normalization is not None and normalization not in NORMALIZATIONS:
        raise ValueError(
            f"`normalization` must be None or one of {', '.join(NORMALIZATIONS)}. "
            f"Received: normalization={normalization!r}."
        )
    if target_path is None:
        sources, targets = _read_columns(source_path)
    else:
        sources, targets = read_lines(source_path), read_lines(target_path)
        if len(sources) != len(targets):
            raise CorpusError(
                "Parallel files must have the same number of lines. "
                f"Received: {len(sources)} lines in {source_path}, "
                f"{len(targets)} lines in {target_path}."
            )
    if not sources:
        raise CorpusError(f"{source_path}: the corpus is empty.")
    if normalization is not None:
        sources = [unicodedata.normalize(normalization, line) for line in sources]
        targets = [unicodedata.normalize(normalization, line) for line in targets]
    return ParallelText(sources, targets, name=pathlib.Path(source_path).name)


def _read_columns(path) -> tuple[list[str], list[str]]:
    """The first two tab-separated columns of a file."""
    sources, targets = [], []
    for number, line in enumerate(read_lines(path), start=1):
        columns = line.split("\t")
        if len(columns) < 2:
            raise CorpusError(
                f"{path}, line {number}: expected `source<TAB>target`, found no tab. "
                "For two separate files, give `target_path` too."
            )
        sources.append(columns[0])
        targets.append(columns[1])
    return sources, targets
