"""Sources of token ids for batches: every length is known in advance, ids are read on demand.

`TokenPairs` keeps fixed ids in memory; `SampledPairs` draws a new segmentation in each epoch.
`TokenShards`, in its own file, reads fixed ids from disk. `filter_pairs` drops pairs by their
lengths.
"""

import dataclasses
import functools
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import sentencepiece

from aiayn_keras_light.piece_tokenizer import PieceProcessor

_ROOM_DRAWS = 4

_TRIES = 8


class Tokens(NamedTuple):
    """Several sequences of token ids, concatenated.

    Attributes:
        ids: Int32 array of all ids, special ids excluded.
        lengths: Integer array `(sequences,)`: the number of ids in each sequence.
    """

    ids: np.ndarray
    lengths: np.ndarray


class Pairs(Protocol):
    """Interface of the pairs in batches: `TokenPairs`, `TokenShards` and `SampledPairs`.

    Attributes:
        source_lengths: Integer array `(pairs,)`: the maximum number of ids that `read` returns for
            each source, special ids excluded.
        target_lengths: The same for the targets.
    """

    source_lengths: np.ndarray
    target_lengths: np.ndarray

    def read(self, numbers: np.ndarray, epoch: int) -> tuple[Tokens, Tokens]:
        """Reads the source and target ids of the pairs with the given numbers in an epoch."""


class TokenPairs:
    """Pairs of token ids in memory; every epoch reads the same ids.

    Args:
        source_ids: One sequence of token ids per pair (lists or 1-D integer arrays), special ids
            excluded.
        target_ids: The same for the targets.

    Raises:
        ValueError: If the numbers of sources and targets differ, or there are no pairs.

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
        """Reads the source and target ids of the pairs with the given numbers, in that order."""
        sides = []
        for side, starts in zip((self._source, self._target), self._starts, strict=True):
            lengths = side.lengths[numbers]
            sides.append(Tokens(side.ids[ragged_places(starts[numbers], lengths)], lengths))
        return tuple(sides)


def ragged_places(starts, lengths):
    """Computes the indices `start, start + 1, …` of several runs, concatenated.

    Args:
        starts: Integer array: the first index of each run.
        lengths: Integer array: the number of indices in each run.

    Returns:
        Int64 array `(sum(lengths),)`.
    """
    lengths = lengths.astype(np.int64)
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(lengths.sum())


def _flatten(sequences):
    parts = [np.asarray(ids, dtype=np.int32).reshape(-1) for ids in sequences]
    return Tokens(np.concatenate(parts), np.array([len(part) for part in parts], dtype=np.int32))


def processors_of(proto, target_proto=None):
    """Returns the `PieceProcessor`s of both sides; by default the targets' is the same."""
    source = PieceProcessor(model_proto=proto)
    if target_proto is None:
        return source, source
    return source, PieceProcessor(model_proto=target_proto)


class SampledPairs:
    """Pairs with a new random segmentation into wordpieces in each epoch.

    With a BPE model this is BPE dropout (https://arxiv.org/abs/1910.13267): each merge is skipped
    with probability `alpha`. With a unigram model it is subword regularization
    (https://arxiv.org/abs/1804.10959) with smoothing parameter `alpha`.

    Within one process, a segmentation depends only on `(seed, epoch, pair)`. A different process
    draws different segmentations and computes different rooms from the same seed, because
    SentencePiece 0.2.3 mixes in a random number for each process. So a run that is resumed in a
    new process does not repeat the batches of the old one.

    Batches are laid out before the segmentations of an epoch are drawn. Each side of a pair
    therefore has a fixed room, in tokens: the maximum length of its plain segmentation and 4 drawn
    ones, but not more than `max_length`. A longer segmentation is drawn again; after 8 attempts the
    plain one is used. A shorter one is padded.

    Args:
        sources: List of source sentences.
        targets: List of target sentences.
        proto: Bytes of a SentencePiece model.
        alpha: Dropout probability or smoothing parameter (see above), in (0, 1).
        seed: Non-negative seed of the segmentations.
        max_length: Maximum room of a side, in tokens; no plain segmentation may be longer.
        target_proto: Bytes of the SentencePiece model of the targets, if they have their own.

    Attributes:
        source_lengths: Integer array `(pairs,)`: the rooms of the sources.
        target_lengths: Integer array `(pairs,)`: the rooms of the targets.

    Raises:
        ValueError: If `alpha` is not in (0, 1) or `seed` is negative.
    """

    def __init__(
        self,
        sources: Sequence,
        targets: Sequence,
        proto,
        alpha,
        seed,
        max_length,
        target_proto: bytes | None = None,
    ):
        if not 0 < alpha < 1 or seed < 0:
            raise ValueError(
                "`alpha` must be in (0, 1) and `seed` must not be negative. "
                f"Received: alpha={alpha}, seed={seed}."
            )
        self._processors = processors_of(proto, target_proto)
        self._sides = (sources, targets)
        self.alpha, self.seed = alpha, seed
        self._rooms = [
            self._measure(processor, side, max_length)
            for processor, side in zip(self._processors, self._sides, strict=True)
        ]
        self.source_lengths, self.target_lengths = self._rooms
        self._seeds = functools.lru_cache(maxsize=1)(self._draw_seeds)

    def __len__(self) -> int:
        return len(self.source_lengths)

    def read(self, numbers: np.ndarray, epoch: int) -> tuple[Tokens, Tokens]:
        """Draws the source and target ids of the pairs with the given numbers for an epoch."""
        sides = []
        for processor, texts, rooms, seeds in zip(
            self._processors, self._sides, self._rooms, self._seeds(epoch), strict=True
        ):
            drawn = [self._draw(processor, texts[n], rooms[n], int(seeds[n])) for n in numbers]
            ids = np.concatenate([np.zeros(0, np.int32), *drawn]).astype(np.int32)
            sides.append(Tokens(ids, np.array([len(ids) for ids in drawn], dtype=np.int64)))
        return tuple(sides)

    def _draw_seeds(self, epoch):
        """Draws a seed per side and pair; adding the attempts stays in SentencePiece's range."""
        random = np.random.default_rng([self.seed, epoch])
        return random.integers(0, 2**31 - _TRIES, (2, len(self)), dtype=np.int64)

    def _draw(self, processor, text, room, seed):
        """Draws a segmentation that fits its room."""
        for attempt in range(_TRIES):
            ids = self._sample(processor, text, seed + attempt)
            if len(ids) <= room:
                return ids
        return processor.encode(text)

    def _sample(self, processor, text, seed):
        sentencepiece.set_random_generator_seed(seed)
        return processor.encode(text, enable_sampling=True, alpha=self.alpha, nbest_size=-1)

    def _measure(self, processor, texts, max_length):
        """Computes the room of each sentence on one side."""
        rooms = []
        for number, text in enumerate(texts):
            seeds = range(_ROOM_DRAWS * number, _ROOM_DRAWS * (number + 1))
            drawn = [self._sample(processor, text, seed) for seed in seeds]
            drawn.append(processor.encode(text))
            rooms.append(max(map(len, drawn)))
        return np.minimum(rooms, max_length).astype(np.int32)


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
