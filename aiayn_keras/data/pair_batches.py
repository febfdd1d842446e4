"""The common base of `TokenBatches` and `PackedBatches`."""

import abc
import functools

import numpy as np

from aiayn_keras.data.batch_arrays import make_batch
from aiayn_keras.data.batch_sequence import BatchSequence, checked_index
from aiayn_keras.data.token_pairs import Pairs


class PairBatches(BatchSequence):
    """Training batches of token pairs, each epoch in an order of its own.

    Every batch is `(x, y, sample_weight)` as `keras.Model.fit` takes it. The encoder reads the
    source pieces and the end id; the decoder reads the start id and the target pieces; the labels
    `y` are the target pieces and the end id. Padding has mask 0 and weight 0.

    Each epoch holds every pair exactly once, in an order that depends on `(seed, epoch)` alone.

    A subclass plans the shapes once (`_plan`), lays out each epoch (`_lay_out`) and finds a batch
    in that layout (`_locate`).

    Args:
        pairs: `TokenPairs`, `TokenShards` or `SampledPairs`.
        tokens_per_batch: Largest number of positions of a batch per side, padding included:
            `B * max(S, T) <= tokens_per_batch`. The paper uses about 25,000.
        seed: Seed of the order, not negative.
        start_id: Id that starts the decoder input.
        end_id: Id that ends the encoder input and the labels.
        pad_id: Id at padded positions.
        source_end: Whether the encoder reads the end id.
        shuffle: Whether each epoch has an order of its own. Without, all epochs are alike.

    Attributes:
        shapes: Tuple of the `(B, S, T)` in use, short ones first.
        steps_per_epoch: Batches per epoch.
        padding_share: Share of encoder and decoder positions that are padding, in [0, 1).
        real_source_tokens: Encoder tokens per epoch that are not padding.
        real_target_tokens: Labels per epoch that are not padding, end ids included.

    Raises:
        ValueError: If a pair (with its end id) is longer than `tokens_per_batch`, or an argument is
            out of range.
    """

    def __init__(
        self,
        pairs: Pairs,
        *,
        tokens_per_batch: int,
        seed: int = 0,
        start_id: int = 2,
        end_id: int = 3,
        pad_id: int = 0,
        source_end: bool = True,
        shuffle: bool = True,
    ):
        if seed < 0:
            raise ValueError(f"`seed` must not be negative. Received: seed={seed}.")
        self.pairs, self.seed, self.shuffle = pairs, seed, shuffle
        self._options = {"start_id": start_id, "end_id": end_id, "pad_id": pad_id}
        self._options["source_end"] = source_end
        # With the end id.
        lengths = [
            np.asarray(pairs.source_lengths, dtype=np.int32) + int(source_end),
            np.asarray(pairs.target_lengths, dtype=np.int32) + 1,
        ]
        _check_lengths(*lengths, tokens_per_batch)
        self.shapes, steps = self._plan(*lengths, tokens_per_batch)
        self.steps_per_epoch = sum(steps)
        self.real_source_tokens, self.real_target_tokens = (int(side.sum()) for side in lengths)
        positions = sum(n * B * (S + T) for n, (B, S, T) in zip(steps, self.shapes, strict=True))
        self.padding_share = 1 - (self.real_source_tokens + self.real_target_tokens) / positions
        # Prefetching reaches one epoch ahead: two are enough.
        self._epoch = functools.lru_cache(maxsize=2)(self._lay_out)

    @abc.abstractmethod
    def _plan(self, source_lengths, target_lengths, tokens_per_batch):
        """The shapes `(B, S, T)`, and how many batches of an epoch have each, as ints."""

    @abc.abstractmethod
    def _lay_out(self, epoch):
        """The order of an epoch, in any form that `_locate` understands."""

    @abc.abstractmethod
    def _locate(self, layout, step):
        """The shape number of a batch, its pair numbers, and the row of each pair."""

    def batch(self, index: int):
        shape, numbers, rows = self._find(index)
        sides = self.pairs.read(numbers, index // self.steps_per_epoch)
        return make_batch(self.shapes[shape], sides, rows, **self._options)

    def pair_numbers(self, index: int) -> np.ndarray:
        """Numbers of the pairs in batch `index`, row by row."""
        return self._find(checked_index(index))[1]

    def _find(self, index):
        epoch, step = divmod(index, self.steps_per_epoch)
        return self._locate(self._epoch(epoch if self.shuffle else 0), step)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(pairs={len(self.pairs.source_lengths):,}, "
            f"shapes={self.shapes}, steps_per_epoch={self.steps_per_epoch:,}, "
            f"padding_share={self.padding_share:.3f})"
        )


def _check_lengths(source_lengths, target_lengths, tokens_per_batch):
    """Refuses a pair that alone, end ids included, is more than a batch."""
    longest = np.maximum(source_lengths, target_lengths)
    if longest.max() > tokens_per_batch:
        pair = int((longest > tokens_per_batch).argmax())
        raise ValueError(
            "`tokens_per_batch` must hold every pair. "
            f"Received: tokens_per_batch={tokens_per_batch}, but pair {pair} (counted from 0) has "
            f"{source_lengths[pair]} source and {target_lengths[pair]} target tokens, end ids "
            "included. Raise `tokens_per_batch`, or drop long pairs: with `filter_pairs`, or by "
            "`batches.max_length` of a recipe."
        )
