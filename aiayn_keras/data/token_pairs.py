"""Tokenized pairs as batches read them: lengths known for all, ids fetched for a few."""

import functools
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import sentencepiece


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


ROOM_DRAWS = 4
TRIES = 8


class SampledPairs:
    """Pairs whose wordpieces are drawn anew in each epoch.

    With a BPE model it is BPE dropout (https://arxiv.org/abs/1910.13267): each merge is left out
    with probability `alpha`. With a unigram model it is subword regularisation
    (https://arxiv.org/abs/1804.10959) with the smoothing `alpha`.

    Within a process, a segmentation depends on `(seed, epoch, pair)` alone. Another process gets
    other segmentations and rooms for the same seed (SentencePiece 0.2.3 mixes in a random number
    of the process), so a run that goes on in a new process does not repeat the old one's batches.

    Batches are laid out before an epoch is drawn, so each side has a fixed room: its longest
    segmentation among the plain one and 4 drawn ones, at most `max_length`. A longer segmentation
    is drawn again, up to 8 times, and then is the plain one. A segmentation shorter than its room
    is padded.

    Args:
        sources: List of source sentences.
        targets: List of target sentences.
        proto: Bytes of a SentencePiece model.
        alpha: See above, in (0, 1).
        seed: Seed of the segmentations, not negative.
        max_length: Greatest room of a side, in tokens; every plain segmentation fits.

    Attributes:
        source_lengths: Integer array `(pairs,)`, the rooms.
        target_lengths: Integer array `(pairs,)`, the rooms.

    Raises:
        ValueError: If `alpha` is not in (0, 1) or `seed` is negative.
    """

    def __init__(self, sources: Sequence, targets: Sequence, proto, alpha, seed, max_length):
        if not 0 < alpha < 1 or seed < 0:
            raise ValueError(
                "`alpha` must be in (0, 1) and `seed` must not be negative. "
                f"Received: alpha={alpha}, seed={seed}."
            )
        self._processor = sentencepiece.SentencePieceProcessor(model_proto=proto)
        self._sides = (sources, targets)
        self.alpha, self.seed = alpha, seed
        self._rooms = [self._measure(side, max_length) for side in self._sides]
        self.source_lengths, self.target_lengths = self._rooms
        self._seeds = functools.lru_cache(maxsize=1)(self._draw_seeds)

    def __len__(self) -> int:
        return len(self.source_lengths)

    def read(self, numbers: np.ndarray, epoch: int) -> tuple[Tokens, Tokens]:
        """The source and target ids of some pairs, as they are drawn for an epoch."""
        sides = []
        for texts, rooms, seeds in zip(self._sides, self._rooms, self._seeds(epoch), strict=True):
            drawn = [self._draw(texts[n], rooms[n], int(seeds[n])) for n in numbers]
            ids = np.concatenate([np.zeros(0, np.int32), *drawn]).astype(np.int32)
            sides.append(Tokens(ids, np.array([len(ids) for ids in drawn], dtype=np.int64)))
        return tuple(sides)

    def _draw_seeds(self, epoch):
        """A seed for each side and pair, small enough for SentencePiece, tries included."""
        random = np.random.default_rng([self.seed, epoch])
        return random.integers(0, 2**31 - TRIES, (2, len(self)), dtype=np.int64)

    def _draw(self, text, room, seed):
        """A segmentation that fits its room."""
        for attempt in range(TRIES):
            ids = self._sample(text, seed + attempt)
            if len(ids) <= room:
                return ids
        return self._processor.encode(text)

    def _sample(self, text, seed):
        sentencepiece.set_random_generator_seed(seed)
        return self._processor.encode(text, enable_sampling=True, alpha=self.alpha, nbest_size=-1)

    def _measure(self, texts, max_length):
        """The room of each sentence of a side."""
        rooms = []
        for number, text in enumerate(texts):
            seeds = range(ROOM_DRAWS * number, ROOM_DRAWS * (number + 1))
            drawn = [self._processor.encode(text), *(self._sample(text, seed) for seed in seeds)]
            rooms.append(max(map(len, drawn)))
        return np.minimum(rooms, max_length).astype(np.int32)
