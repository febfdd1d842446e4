"""Parallel text: aligned sentences, read from files, divided into splits, and mixed.

A mixture has given shares of two texts, so that a model fine-tuned on a new one remembers the old.
"""

import dataclasses
import hashlib
import itertools
import logging
import pathlib
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from aiayn_keras.common.bad_lines import (
    BadLine,
    FoundBadLine,
    describe_bad_lines,
    split_columns,
    stream_lines_and_bad,
)
from aiayn_keras.data.text_layout import (
    check_columns,
    check_heading,
    check_line_ends,
    check_one_column,
    check_quotes,
)
from aiayn_keras_light.checks import check_integer, check_number
from aiayn_keras_light.text_files import (
    MAX_LINE_BYTES,
    MAX_LINES,
    CorpusError,
    check_number_of_lines,
    stream_lines,
)

_NORMALIZATIONS = ("NFC", "NFD", "NFKC", "NFKD")
_REMEDIES = {
    "UTF-8": "Convert the file to UTF-8.",
    "bytes": "Write one sentence per line, or split the text.",
    "no tab": "For two separate files, give `target_path` too.",
}
"""Remedies of bad lines, by a word of their kinds."""
SPLITS = ("train", "validation", "test")
logger = logging.getLogger(__name__)
_MAX_REPEATS = 20
"""Maximum number of times that a short text is repeated beside a longer one."""
_MAX_SHARE = 0.999
_MAX_ROUNDS, _MAX_DRAWN = 1_000, 100_000_000
"""Maximum number of times that the text mixed in is repeated, and of pairs drawn from it."""
_MAX_SEED = 2**32 - 1


@dataclasses.dataclass(frozen=True, repr=False)
class ParallelText:
    """Aligned sentences in two languages.

    Args:
        sources: Source sentences.
        targets: Target sentences; `targets[i]` translates `sources[i]`.
        name: Name of the text, used in messages and logs.

    Raises:
        CorpusError: If the numbers of source and target sentences differ, or a side is one string.

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
        """Freezes both sides and compares their lengths."""
        for side in ("sources", "targets"):
            if isinstance(getattr(self, side), str):  # would be one sentence for each letter
                raise CorpusError(
                    f"`{side}` must be a list of sentences. Received: {getattr(self, side)!r:.60}."
                )
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
        """Returns the pair at `index`, or a `ParallelText` for a slice."""
        if isinstance(index, slice):
            return ParallelText(self.sources[index], self.targets[index], self.name)
        return self.sources[index], self.targets[index]

    def __repr__(self) -> str:
        return f"ParallelText(name={self.name!r}, pairs={len(self)})"


class ReadPairs(NamedTuple):
    """The pairs of a file, and its lines without one.

    Attributes:
        text: The `ParallelText` of the usable lines.
        lines: Number of the line of each pair, from 1; pairs of two files have one number.
        bad: List of `FoundBadLine`s, in the order of the lines.
        num_lines: Number of all lines.
    """

    text: ParallelText
    lines: tuple[int, ...]
    bad: list[FoundBadLine]
    num_lines: int

    def refuse_bad_lines(self, remedy):
        """Raises a `CorpusError` that names all bad lines, if there are any, and a remedy."""
        if self.bad:
            raise CorpusError(f"{describe_bad_lines(self.bad, self.num_lines)}. {remedy}")


def read_parallel(
    source_path,
    target_path=None,
    *,
    normalization="NFC",
    max_line_bytes: int = MAX_LINE_BYTES,
    max_lines: int = MAX_LINES,
) -> ParallelText:
    """Reads a corpus that fits into memory; the text is named after the source file.

    Args:
        source_path: As in `stream_parallel`.
        target_path: As in `stream_parallel`.
        normalization: As in `stream_parallel`.
        max_line_bytes: As in `stream_parallel`.
        max_lines: Maximum number of pairs.

    Returns:
        A `ParallelText`.

    Raises:
        CorpusError: If the corpus is empty or has more than `max_lines` pairs, and for the reasons
            given in `stream_parallel`. The message names all lines that cannot be used.
    """
    read = read_pairs_and_bad_lines(
        source_path,
        target_path,
        normalization=normalization,
        max_line_bytes=max_line_bytes,
        max_lines=max_lines,
    )
    remedies = [
        _REMEDIES[kind] for kind in _REMEDIES if any(kind in each.kind for each in read.bad)
    ]
    read.refuse_bad_lines(" ".join(remedies))
    return read.text


def read_pairs_and_bad_lines(
    source_path,
    target_path=None,
    *,
    normalization="NFC",
    max_line_bytes: int = MAX_LINE_BYTES,
    max_lines: int = MAX_LINES,
) -> ReadPairs:
    """Reads a corpus like `read_parallel`, but leaves out lines that cannot be used and lists them.

    A line of two files is left out if it is bad in either.

    Args:
        source_path: As in `stream_parallel`.
        target_path: As in `stream_parallel`.
        normalization: As in `stream_parallel`.
        max_line_bytes: As in `stream_parallel`.
        max_lines: Maximum number of lines.

    Returns:
        `ReadPairs`.

    Raises:
        CorpusError: If the corpus is empty or has more than `max_lines` lines, if the two files
            have different numbers of lines or every line of one has a tab, if the columns of one
            file are not a text's or are quoted as in CSV, if the first line has headings, or for a
            damaged gzip file.
        OSError: If a file is missing or not a regular file.
        ValueError: If `normalization` is unknown.
    """
    _check_normalization(normalization)
    paths = [path for path in (source_path, target_path) if path is not None]
    files = [stream_lines_and_bad(path, max_line_bytes) for path in paths]
    rows = map(split_columns, *files) if target_path is None else _aligned(paths, files)
    sources, targets, lines, bad = [], [], [], []
    number = 0
    for number, row in enumerate(itertools.islice(rows, max_lines + 1), start=1):
        problems = [
            FoundBadLine(str(path), number, side.reason, side.kind or side.reason)
            for path, side in zip(paths, row, strict=False)
            if isinstance(side, BadLine)
        ]
        if problems:
            bad += problems
            continue
        source, target = _normalized(row, normalization)
        sources.append(source)
        targets.append(target)
        lines.append(number)
    check_number_of_lines(number, source_path, max_lines)
    if not number:
        raise CorpusError(f"{source_path}: the corpus is empty.")
    if target_path is None and all("no tab" in each.kind for each in bad) and not sources:
        _check_format(source_path)
    text = ParallelText(sources, targets, name=pathlib.Path(source_path).name)
    if target_path is None:
        sides = text.sources, text.targets
        check_columns(source_path, sides, stream_lines_and_bad(source_path, max_line_bytes))
        check_quotes(source_path, sides)
    else:
        check_one_column(paths, (text.sources, text.targets))
    check_heading(paths, text)
    if number == 1:
        check_line_ends(paths, text)
    return ReadPairs(text, tuple(lines), bad, number)


def _check_format(path):
    """Refuses a file without pairs if its name shows a different format."""
    ending = pathlib.Path(path).suffix.lower()
    if ending in (".csv", ".json", ".jsonl"):
        remedy = "Write its two columns as tab-separated text without quotation marks and header."
    elif ending in (".tmx", ".xliff", ".xlf", ".xml"):
        remedy = (
            "Write the texts of its two languages as tab-separated text, without tags, tabs and "
            "line breaks: Python reads such a file by `xml.etree.ElementTree`."
        )
    else:
        return
    raise CorpusError(
        f"{path}: expected lines of `source<TAB>target`, and none of this {ending} file is. "
        f"{remedy}"
    )


def _check_normalization(normalization):
    if normalization is not None and normalization not in _NORMALIZATIONS:
        raise ValueError(
            f"`normalization` must be None or one of {', '.join(_NORMALIZATIONS)}. "
            f"Received: normalization={normalization!r}."
        )


def _normalized(pair, normalization):
    if normalization is None:
        return tuple(pair)
    return tuple(unicodedata.normalize(normalization, side) for side in pair)


def stream_parallel(
    source_path, target_path=None, *, normalization="NFC", max_line_bytes: int = MAX_LINE_BYTES
) -> Iterator:
    """Reads aligned sentences one pair at a time, from corpora of any size.

    All lines are kept, including empty ones; `filter_pairs` can drop them later.

    Args:
        source_path: File with one source sentence per line, plain or `.gz`. Without `target_path`,
            a file with at least two tab-separated columns: source and target. Further columns, such
            as the attribution in an export from Tatoeba, are ignored.
        target_path: File with the translation of each line, or `None`.
        normalization: Unicode normalization form of both sides: `"NFC"`, `"NFKC"`, `"NFD"` or
            `"NFKD"`; `None` leaves the text unchanged.
        max_line_bytes: Maximum size of a line, in bytes.

    Yields:
        Tuples of source and target sentence.

    Raises:
        FileNotFoundError: If a file is missing.
        OSError: If a file is not a regular file.
        CorpusError: If the two files have different numbers of lines, a line in a tab-separated
            file has no tab, or a file cannot be read by `stream_lines`. It is raised when the line
            is reached.
        ValueError: If `normalization` is unknown.
    """
    _check_normalization(normalization)
    paths = [path for path in (source_path, target_path) if path is not None]
    files = [stream_lines(path, max_line_bytes=max_line_bytes) for path in paths]
    pairs = _columns(*paths, *files) if target_path is None else _aligned(paths, files)
    for pair in pairs:
        yield _normalized(pair, normalization)


def _columns(path, lines):
    """Yields the first two tab-separated columns of each line."""
    for number, line in enumerate(lines, start=1):
        columns = line.split("\t")
        if len(columns) < 2:
            raise CorpusError(
                f"{path}, line {number}: expected `source<TAB>target`, found no tab. "
                "For two separate files, give `target_path` too."
            )
        yield columns[0], columns[1]


def _aligned(paths, files):
    """Yields the lines of two files as pairs."""
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


def split_of(sentence: str, held_out: float, salt: bytes = b"") -> str:
    """Assigns a sentence to a split by the BLAKE2b hash of its letters and digits.

    Every machine computes the same split, without a seed. Case, spaces and punctuation are ignored:
    "Hello!" and "hello" belong to the same split.

    Args:
        sentence: The sentence.
        held_out: Share of sentences for validation, and the same share for test, in [0, 0.5].
        salt: At most 16 bytes; a part of a text needs a new salt to be divided again.

    Returns:
        `"train"`, `"validation"` or `"test"`.
    """
    digest = hashlib.blake2b(letters_of(sentence).encode(), digest_size=8, salt=salt).digest()
    place = int.from_bytes(digest, "big") / 2**64
    if place < held_out:
        return "validation"
    return "test" if place < 2 * held_out else "train"


def splits_by_component(pairs, held_out: float, salt: bytes = b"") -> list[str]:
    """Assigns pairs to splits such that no two splits share a sentence on either side.

    Two pairs are connected if their sources, or their targets, have the same letters and digits.
    Each connected component goes to one split as a whole, which is the split of its alphabetically
    first source. So pairs outside a component have no influence on its split.

    Args:
        pairs: Iterable of tuples of source and target sentence.
        held_out: Share of components for validation, and the same share for test, in [0, 0.5].
        salt: As in `split_of`.

    Returns:
        List of `"train"`, `"validation"` or `"test"`, one for each pair.

    Example:
    >>> splits_by_component([("Go!", "Ve."), ("go", "Vete."), ("Leave!", "Vete")], 0.25)
    ['validation', 'validation', 'validation']
    """
    # Union-find. A node is `(side, letters)`; the root of each tree is its first node, a source.
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
    return [split_of(root_of(source)[1], held_out, salt) for source in sources]


def letters_of(sentence: str) -> str:
    """Returns the letters and digits of a sentence, in lower case."""
    return "".join(filter(str.isalnum, sentence.casefold()))


def mix_texts(
    text: ParallelText, mixed_in: ParallelText, share: float, seed: int = 0
) -> ParallelText:
    """Mixes two texts; the second makes up a given share of the pairs.

    Beside a few hundred pairs of a new domain there would be just as few of the old one, and the
    model would learn them by heart. So `text` is repeated, at most 20 times, while `mixed_in` still
    has pairs that were not drawn; if `mixed_in` has too few pairs for its share, they are repeated
    instead, at most 1,000 times.

    This is the mixed fine-tuning of Chu et al. 2017 (https://aclanthology.org/P17-2061), which
    oversamples the smaller text, without its tags for the domains.

    Args:
        text: Pairs of the domain to learn.
        mixed_in: Pairs of other text, drawn at random.
        share: Share of the result that comes from `mixed_in`, above 0 and at most 0.999.
        seed: Seed of the draw.

    Returns:
        A `ParallelText` with the name of `text`: its pairs in order, as often as they are repeated,
        then the drawn ones.

    Raises:
        CorpusError: If one of the texts is empty.
        TypeError: If `share` or `seed` has the wrong type.
        ValueError: If `share` or `seed` is out of bounds, or `share` needs more than 1,000 times
            `mixed_in`, or more than 100,000,000 pairs from it.

    Example:
    >>> news = ParallelText(["a", "b"], ["A", "B"], name="news")
    >>> talks = ParallelText([*"cdefgh"], [*"CDEFGH"], name="talks")
    >>> "".join(sorted(mix_texts(news, talks, share=0.6).sources))
    'aabbcdefgh'
    """
    share = check_number("share", share, 1e-6, _MAX_SHARE)
    rng = np.random.default_rng(check_integer("seed", seed, 0, _MAX_SEED))
    for each in (text, mixed_in):
        if not len(each):
            raise CorpusError(f"{each.name}: no pairs to mix with others.")
    per_pair = share / (1 - share)
    repeats = int(np.clip(round(len(mixed_in) / (per_pair * len(text))), 1, _MAX_REPEATS))
    count = max(1, round(repeats * len(text) * per_pair))
    rounds = -(-count // len(mixed_in))
    if count > (most := min(_MAX_ROUNDS * len(mixed_in), _MAX_DRAWN)):
        raise ValueError(
            f"`share`={share} (in a recipe `corpus.mix.share`) needs {count:,} pairs of "
            f"{mixed_in.name}, which has {len(mixed_in):,}; repeated, they give at most {most:,}. "
            f"Make it {np.floor(1e4 * most / (most + repeats * len(text))) / 1e4:g} or less, or "
            "give more text to mix in."
        )
    drawn = np.concatenate([rng.permutation(len(mixed_in)) for _ in range(rounds)])[:count]
    logger.info(
        "Mixed: %s pairs of %s, which has %s, and %s of %s, which has %s.",
        f"{repeats * len(text):,}",
        text.name,
        f"{len(text):,}",
        f"{count:,}",
        mixed_in.name,
        f"{len(mixed_in):,}",
    )
    sides = (text.sources, mixed_in.sources), (text.targets, mixed_in.targets)
    return ParallelText(
        *([*new * repeats, *(old[i] for i in drawn)] for new, old in sides), name=text.name
    )
