"""Batches with one shape and several pairs in each row.

Grain can pack too (`FirstFitPackIterDataset`), but it packs while it reads and keeps no index. A
run could not resume in the middle of an epoch with exactly the batches that were due next, so this
package packs pairs itself.
"""

import numpy as np

from aiayn_keras.data.pair_batches import PairBatches
from aiayn_keras.data.token_pairs import ragged_places

_ROW_MULTIPLE = 64


_CHUNK = 2**15
"""Number of pairs packed together: a pair is only placed in rows opened by its own chunk."""


def first_fit(source_lengths, target_lengths, source_room: int, target_room: int) -> np.ndarray:
    """Assigns each pair to the first row with room for both sides, longest pairs first.

    Args:
        source_lengths: Integer array `(pairs,)`, in tokens, end ids included.
        target_lengths: The same for the targets.
        source_room: Number of source tokens that fit into a row; no source may be longer.
        target_room: Number of target tokens that fit into a row; no target may be longer.

    Returns:
        Int32 array `(pairs,)`: the row of each pair, counted from 0.

    Example:
    >>> first_fit(np.array([3, 2, 1]), np.array([3, 4, 1]), source_room=4, target_room=5).tolist()
    [0, 1, 0]
    """
    rows = np.empty(len(source_lengths), dtype=np.int32)
    num_rows = 0
    for start in range(0, len(rows), _CHUNK):
        chunk = slice(start, start + _CHUNK)
        sides = source_lengths[chunk], target_lengths[chunk]
        rows[chunk] = num_rows + _pack(*sides, source_room, target_room)
        num_rows = int(rows[chunk].max()) + 1
    return rows


def _pack(source_lengths, target_lengths, source_room, target_room):
    """Assigns the pairs of one chunk to rows."""
    pairs = len(source_lengths)
    source_left = np.zeros(pairs, dtype=np.int32)
    target_left = np.zeros(pairs, dtype=np.int32)
    rows = np.empty(pairs, dtype=np.int32)
    opened = 0
    order = np.argsort(-(source_lengths + target_lengths), kind="stable")
    lengths = zip(
        order, source_lengths[order].tolist(), target_lengths[order].tolist(), strict=True
    )
    for pair, source, target in lengths:
        fits = (source_left[:opened] >= source) & (target_left[:opened] >= target)
        row = int(fits.argmax()) if opened else 0
        if row == opened or not fits[row]:
            row, opened = opened, opened + 1
            source_left[row], target_left[row] = source_room, target_room
        source_left[row] -= source
        target_left[row] -= target
        rows[pair] = row
    return rows


class PackedBatches(PairBatches):
    """Training batches with several pairs per row: little padding, and one shape to compile.

    The pairs in a row follow one another, and the masks number them 1, 2, 3 …, so that the model
    can keep them apart. The longer side of a row has the length of the longest sequence, rounded up
    to a multiple of 64. The other side is shorter in proportion to its number of tokens in the
    corpus.

    Pairs are packed once. In each epoch, pairs with equal lengths swap places at random, and the
    rows are shuffled. Arguments, attributes and errors are those of `PairBatches`.

    Example:
    >>> from aiayn_keras.data import TokenPairs
    >>> pairs = TokenPairs([[5, 6], [7]], [[8], [9, 9]])
    >>> x, y, sample_weight = PackedBatches(pairs, tokens_per_batch=5, shuffle=False)[0]
    >>> x["encoder_padding_mask"].tolist(), y.tolist()
    ([[1, 1, 1, 2, 2]], [[8, 3, 9, 9, 3]])
    """

    def _plan(self, source_lengths, target_lengths, tokens_per_batch):
        S, T = _row_lengths(source_lengths, target_lengths, tokens_per_batch)
        row_of_pair = first_fit(source_lengths, target_lengths, S, T)
        rows = int(row_of_pair.max()) + 1
        steps = -(-rows // (tokens_per_batch // max(S, T)))
        B = -(-rows // steps)  # leaves few empty rows in the last batch
        # Pairs ordered by row. Only pairs with the same lengths may swap places in this order.
        self._pairs = np.argsort(row_of_pair, kind="stable").astype(np.int32)
        self._row_starts = np.searchsorted(
            row_of_pair[self._pairs], np.arange(steps * B + 1)
        ).astype(np.int32)
        self._lengths = (source_lengths * (T + 1) + target_lengths)[self._pairs]
        return ((B, S, T),), (steps,)

    def _lay_out(self, epoch):
        """Returns the pair in each place, and the order of the rows."""
        pairs, rows = self._pairs, np.arange(len(self._row_starts) - 1, dtype=np.int32)
        if self.shuffle:
            rng = np.random.default_rng([self.seed, epoch])
            pairs, rows = self._swapped_pairs(rng), rng.permutation(rows)
        return pairs, rows

    def _locate(self, layout, step):
        pairs, rows = layout
        B = self.shapes[0][0]
        rows = rows[step * B : (step + 1) * B]
        starts = self._row_starts[rows]
        counts = self._row_starts[rows + 1] - starts
        return 0, pairs[ragged_places(starts, counts)], np.repeat(np.arange(B), counts)

    def _swapped_pairs(self, rng):
        """Shuffles pairs among the places of pairs with the same lengths."""
        by_lengths = np.argsort(self._lengths, kind="stable")
        shuffled = rng.permutation(len(by_lengths))
        shuffled = shuffled[np.argsort(self._lengths[shuffled], kind="stable")]
        pairs = np.empty_like(self._pairs)
        pairs[by_lengths] = self._pairs[shuffled]
        return pairs


def _row_lengths(source_lengths, target_lengths, tokens_per_batch):
    """Computes the number of source and target positions in a row."""
    longest = np.array([source_lengths.max(), target_lengths.max()], dtype=np.int64)
    row = -(-longest.max() // _ROW_MULTIPLE) * _ROW_MULTIPLE
    tokens = np.array([source_lengths.sum(), target_lengths.sum()], dtype=np.float64)
    lengths = np.ceil(row * tokens / tokens.max()).astype(np.int64)
    # Multiples of 8 are enough: a finer choice of length would hardly save padding.
    lengths = -(-lengths // 8) * 8
    return tuple(int(n) for n in np.clip(lengths, longest, min(row, tokens_per_batch)))
