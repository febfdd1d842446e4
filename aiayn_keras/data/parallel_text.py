"""Read parallel text from disk: two aligned files, or one file of tab-separated pairs."""

import dataclasses
import pathlib
import unicodedata
from collections.abc import Iterator

from aiayn_keras.data.text_lines import CorpusError, read_lines, stream_columns

NORMALIZATIONS = ("NFC", "NFD", "NFKC", "NFKD")


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
        columns = list(stream_columns(source_path))
        sources, targets = zip(*columns, strict=True) if columns else ((), ())
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
