"""Drop sentence pairs that a translation model should not be trained on."""

import dataclasses

import numpy as np


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
