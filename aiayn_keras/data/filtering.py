"""Pairs left out of a training text, and pairs added to it."""

import dataclasses
import itertools

import numpy as np

from aiayn_keras.common.checks import check_integer, check_number
from aiayn_keras.data.parallel_text import ParallelText


@dataclasses.dataclass(frozen=True)
class FilterReport:
    """Numbers of the pairs that a filter kept, and of those it dropped, by reason.

    A pair is counted under the first of `empty`, `too_long`, `bad_ratio` that applies, so the
    counts add up to `total`.

    Example:
    >>> str(FilterReport(total=10, kept=7, empty=1, too_long=2, bad_ratio=0))
    'kept 7 of 10 pairs (dropped: 1 with an empty side, 2 too long, 0 by length ratio)'
    """

    total: int = 0
    kept: int = 0
    empty: int = 0
    too_long: int = 0
    bad_ratio: int = 0

    def __add__(self, other: "FilterReport") -> "FilterReport":
        """The report on the pairs of both."""
        sides = dataclasses.astuple(self), dataclasses.astuple(other)
        return FilterReport(*(a + b for a, b in zip(*sides, strict=True)))

    def __str__(self) -> str:
        return (
            f"kept {self.kept:,} of {self.total:,} pairs (dropped: {self.empty:,} with an empty "
            f"side, {self.too_long:,} too long, {self.bad_ratio:,} by length ratio)"
        )


def filter_pairs(
    source_lengths,
    target_lengths,
    *,
    max_length: int | None = 256,
    max_ratio: float | None = None,
    ratio_floor: int = 5,
) -> tuple[np.ndarray, FilterReport]:
    """Finds the pairs to keep: no side empty or very long, no sides of very different length.

    The ratio rule: a pair goes if its longer side has more than `max_ratio` times as many tokens
    as its shorter side, where a shorter side of fewer than `ratio_floor` tokens counts as
    `ratio_floor` tokens. With `max_ratio=3`, one token against fifteen is kept (3 x 5), one
    against sixteen is not; ten against thirty is kept, ten against thirty-one is not.

    Args:
        source_lengths: Integers `(pairs,)`, in tokens without special ids.
        target_lengths: The same for the target side.
        max_length: Longest side allowed, in tokens; `None` for no limit.
        max_ratio: Largest ratio of the two lengths, at least 1; `None` for no limit.
        ratio_floor: Length in tokens that a shorter side is counted as at least.

    Returns:
        Boolean array `(pairs,)`, True for a pair to keep, and a `FilterReport`.

    Raises:
        ValueError: If the sides are not two rows of equally many lengths, or a limit makes no
            sense.

    Example:
    >>> kept, report = filter_pairs([3, 0, 9], [4, 2, 8], max_length=8)
    >>> kept.tolist(), report.empty, report.too_long
    ([True, False, False], 1, 1)
    """
    source_lengths, target_lengths = np.asarray(source_lengths), np.asarray(target_lengths)
    if source_lengths.ndim != 1 or source_lengths.shape != target_lengths.shape:
        raise ValueError(
            "`source_lengths` and `target_lengths` must be as many integers, the numbers of tokens "
            f"of every pair. Received: shapes {source_lengths.shape} and {target_lengths.shape}."
        )
    if max_length is not None and max_length < 1:
        raise ValueError(f"`max_length` must be at least 1. Received: max_length={max_length}.")
    if max_ratio is not None and max_ratio < 1:
        raise ValueError(f"`max_ratio` must be at least 1. Received: max_ratio={max_ratio}.")
    shorter = np.minimum(source_lengths, target_lengths)
    longer = np.maximum(source_lengths, target_lengths)
    kept = shorter > 0
    empty = len(kept) - int(kept.sum())
    too_long = bad_ratio = 0
    if max_length is not None:
        too_long = int((kept & (longer > max_length)).sum())
        kept &= longer <= max_length
    if max_ratio is not None:
        within = longer <= max_ratio * np.maximum(shorter, ratio_floor)
        bad_ratio = int((kept & ~within).sum())
        kept &= within
    return kept, FilterReport(len(kept), int(kept.sum()), empty, too_long, bad_ratio)


MIN_SENTENCES, MAX_SENTENCES = 2, 4
CLOSING_MARKS = "\"'»”’)]"
FINAL_MARKS = ".!?…"


def augment(
    text: ParallelText,
    *,
    joined: float = 0.0,
    lower_cased: float = 0.0,
    unpunctuated: float = 0.0,
    seed: int = 0,
) -> ParallelText:
    """Turns part of a text of single sentences into kinds of text that people also type.

    A model that has only seen single sentences translates the first sentence of two and leaves out
    the other, with a high score. So some sentences are joined by a space to texts of 2, 3 or 4;
    each of them occurs in one such text instead of alone. Only pairs whose two sides end with a
    final mark (`.`, `!`, `?`, `…`, closing quotes after it) are joined. Then some texts lose the
    final mark of their source, and some sources are lower-cased. Their targets stay as they are,
    but for a full stop, which both sides lose: nobody who leaves it out misses it.

    Args:
        text: Pairs of sentences.
        joined: Share of the pairs that become parts of texts of several sentences, in [0, 1].
        lower_cased: Share of the resulting texts whose source is lower-cased, in [0, 1].
        unpunctuated: Share of the resulting texts that lose the final mark, in [0, 1].
        seed: Seed of all choices, not negative.

    Returns:
        A `ParallelText`, the joined texts behind the others.

    Raises:
        ValueError: If a share or the seed is out of range.
        TypeError: If a share is no number, or the seed no integer.

    Example:
    >>> text = ParallelText(["How are you?", "Hello."], ["¿Cómo estás?", "Hola."])
    >>> augment(text, joined=1.0)[0]
    ('Hello. How are you?', 'Hola. ¿Cómo estás?')
    """
    shares = {"joined": joined, "lower_cased": lower_cased, "unpunctuated": unpunctuated}
    for name, share in shares.items():
        check_number(name, share, 0, 1)
    seed = check_integer("seed", seed, 0, 2**63 - 1)
    if not any(shares.values()):
        return text
    random = np.random.default_rng(seed)
    pairs = _join(list(text), joined, random)
    changes = random.random((len(pairs), 2)) < (unpunctuated, lower_cased)
    for number, (drop_mark, to_lower) in enumerate(changes):
        if drop_mark:
            pairs[number] = _without_final_mark(*pairs[number])
        if to_lower:
            pairs[number] = (pairs[number][0].lower(), pairs[number][1])
    sides = zip(*pairs, strict=True) if pairs else ((), ())
    return ParallelText(*sides, text.name)


def _join(pairs, share, random):
    """The pairs that stay alone, and behind them the joined ones."""
    chosen = random.random(len(pairs)) < share
    alone, parts = [], []
    for pair, is_part in zip(pairs, chosen, strict=True):
        complete = is_part and all(map(_ends_with_a_mark, pair))
        (parts if complete else alone).append(pair)
    order = (parts[number] for number in random.permutation(len(parts)))

    def draw_size():
        return int(random.integers(MIN_SENTENCES, MAX_SENTENCES + 1))

    while group := list(itertools.islice(order, draw_size())):
        alone.append(tuple(map(" ".join, zip(*group, strict=True))))
    return alone


def _ends_with_a_mark(sentence):
    return sentence.rstrip(CLOSING_MARKS)[-1:] in tuple(FINAL_MARKS)


def _without_final_mark(source, target):
    """The pair without the source's final mark; a full stop goes from both sides or from none."""
    if source.endswith("."):
        if target.endswith(".") and not source.endswith("..") and not target.endswith(".."):
            return source[:-1], target[:-1]
        return source, target
    return source.rstrip("!?"), target
