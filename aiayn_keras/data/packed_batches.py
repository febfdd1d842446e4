"""Several pairs in one row: first-fit packing of two lengths at once."""

import numpy as np

from aiayn_keras.data.pair_batches import PairBatches
from aiayn_keras.data.token_pairs import ragged_places

CHUNK = 2**15
"""Pairs that are packed together: a chunk looks through its own open rows only."""


def first_fit(source_lengths, target_lengths, source_room: int, target_room: int) -> np.ndarray:
    """Puts every pair into the first row that has room for both sides, long pairs first.

    Args:
        source_lengths: Integer array `(pairs,)`, in tokens, end ids included.
        target_lengths: The same for the target side.
        source_room: Source tokens that a row holds, at least the longest source.
        target_room: Target tokens that a row holds, at least the longest target.

    Returns:
        Int32 array `(pairs,)` of each pair's row, counted from 0.

    Example:
    >>> first_fit(np.array([3, 2, 1]), np.array([3, 4, 1]), source_room=4, target_room=5).tolist()
    [0, 1, 0]
    """
    rows = np.empty(len(source_lengths), dtype=np.int32)
    num_rows = 0
    for start in range(0, len(rows), CHUNK):
        chunk = slice(start, start + CHUNK)
        sides = source_lengths[chunk], target_lengths[chunk]
        rows[chunk] = num_rows + _pack(*sides, source_room, target_room)
        num_rows = int(rows[chunk].max()) + 1
    return rows


def _pack(source_lengths, target_lengths, source_room, target_room):
    """The rows of one chunk."""
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


ROW_MULTIPLE = 64


class PackedBatches(PairBatches):
    """Training batches of one shape, rows filled with pairs: little padding, one compilation.

    A row holds several pairs, one after the other; the masks number them 1, 2, 3 …, by which the
    model keeps them apart. A row is as long as the next multiple of 64 above the longest side, in
    proportion to the corpus' tokens on the other side.

    The pairs' lengths are packed once. Each epoch gives the pairs of equal lengths each other's
    places and shuffles the rows. Arguments, attributes and errors are those of `PairBatches`.

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
        B = -(-rows // steps)  # Few rows of the last batch are empty.
        # Pairs in the order of rows. A place in this order is for a pair of the same lengths.
        self._pairs = np.argsort(row_of_pair, kind="stable").astype(np.int32)
        self._row_starts = np.searchsorted(
            row_of_pair[self._pairs], np.arange(steps * B + 1)
        ).astype(np.int32)
        self._lengths = (source_lengths * (T + 1) + target_lengths)[self._pairs]
        return ((B, S, T),), (steps,)

    def _lay_out(self, epoch):
        """The pair of every place, and the order of the rows."""
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
        """Another pair of the same lengths for every place."""
        by_lengths = np.argsort(self._lengths, kind="stable")
        shuffled = rng.permutation(len(by_lengths))
        shuffled = shuffled[np.argsort(self._lengths[shuffled], kind="stable")]
        pairs = np.empty_like(self._pairs)
        pairs[by_lengths] = self._pairs[shuffled]
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
