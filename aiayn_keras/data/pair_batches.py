"""Batches of pairs: access by index, the arrays for the model, and several pairs in a row.

`BatchSequence` is an endless, indexed sequence of batches, also available as a Grain data set.
`PairBatches` adds the conversion of token pairs to padded arrays. `PackedBatches` have one shape
and several pairs in each row; `TokenBatches` is the subclass with similar lengths.

Grain can pack too (`FirstFitPackIterDataset`), but it packs while it reads and keeps no index. A
run could not resume in the middle of an epoch with exactly the batches that were due next, so this
package packs pairs itself.
"""

import abc
import functools
import operator
import sys
from collections.abc import Iterator

import numpy as np

from aiayn_keras.data.token_pairs import Pairs, Tokens, ragged_places

_ROW_MULTIPLE = 64
_CHUNK = 2**15
"""Number of pairs packed together: a pair is only placed in rows opened by its own chunk."""


def _make_batch(shape, sides, rows, *, start_id, end_id, pad_id, source_end=True):
    """Arranges pairs in rows, with one pair or several consecutive pairs in each row.

    The encoder reads the source ids and the end id, the decoder reads the start id and the target
    ids, and the labels are the target ids and the end id. Masks number the pairs in a row from 1.

    Args:
        shape: Tuple `(B, S, T)`.
        sides: Source and target `Tokens` of the pairs.
        rows: Ascending integer array `(pairs,)`: the row of each pair.
        start_id: First id of each target in the decoder input.
        end_id: Last id of each source and of its labels.
        pad_id: Id at padded positions.
        source_end: Whether the encoder reads the end id.

    Returns:
        A tuple `(x, y, sample_weight)`: the dictionary of the model's four inputs and the labels
        `(B, T)`, all int32, and float32 weights `(B, T)`, 1 for labels and 0 for padding.
    """
    B, S, T = shape
    source = _with_end(sides[0], end_id) if source_end else sides[0]
    target = _with_end(sides[1], end_id)
    first = np.searchsorted(rows, rows)  # the first pair of the pair's row
    numbers = np.arange(len(rows)) - first + 1
    encoder_ids, encoder_mask, _ = _scatter(source, rows, first, numbers, (B, S), pad_id)
    labels, decoder_mask, places = _scatter(target, rows, first, numbers, (B, T), pad_id)
    # The decoder input is the labels, shifted right by one position to begin with the start id.
    decoder_ids = np.full_like(labels, pad_id)
    begins = np.cumsum(target.lengths) - target.lengths
    shifted = np.roll(target.ids, 1)
    shifted[begins] = start_id
    decoder_ids.flat[places] = shifted
    x = {
        "encoder_token_ids": encoder_ids,
        "encoder_padding_mask": encoder_mask,
        "decoder_token_ids": decoder_ids,
        "decoder_padding_mask": decoder_mask,
    }
    return x, labels, (decoder_mask > 0).astype(np.float32)


def _with_end(tokens, end_id):
    """Appends the end id to each sequence."""
    lengths = tokens.lengths.astype(np.int64) + 1
    ends = np.cumsum(lengths) - 1
    ids = np.full(lengths.sum(), end_id, dtype=np.int32)
    is_piece = np.ones(len(ids), dtype=bool)
    is_piece[ends] = False
    ids[is_piece] = tokens.ids
    return Tokens(ids, lengths)


def _scatter(tokens, rows, first, numbers, shape, pad_id):
    """Returns ids and mask of `shape` with the tokens in place, and the tokens' flat indices."""
    before = np.cumsum(tokens.lengths) - tokens.lengths
    columns = before - before[first]
    places = ragged_places(rows * shape[1] + columns, tokens.lengths)
    ids = np.full(shape, pad_id, dtype=np.int32)
    mask = np.zeros(shape, dtype=np.int32)
    ids.flat[places] = tokens.ids
    mask.flat[places] = np.repeat(numbers, tokens.lengths)
    return ids, mask, places


class BatchSequence(abc.ABC):
    """An endless sequence of batches, accessed by index.

    Index `i` is step `i % steps_per_epoch` of epoch `i // steps_per_epoch`. A subclass defines
    `batch(index)`, whose result must not depend on earlier calls.

    Attributes:
        steps_per_epoch: Number of batches per epoch.
    """

    steps_per_epoch: int

    @abc.abstractmethod
    def batch(self, index: int):
        """Computes the batch `(x, y, sample_weight)` with a non-negative index."""

    def __len__(self) -> int:
        """Number of batches per epoch; larger indices continue with the following epochs."""
        return self.steps_per_epoch

    def __iter__(self) -> Iterator:
        """Iterates over the batches of the first epoch."""
        return (self[step] for step in range(self.steps_per_epoch))

    def __getitem__(self, index: int):
        """The batch `(x, y, sample_weight)` at step `index`, counted from the first epoch."""
        return self.batch(_checked_index(index))

    def to_iter_dataset(self, start_step: int = 0, num_steps: int | None = None, prefetch: int = 2):
        """Returns these batches as a Grain data set.

        Pass it to `model.fit(dataset, steps_per_epoch=batches.steps_per_epoch, shuffle=False)`:
        without `shuffle=False` Keras warns that it cannot shuffle a Grain data set.

        The state of an iterator (`get_state`, `set_state`) is the number of batches since
        `start_step`. An iterator with a restored state continues with exactly the batches that were
        due next; `to_iter_dataset(start_step=n)` does the same without a state. With the TensorFlow
        backend, Keras treats every dimension in which the first two batches agree as static. If one
        shape of `TokenBatches` has the majority of batches, start at the beginning of an epoch.

        Args:
            start_step: Index of the first batch, counted from the first epoch.
            num_steps: Number of batches; `None` for an endless data set.
            prefetch: Number of batches that a thread prepares in advance; 0 for none.

        Returns:
            A `grain.IterDataset` of `(x, y, sample_weight)`.

        Raises:
            ValueError: If `start_step` or `prefetch` is negative.
        """
        import grain  # slow: also loads JAX if it is installed

        if start_step < 0 or prefetch < 0:
            raise ValueError(
                "`start_step` and `prefetch` must not be negative. "
                f"Received: start_step={start_step}, prefetch={prefetch}."
            )
        stop = sys.maxsize if num_steps is None else start_step + num_steps
        options = grain.ReadOptions(num_threads=1 if prefetch else 0, prefetch_buffer_size=prefetch)
        steps = grain.MapDataset.range(start_step, stop)
        return steps.map(self.batch).to_iter_dataset(options)


def _checked_index(index):
    """Returns an index as an int, or raises an `IndexError` if it is negative."""
    index = operator.index(index)
    if index < 0:
        raise IndexError(f"A batch index must not be negative. Received: {index}.")
    return index


class PairBatches(BatchSequence):
    """Training batches of token pairs, in a different order in each epoch.

    Every batch is a tuple `(x, y, sample_weight)`, as `keras.Model.fit` expects. The encoder reads
    the source ids and the end id, the decoder reads the start id and the target ids, and the labels
    `y` are the target ids and the end id. Padding has mask 0 and weight 0.

    Each epoch contains every pair exactly once, in an order that depends only on `(seed, epoch)`.

    A subclass plans the shapes once (`_plan`), lays out each epoch (`_lay_out`) and looks up single
    batches in that layout (`_locate`).

    Args:
        pairs: `TokenPairs`, `TokenShards` or `SampledPairs`.
        tokens_per_batch: Maximum number of positions per side of a batch, padding included:
            `B * max(S, T) <= tokens_per_batch`. The paper uses about 25,000.
        seed: Non-negative seed of the order.
        start_id: First id of each target in the decoder input.
        end_id: Last id of each source and of its labels.
        pad_id: Id at padded positions.
        source_end: Whether the encoder reads the end id.
        shuffle: Whether each epoch has a different order; if not, all epochs are the same.

    Attributes:
        shapes: Tuple of the shapes `(B, S, T)` in use, shortest first.
        steps_per_epoch: Number of batches per epoch.
        padding_share: Share of encoder and decoder positions that are padding, in [0, 1).
        real_source_tokens: Number of encoder tokens per epoch, padding excluded.
        real_target_tokens: Number of labels per epoch, padding excluded and end ids included.

    Raises:
        ValueError: If a pair (including its end id) is longer than `tokens_per_batch`, or `seed` is
            negative.
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
        # End ids included.
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
        # Prefetching may already read the next epoch while this one is in use.
        self._epoch = functools.lru_cache(maxsize=2)(self._lay_out)

    @abc.abstractmethod
    def _plan(self, source_lengths, target_lengths, tokens_per_batch):
        """Returns the shapes `(B, S, T)` and the number of batches per epoch of each, as ints."""

    @abc.abstractmethod
    def _lay_out(self, epoch):
        """Returns the order of an epoch, in the form that `_locate` expects."""

    @abc.abstractmethod
    def _locate(self, layout, step):
        """Returns the index of a batch's shape, its pair numbers, and the row of each pair."""

    def batch(self, index: int):
        shape, numbers, rows = self._find(index)
        sides = self.pairs.read(numbers, index // self.steps_per_epoch)
        return _make_batch(self.shapes[shape], sides, rows, **self._options)

    def pair_numbers(self, index: int) -> np.ndarray:
        """Returns the numbers of the pairs in batch `index`, row by row."""
        return self._find(_checked_index(index))[1]

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
    """Raises a `ValueError` for a pair that does not fit into a batch, end ids included."""
    longest = np.maximum(source_lengths, target_lengths)
    if longest.max() > tokens_per_batch:
        pair = int((longest > tokens_per_batch).argmax())
        raise ValueError(
            "`tokens_per_batch` must be large enough for every pair. "
            f"Received: tokens_per_batch={tokens_per_batch}, but pair {pair} (counted from 0) has "
            f"{source_lengths[pair]} source and {target_lengths[pair]} target tokens, end ids "
            "included. Increase `tokens_per_batch`, or drop long pairs with `filter_pairs` or with "
            "`batches.max_length` in a recipe."
        )


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
