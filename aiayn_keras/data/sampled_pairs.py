"""Another segmentation of every word in every epoch: BPE dropout, subword regularisation."""

import functools
from collections.abc import Sequence

import numpy as np
import sentencepiece

from aiayn_keras.data.token_pairs import Tokens

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
