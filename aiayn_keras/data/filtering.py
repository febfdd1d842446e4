"""Clean-up rules: sentence pairs that are dropped before training, and a report of the counts."""

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True)
class FilterReport:
    """Numbers of pairs that a filter kept, and dropped for each reason.

    A dropped pair is counted once, under the first reason that applies in the order `empty`,
    `too_long`, `bad_ratio`. So the counts add up to `total`.

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
        """Combines two reports into one on the pairs of both."""
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
    """Selects the pairs without an empty side, a very long side or a large difference in length.

    A pair breaks the ratio rule if its longer side has more than `max_ratio` times the tokens of
    its shorter side. A shorter side with fewer than `ratio_floor` tokens counts as `ratio_floor`
    tokens. With `max_ratio=3` and the default floor of 5, the lengths 1 and 15 pass, but 1 and 16
    do not; 10 and 30 pass, but 10 and 31 do not.

    Args:
        source_lengths: Integers `(pairs,)`, in tokens, special ids excluded.
        target_lengths: The same for the targets.
        max_length: Maximum length of a side, in tokens; `None` for no limit.
        max_ratio: Maximum ratio of the two lengths, at least 1; `None` for no limit.
        ratio_floor: Minimum length, in tokens, that a shorter side is counted as.

    Returns:
        Boolean array `(pairs,)`, True for the pairs to keep, and a `FilterReport`.

    Raises:
        ValueError: If the lengths are not two one-dimensional sequences of equal length, or if a
            limit is less than 1.

    Example:
    >>> kept, report = filter_pairs([3, 0, 9], [4, 2, 8], max_length=8)
    >>> kept.tolist(), report.empty, report.too_long
    ([True, False, False], 1, 1)
    """
    source_lengths, target_lengths = np.asarray(source_lengths), np.asarray(target_lengths)
    if source_lengths.ndim != 1 or source_lengths.shape != target_lengths.shape:
        raise ValueError(
            "`source_lengths` and `target_lengths` must be the numbers of tokens of each pair, two "
            "one-dimensional sequences of equal length. "
            f"Received: shapes {source_lengths.shape} and {target_lengths.shape}."
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
