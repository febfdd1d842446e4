"""Batches of one shape in which several pairs share a row."""

import threading

import numpy as np

from aiayn_keras.data.batch_arrays import make_batch
from aiayn_keras.data.batch_sequence import BatchSequence, checked_index
from aiayn_keras.data.first_fit import first_fit
from aiayn_keras.data.token_batches import check_lengths
from aiayn_keras.data.token_pairs import Pairs, ragged_places

ROW_MULTIPLE = 64


class PackedBatches(BatchSequence):
    """Training batches of one shape, rows filled with pairs: little padding, one compilation.

    Batches are `(x, y, sample_weight)` as those of `TokenBatches`, but a row holds several pairs,
    one after the other; the masks number them 1, 2, 3 …, by which the model keeps them apart.
    A row is as long as the next multiple of 64 above the longest side, in proportion to the
    corpus' tokens on the other side.

    The pairs' lengths are packed once. Each epoch deals the pairs anew to the places of their
    lengths and shuffles the rows, in an order that depends on `(seed, epoch)` alone.

    Args:
        pairs: `TokenPairs`, `TokenShards` or `SampledPairs`.
        tokens_per_batch: Largest number of positions of a batch per side, padding included.
        seed: Seed of the order, not negative.
        start_id: Id that starts the decoder input.
        end_id: Id that ends the encoder input and the labels.
        pad_id: Id at padded positions.
        shuffle: Whether each epoch has an order of its own.

    Attributes:
        shapes: Tuple of the one `(B, S, T)`.
        steps_per_epoch: Batches per epoch.
        padding_share: Share of encoder and decoder positions that are padding, in [0, 1).
        real_source_tokens: Encoder tokens per epoch that are not padding.
        real_target_tokens: Labels per epoch that are not padding, end ids included.

    Raises:
        ValueError: If a pair (with its end id) is longer than `tokens_per_batch`, or `seed` is
            negative.

    Example:
    >>> from aiayn_keras.data import TokenPairs
    >>> pairs = TokenPairs([[5, 6], [7]], [[8], [9, 9]])
    >>> x, y, sample_weight = PackedBatches(pairs, tokens_per_batch=5, shuffle=False)[0]
    >>> x["encoder_padding_mask"].tolist(), y.tolist()
    ([[1, 1, 1, 2, 2]], [[8, 3, 9, 9, 3]])
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
        shuffle: bool = True,
    ):
        if seed < 0:
            raise ValueError(f"`seed` must not be negative. Received: seed={seed}.")
        self.seed, self.shuffle, self.pairs = seed, shuffle, pairs
        self._ids = {"start_id": start_id, "end_id": end_id, "pad_id": pad_id}
        # With the end id.
        sides = [
            np.asarray(lengths, dtype=np.int32) + 1
            for lengths in (pairs.source_lengths, pairs.target_lengths)
        ]
        check_lengths(*sides, tokens_per_batch)
        S, T = _row_lengths(*sides, tokens_per_batch)
        row_of_pair = first_fit(*sides, S, T)
        B, self.steps_per_epoch = _rows_per_batch(
            row_of_pair.max() + 1, tokens_per_batch // max(S, T)
        )
        self.shapes = ((B, S, T),)
        self.real_source_tokens, self.real_target_tokens = (int(side.sum()) for side in sides)
        positions = self.steps_per_epoch * B * (S + T)
        self.padding_share = 1 - (self.real_source_tokens + self.real_target_tokens) / positions

        # A place is where a pair of given lengths lies; places stand in the order of rows.
        self._places = np.argsort(row_of_pair, kind="stable").astype(np.int32)
        rows = np.arange(self.steps_per_epoch * B + 1)
        self._row_starts = np.searchsorted(row_of_pair[self._places], rows).astype(np.int32)
        kind = sides[0].astype(np.int32) * (T + 1) + sides[1]
        self._kind_of_place = kind[self._places]
        self._epochs = {}
        self._lock = threading.Lock()

    def batch(self, index: int):
        numbers, rows = self._locate(index)
        sides = self.pairs.read(numbers, index // self.steps_per_epoch)
        return make_batch(self.shapes[0], sides, rows, **self._ids)

    def __repr__(self) -> str:
        return (
            f"PackedBatches(pairs={len(self._places):,}, shapes={self.shapes}, "
            f"steps_per_epoch={self.steps_per_epoch:,}, padding_share={self.padding_share:.3f})"
        )

    def pair_numbers(self, index: int) -> np.ndarray:
        """Which pairs of the corpus are in batch `index`, row by row."""
        return self._locate(checked_index(index))[0]

    def _locate(self, index):
        """The pairs of a batch, and the row of each."""
        epoch, step = divmod(index, self.steps_per_epoch)
        pairs, rows = self._epoch(epoch if self.shuffle else 0)
        B = self.shapes[0][0]
        rows = rows[step * B : (step + 1) * B]
        starts = self._row_starts[rows]
        counts = self._row_starts[rows + 1] - starts
        return pairs[ragged_places(starts, counts)], np.repeat(np.arange(B), counts)

    def _epoch(self, epoch):
        """The pair of every place, and the order of the rows."""
        with self._lock:
            if epoch not in self._epochs:
                pairs, rows = self._places, np.arange(len(self._row_starts) - 1, dtype=np.int32)
                if self.shuffle:
                    rng = np.random.default_rng([self.seed, epoch])
                    pairs, rows = self._deal(rng), rng.permutation(rows)
                # Prefetching reaches one epoch ahead: two are enough.
                self._epochs = dict([*self._epochs.items(), (epoch, (pairs, rows))][-2:])
            return self._epochs[epoch]

    def _deal(self, rng):
        """Another pair of the same lengths for every place."""
        by_kind = np.argsort(self._kind_of_place, kind="stable")
        shuffled = rng.permutation(len(by_kind))
        shuffled = shuffled[np.argsort(self._kind_of_place[shuffled], kind="stable")]
        pairs = np.empty_like(self._places)
        pairs[by_kind] = self._places[shuffled]
        return pairs


def _row_lengths(source_lengths, target_lengths, tokens_per_batch):
    """Source and target positions of a row."""
    longest = np.array([source_lengths.max(), target_lengths.max()], dtype=np.int64)
    row = -(-longest.max() // ROW_MULTIPLE) * ROW_MULTIPLE
    tokens = np.array([source_lengths.sum(), target_lengths.sum()], dtype=np.float64)
    lengths = np.ceil(row * tokens / tokens.max()).astype(np.int64)
    # Neighbouring lengths differ too little to be worth an odd shape.
    lengths = -(-lengths // 8) * 8
    return tuple(int(n) for n in np.clip(lengths, longest, min(row, tokens_per_batch)))


def _rows_per_batch(rows, most):
    """Rows of a batch and batches of an epoch, with few empty rows."""
    steps = -(-int(rows) // most)
    return -(-int(rows) // steps), steps
