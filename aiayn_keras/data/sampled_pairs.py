"""Another segmentation of every word in every epoch: BPE dropout, subword regularisation."""

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
    (https://arxiv.org/abs/1804.10959) with the smoothing `alpha`. What is drawn depends on
    `(seed, epoch, pair)` alone.

    Batches are laid out before an epoch is drawn, so each side has a fixed room: its longest
    segmentation among the plain one and 4 drawn ones, at most `max_length`. What is longer is drawn
    again, up to 8 times, and then is the plain one. Batches have as much padding more as a
    segmentation is shorter than its room.

    Args:
        sources: List of source sentences.
        targets: List of target sentences.
        proto: Bytes of a SentencePiece model.
        alpha: See above, in (0, 1).
        seed: Of what is drawn, not negative.
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
        self._last_seeds = (None, None)
        self._rooms = [self._measure(side, max_length) for side in (0, 1)]
        self.source_lengths, self.target_lengths = self._rooms

    def __len__(self) -> int:
        return len(self.source_lengths)

    def read(self, numbers: np.ndarray, epoch: int) -> tuple[Tokens, Tokens]:
        """The source and target ids of some pairs, as they are drawn for an epoch."""
        seeds = self._seeds_of(epoch)
        sides = []
        for side in (0, 1):
            drawn = [self._draw(side, number, seeds[side, number]) for number in numbers]
            ids = np.concatenate([np.zeros(0, np.int32), *drawn]).astype(np.int32)
            sides.append(Tokens(ids, np.array([len(ids) for ids in drawn], dtype=np.int64)))
        return tuple(sides)

    def _seeds_of(self, epoch):
        """A seed for each side and pair, small enough for SentencePiece, tries included."""
        last_epoch, seeds = self._last_seeds
        if last_epoch != epoch:
            random = np.random.default_rng([self.seed, epoch])
            seeds = random.integers(0, 2**31 - TRIES, (2, len(self)), dtype=np.int64)
            self._last_seeds = (epoch, seeds)
        return seeds

    def _draw(self, side, number, seed):
        """A segmentation that fits its room."""
        text, room = self._sides[side][number], self._rooms[side][number]
        for attempt in range(TRIES):
            ids = self._sample(text, int(seed) + attempt)
            if len(ids) <= room:
                return ids
        return self._processor.encode(text)

    def _sample(self, text, seed):
        sentencepiece.set_random_generator_seed(seed)
        return self._processor.encode(text, enable_sampling=True, alpha=self.alpha, nbest_size=-1)

    def _measure(self, side, max_length):
        """The room of each sentence of a side."""
        rooms = [
            max(
                len(self._processor.encode(text)),
                *(
                    len(self._sample(text, ROOM_DRAWS * number + draw))
                    for draw in range(ROOM_DRAWS)
                ),
            )
            for number, text in enumerate(self._sides[side])
        ]
        return np.minimum(rooms, max_length).astype(np.int32)
