"""Parallel text, and how it is read: two aligned files, or one file of tab-separated pairs."""

import dataclasses
import hashlib
import itertools
import pathlib
import unicodedata
from collections.abc import Iterator

from aiayn_keras.common.text_files import (
    MAX_LINE_BYTES,
    MAX_LINES,
    CorpusError,
    check_number_of_lines,
    stream_lines,
)

NORMALIZATIONS = ("NFC", "NFD", "NFKC", "NFKD")


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


def read_parallel(
    source_path,
    target_path=None,
    *,
    normalization="NFC",
    max_line_bytes: int = MAX_LINE_BYTES,
    max_lines: int = MAX_LINES,
) -> ParallelText:
    """Reads the pairs of `stream_parallel` into a `ParallelText` named after the source file.

    Args:
        source_path: As in `stream_parallel`.
        target_path: As in `stream_parallel`.
        normalization: As in `stream_parallel`.
        max_line_bytes: As in `stream_parallel`.
        max_lines: Greatest number of pairs.

    Raises:
        CorpusError: If there is no line at all or more than `max_lines`, or as `stream_parallel`
            does.
    """
    options = {"normalization": normalization, "max_line_bytes": max_line_bytes}
    sources, targets = [], []
    stream = stream_parallel(source_path, target_path, **options)
    for source, target in itertools.islice(stream, max_lines + 1):
        sources.append(source)
        targets.append(target)
    check_number_of_lines(len(sources), source_path, max_lines)
    if not sources:
        raise CorpusError(f"{source_path}: the corpus is empty.")
    return ParallelText(sources, targets, name=pathlib.Path(source_path).name)


def stream_parallel(
    source_path, target_path=None, *, normalization="NFC", max_line_bytes: int = MAX_LINE_BYTES
) -> Iterator:
    """Gives aligned sentences one pair at a time, for corpora larger than memory.

    No line is dropped, empty ones included: see `filter_pairs`.

    Args:
        source_path: File with one source sentence per line, plain or `.gz`. Without `target_path`,
            a file with at least two tab-separated columns: source, target. Further columns (the
            attribution of a Tatoeba export) are left out.
        target_path: File with the translations, line by line, or `None`.
        normalization: Unicode normal form of both sides: `"NFC"`, `"NFKC"`, `"NFD"`, `"NFKD"`,
            or `None` to leave the text as it is.
        max_line_bytes: Greatest size of a line in bytes.

    Yields:
        Tuples of source and target sentence.

    Raises:
        FileNotFoundError: If a file is missing.
        OSError: If a file is no regular file.
        CorpusError: When the line is reached: if the two files differ in their number of lines, a
            line of a tab-separated file has no tab, or `stream_lines` cannot read a file.
        ValueError: If `normalization` is not known.
    """
    if normalization is not None and normalization not in NORMALIZATIONS:
        raise ValueError(
            f"`normalization` must be None or one of {', '.join(NORMALIZATIONS)}. "
            f"Received: normalization={normalization!r}."
        )
    paths = [path for path in (source_path, target_path) if path is not None]
    files = [stream_lines(path, max_line_bytes=max_line_bytes) for path in paths]
    pairs = _columns(*paths, *files) if target_path is None else _aligned(paths, files)
    if normalization is None:
        yield from pairs
        return
    for source, target in pairs:
        yield (
            unicodedata.normalize(normalization, source),
            unicodedata.normalize(normalization, target),
        )


def _columns(path, lines):
    """The first two tab-separated columns of a file."""
    for number, line in enumerate(lines, start=1):
        columns = line.split("\t")
        if len(columns) < 2:
            raise CorpusError(
                f"{path}, line {number}: expected `source<TAB>target`, found no tab. "
                "For two separate files, give `target_path` too."
            )
        yield columns[0], columns[1]


def _aligned(paths, files):
    """The lines of two files, side by side."""
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


SPLITS = ("train", "validation", "test")


def split_of(sentence: str, held_out: float) -> str:
    """The split a sentence belongs to, by BLAKE2b of its letters and digits.

    Case, spaces and punctuation do not count: "Hello!" and "hello" fall into the same split.

    Args:
        sentence: The sentence.
        held_out: Share of sentences for validation, and again for test, in [0, 0.5].

    Returns:
        `"train"`, `"validation"` or `"test"`.
    """
    digest = hashlib.blake2b(letters_of(sentence).encode(), digest_size=8).digest()
    place = int.from_bytes(digest, "big") / 2**64
    if place < held_out:
        return "validation"
    return "test" if place < 2 * held_out else "train"


def splits_by_component(pairs, held_out: float) -> list[str]:
    """The split of every pair, such that no two splits share a sentence on either side.

    Pairs are connected if they have the same source or the same target, by letters and digits. The
    connected components of this graph stay whole. The first source of a component, in the order of
    its letters, decides its split: pairs that are not connected to a component do not move it.

    Args:
        pairs: Iterable of tuples of source and target sentence.
        held_out: Share of components for validation, and again for test, in [0, 0.5].

    Returns:
        `"train"`, `"validation"` or `"test"` for each pair, in order.

    Example:
    >>> splits_by_component([("Go!", "Ve."), ("go", "Vete."), ("Leave!", "Vete")], 0.25)
    ['validation', 'validation', 'validation']
    """
    # Union-find. A node is `(side, letters)`; the root of a tree is its smallest node, a source.
    parents = {}

    def root_of(node):
        while parents.setdefault(node, node) != node:
            parents[node] = node = parents[parents[node]]
        return node

    sources = []
    for source, target in pairs:
        sources.append((0, letters_of(source)))
        first, second = sorted((root_of(sources[-1]), root_of((1, letters_of(target)))))
        parents[second] = first
    return [split_of(root_of(source)[1], held_out) for source in sources]


def letters_of(sentence: str) -> str:
    """The letters and digits of a sentence, in lower case."""
    return "".join(filter(str.isalnum, sentence.casefold()))
