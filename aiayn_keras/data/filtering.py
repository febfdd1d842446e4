"""Drop sentence pairs that a translation model should not be trained on."""

import dataclasses
from collections.abc import Sequence

import numpy as np


@dataclasses.dataclass(frozen=True)
class FilterReport:
    """How many pairs a filter kept, and why the others went.

    A pair is counted under the first of `empty`, `too_long`, `bad_ratio` that applies, so the
    counts add up to `total`.

    Example:
    >>> str(FilterReport(total=10, kept=7, empty=1, too_long=2, bad_ratio=0))
    'kept 7 of 10 pairs (dropped: 1 with an empty side, 2 too long, 0 by length ratio)'
    """

    total: int
    kept: int
    empty: int
    too_long: int
    bad_ratio: int

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
    source_ids: Sequence,
    target_ids: Sequence,
    *,
    max_length: int | None = 256,
    max_ratio: float | None = None,
    ratio_floor: int = 5,
) -> tuple[list, list, FilterReport]:
    """Drop pairs with an empty side, a very long side, or sides of very different length.

    The ratio rule: a pair goes if its longer side has more than `max_ratio` times as many tokens
    as its shorter side, where a shorter side of fewer than `ratio_floor` tokens counts as
    `ratio_floor` tokens. With `max_ratio=3`, one token against fifteen is kept (3 x 5), one
    against sixteen is not; ten against thirty is kept, ten against thirty-one is not.

    Args:
        source_ids: One sequence of token ids per pair (lists or 1-D arrays), without special ids.
        target_ids: The same for the target side.
        max_length: Longest side allowed, in tokens; `None` for no limit.
        max_ratio: Largest ratio of the two lengths, at least 1; `None` for no limit.
        ratio_floor: Length in tokens that a shorter side is counted as at least.

    Returns:
        The kept source sequences, the kept target sequences (the same objects, in order), and a
        `FilterReport`.

    Raises:
        ValueError: If the sides differ in number, or a limit makes no sense.
    """
    if len(source_ids) != len(target_ids):
        raise ValueError(
            "`source_ids` and `target_ids` must have the same number of sequences. "
            f"Received: {len(source_ids)} and {len(target_ids)}."
        )
    kept, report = keep_pairs(
        np.array([len(ids) for ids in source_ids], dtype=np.int64),
        np.array([len(ids) for ids in target_ids], dtype=np.int64),
        max_length=max_length,
        max_ratio=max_ratio,
        ratio_floor=ratio_floor,
    )
    places = np.flatnonzero(kept)
    return [source_ids[n] for n in places], [target_ids[n] for n in places], report


def keep_pairs(
    source_lengths,
    target_lengths,
    *,
    max_length: int | None = 256,
    max_ratio: float | None = None,
    ratio_floor: int = 5,
) -> tuple[np.ndarray, FilterReport]:
    """Which pairs `filter_pairs` keeps, by their lengths alone.

    Args:
        source_lengths: Integer array `(pairs,)`, in tokens.
        target_lengths: Integer array `(pairs,)`, in tokens.
        max_length: See `filter_pairs`.
        max_ratio: See `filter_pairs`.
        ratio_floor: See `filter_pairs`.

    Returns:
        Boolean array `(pairs,)`, True for a pair to keep, and a `FilterReport`.

    Raises:
        ValueError: If a limit makes no sense.
    """
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
