"""Tokenized pairs as batches read them: lengths known for all, ids fetched for a few."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np


class Tokens(NamedTuple):
    """Several sequences of token ids, one after the other.

    Attributes:
        ids: Int32 array of all ids, without special ids.
        lengths: Integer array of the number of ids of each sequence.
    """

    ids: np.ndarray
    lengths: np.ndarray


class Pairs(Protocol):
    """The pairs that batches are made of: `TokenPairs`, `TokenShards` or `SampledPairs`.

    Attributes:
        source_lengths: Integer array `(pairs,)`, the greatest number of ids that `read` gives for
            a pair, without special ids.
        target_lengths: The same for the target side.
    """

    source_lengths: np.ndarray
    target_lengths: np.ndarray

    def read(self, numbers: np.ndarray, epoch: int) -> tuple[Tokens, Tokens]:
        """The source and target ids of some pairs, as they are in an epoch."""


class TokenPairs:
    """Pairs of token ids in memory, the same in every epoch.

    Args:
        source_ids: One sequence of token ids per pair (lists or 1-D integer arrays), without
            special ids.
        target_ids: The same for the target side.

    Raises:
        ValueError: If the sides differ in number, or there is no pair.

    Example:
    >>> pairs = TokenPairs([[5, 6], [7]], [[8], [9, 9]])
    >>> source, target = pairs.read(np.array([1, 0]), epoch=0)
    >>> source.ids.tolist(), source.lengths.tolist(), target.ids.tolist()
    ([7, 5, 6], [1, 2], [9, 9, 8])
    """

    def __init__(self, source_ids: Sequence, target_ids: Sequence):
        if len(source_ids) != len(target_ids) or len(source_ids) == 0:
            raise ValueError(
                "`source_ids` and `target_ids` must hold the same number of sequences, at least "
                f"one. Received: {len(source_ids)} and {len(target_ids)}."
            )
        self._source, self._target = _flatten(source_ids), _flatten(target_ids)
        self.source_lengths = self._source.lengths
        self.target_lengths = self._target.lengths
        self._starts = [
            np.concatenate([[0], np.cumsum(side.lengths)]) for side in (self._source, self._target)
        ]

    def __len__(self) -> int:
        return len(self.source_lengths)

    def read(self, numbers: np.ndarray, epoch: int) -> tuple[Tokens, Tokens]:
        """The source and target ids of some pairs; all epochs are alike."""
        sides = []
        for side, starts in zip((self._source, self._target), self._starts, strict=True):
            lengths = side.lengths[numbers]
            sides.append(Tokens(side.ids[ragged_places(starts[numbers], lengths)], lengths))
        return tuple(sides)


def ragged_places(starts, lengths):
    """Places `start, start + 1, …` of every sequence, one sequence after the other.

    Args:
        starts: Integer array: the place of each sequence's first element.
        lengths: Integer array: the number of each sequence's places.

    Returns:
        Int64 array `(sum(lengths),)`.
    """
    lengths = lengths.astype(np.int64)
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(lengths.sum())


def _flatten(sequences):
    parts = [np.asarray(ids, dtype=np.int32).reshape(-1) for ids in sequences]
    return Tokens(np.concatenate(parts), np.array([len(part) for part in parts], dtype=np.int32))
