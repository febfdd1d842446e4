"""Batches of similar length under a token budget, with few shapes and exact resume (paper 5.1)."""

import operator
import sys
import threading
from collections.abc import Iterator, Sequence

import grain
import numpy as np

from aiayn_keras.data.batch_order import interleave
from aiayn_keras.data.batch_shapes import batch_sizes, choose_shapes


class TokenBatches:
    """Training batches by approximate sequence length, as in the paper's section 5.1.

    Every batch is `(x, y, sample_weight)` as `keras.Model.fit` takes it. The encoder reads the
    source pieces and the end id; the decoder reads the start id and the target pieces; the labels
    `y` are the target pieces and the end id. At most `max_shapes` different shapes occur, so that
    a compiled training step is compiled at most that often. Rows that a shape's last batch lacks
    are empty: padding ids, masks 0, weights 0.

    Batch `i` is step `i % steps_per_epoch` of epoch `i // steps_per_epoch`. Each epoch holds every
    pair exactly once, in an order that depends on `(seed, epoch)` alone: which pairs share a batch
    and which batch comes when. Neighbouring batches differ in every dimension where the counts
    allow, over the edges of epochs as well, and the first two of an epoch always do.

    Args:
        source_ids: One sequence of token ids per pair (lists or 1-D integer arrays), without
            special ids.
        target_ids: The same for the target side.
        tokens_per_batch: Largest number of positions of a batch per side, padding included:
            `B * max(S, T) <= tokens_per_batch`. The paper uses about 25,000.
        max_shapes: Most different `(B, S, T)` to use. More shapes, less padding.
        seed: Seed of the order, not negative.
        start_id: Id that starts the decoder input.
        end_id: Id that ends the encoder input and the labels.
        pad_id: Id at padded positions.
        shuffle: Whether each epoch has an order of its own. Without, all epochs are alike and
            pairs of one shape keep their order.

    Attributes:
        shapes: Tuple of the `(B, S, T)` in use, short ones first.
        steps_per_epoch: Batches per epoch.
        padding_share: Share of encoder and decoder positions that are padding, in [0, 1).
        real_source_tokens: Encoder tokens per epoch that are not padding.
        real_target_tokens: Labels per epoch that are not padding, end ids included.

    Raises:
        ValueError: If the sides differ in number, there is no pair, a pair (with its end id) is
            longer than `tokens_per_batch`, or an argument is out of range.

    Example:
    >>> batches = TokenBatches([[5, 6], [7]], [[8], [9, 9]], tokens_per_batch=12, max_shapes=1)
    >>> batches.shapes, batches.steps_per_epoch
    (((2, 3, 3),), 1)
    >>> x, y, sample_weight = TokenBatches([[5, 6]], [[8]], tokens_per_batch=12)[0]
    >>> x["encoder_token_ids"].tolist(), x["decoder_token_ids"].tolist(), y.tolist()
    ([[5, 6, 3]], [[2, 8]], [[8, 3]])
    """

    def __init__(
        self,
        source_ids: Sequence,
        target_ids: Sequence,
        *,
        tokens_per_batch: int,
        max_shapes: int = 8,
        seed: int = 0,
        start_id: int = 2,
        end_id: int = 3,
        pad_id: int = 0,
        shuffle: bool = True,
    ):
        if len(source_ids) != len(target_ids) or len(source_ids) == 0:
            raise ValueError(
                "`source_ids` and `target_ids` must hold the same number of sequences, at least "
                f"one. Received: {len(source_ids)} and {len(target_ids)}."
            )
        if max_shapes < 1 or seed < 0:
            raise ValueError(
                "`max_shapes` must be at least 1 and `seed` must not be negative. "
                f"Received: max_shapes={max_shapes}, seed={seed}."
            )
        self.seed, self.shuffle = seed, shuffle
        self.start_id, self.pad_id = start_id, pad_id
        self._source, self._source_starts = _flatten(source_ids, end_id)
        self._target, self._target_starts = _flatten(target_ids, end_id)
        source_lengths = np.diff(self._source_starts)
        target_lengths = np.diff(self._target_starts)
        _check_lengths(source_lengths, target_lengths, tokens_per_batch)

        pads, member = choose_shapes(source_lengths, target_lengths, max_shapes)
        # Pair numbers of every shape, in corpus order.
        self._pairs = [np.flatnonzero(member == k) for k in range(len(pads))]
        members = np.array([len(pairs) for pairs in self._pairs])
        rows, self._steps = batch_sizes(pads, members, tokens_per_batch)
        self.shapes = tuple((int(b), int(s), int(t)) for b, (s, t) in zip(rows, pads, strict=True))
        self.steps_per_epoch = int(self._steps.sum())
        self.real_source_tokens = int(source_lengths.sum())
        self.real_target_tokens = int(target_lengths.sum())
        positions = int((self._steps * rows * pads.sum(axis=1)).sum())
        self.padding_share = 1 - (self.real_source_tokens + self.real_target_tokens) / positions
        self._epochs = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Batches per epoch. An index may go beyond: the epochs follow each other without end."""
        return self.steps_per_epoch

    def __iter__(self) -> Iterator:
        """The batches of the first epoch."""
        return (self[step] for step in range(self.steps_per_epoch))

    def __getitem__(self, index: int):
        """The batch `(x, y, sample_weight)` of step `index`, counted from the first epoch on."""
        shape, pairs = self._locate(index)
        rows, source_length, target_length = self.shapes[shape]
        encoder_ids, encoder_mask = self._pad(
            self._source, self._source_starts, pairs, rows, source_length
        )
        labels, decoder_mask = self._pad(
            self._target, self._target_starts, pairs, rows, target_length
        )
        decoder_ids = np.full_like(labels, self.pad_id)
        decoder_ids[: len(pairs), 0] = self.start_id
        # The decoder reads the labels one position later, without the end id.
        decoder_ids[:, 1:] = np.where(decoder_mask[:, 1:] == 1, labels[:, :-1], self.pad_id)
        x = {
            "encoder_token_ids": encoder_ids,
            "encoder_padding_mask": encoder_mask,
            "decoder_token_ids": decoder_ids,
            "decoder_padding_mask": decoder_mask,
        }
        return x, labels, decoder_mask.astype(np.float32)

    def __repr__(self) -> str:
        return (
            f"TokenBatches(pairs={sum(map(len, self._pairs)):,}, shapes={self.shapes}, "
            f"steps_per_epoch={self.steps_per_epoch:,}, padding_share={self.padding_share:.3f})"
        )

    def pair_numbers(self, index: int) -> np.ndarray:
        """Which pairs of the corpus fill the rows of batch `index`, in the order of the rows."""
        return self._locate(index)[1]

    def to_iter_dataset(
        self, start_step: int = 0, num_steps: int | None = None, prefetch: int = 2
    ) -> grain.IterDataset:
        """These batches as a Grain data set.

        For `model.fit(dataset, steps_per_epoch=batches.steps_per_epoch, shuffle=False)`: Keras
        warns that it cannot shuffle a Grain data set unless told not to.

        The state of its iterators (`get_state`, `set_state`) counts batches since `start_step`;
        an iterator that is given a state goes on with exactly the batches that were to come.
        `to_iter_dataset(start_step=n)` does the same without a state.

        With the TensorFlow backend Keras takes a dimension for static if the first two batches of
        a data set agree in it, so start where they differ: with no shape in the majority that is
        everywhere, and else at the start of any epoch.

        Args:
            start_step: The batch to start with, counted from the first epoch on.
            num_steps: How many batches to give; `None` for no end.
            prefetch: Batches that a thread prepares ahead; 0 for none.

        Returns:
            A `grain.IterDataset` of `(x, y, sample_weight)`.
        """
        if start_step < 0 or prefetch < 0:
            raise ValueError(
                "`start_step` and `prefetch` must not be negative. "
                f"Received: start_step={start_step}, prefetch={prefetch}."
            )
        steps = _Steps(self, start_step, sys.maxsize if num_steps is None else num_steps)
        options = grain.ReadOptions(num_threads=1 if prefetch else 0, prefetch_buffer_size=prefetch)
        return grain.MapDataset.source(steps).to_iter_dataset(options)

    def _locate(self, index):
        """Shape number and pair numbers of a batch."""
        index = operator.index(index)
        if index < 0:
            raise IndexError(f"A batch index must not be negative. Received: {index}.")
        epoch, step = divmod(index, self.steps_per_epoch)
        order, slots, pairs = self._epoch(epoch if self.shuffle else 0)
        shape, rows = order[step], self.shapes[order[step]][0]
        return shape, pairs[shape][slots[step] * rows : (slots[step] + 1) * rows]

    def _epoch(self, epoch):
        """Shape of every step, its place among that shape's batches, and the shuffled pairs."""
        with self._lock:
            if epoch not in self._epochs:
                pairs = self._pairs
                rng = np.random.default_rng([self.seed, epoch])
                if self.shuffle:
                    pairs = [rng.permutation(numbers) for numbers in pairs]
                order = self._order(epoch, rng)
                slots = np.zeros_like(order)
                for shape, steps in enumerate(self._steps):
                    slots[order == shape] = np.arange(steps)
                # Prefetching reaches one epoch ahead: two are enough.
                self._epochs = dict([*self._epochs.items(), (epoch, (order, slots, pairs))][-2:])
            return self._epochs[epoch]

    def _order(self, epoch, rng):
        """The shape of every step: not that of the step before, over an epoch's edge as well."""
        if len(self._steps) == 1:
            return interleave(self._steps, rng)
        last, before = self._last_shape(epoch), self._last_shape(epoch - 1) if epoch else -1
        for _ in range(200):  # One in about `max_shapes` fits; without a majority one is found.
            order = interleave(self._steps, rng)
            if order[-1] == last and order[0] != before:
                break
        return order

    def _last_shape(self, epoch):
        """The shape that ends an epoch, drawn before its order."""
        weights = self._steps / self._steps.sum()
        return np.random.default_rng([self.seed, epoch, 1]).choice(len(weights), p=weights)

    def _pad(self, tokens, starts, pairs, rows, length):
        """Ids `(rows, length)` of some pairs, and their padding mask."""
        lengths = np.zeros((rows, 1), dtype=np.int64)
        lengths[: len(pairs), 0] = starts[pairs + 1] - starts[pairs]
        first = np.zeros((rows, 1), dtype=np.int64)
        first[: len(pairs), 0] = starts[pairs]
        column = np.arange(length)
        real = column < lengths
        ids = np.where(real, tokens[np.where(real, first + column, 0)], self.pad_id)
        return ids.astype(np.int32), real.astype(np.int32)


class _Steps:
    """A window of steps, with the length that Grain wants to know."""

    def __init__(self, batches, start, count):
        self._batches, self._start, self._count = batches, start, count

    def __len__(self):
        return self._count

    def __getitem__(self, index):
        return self._batches[self._start + index]


def _flatten(sequences, end_id):
    """All sequences, each with the end id, in one array, and where each starts (and the end)."""
    parts = [np.asarray(ids, dtype=np.int32).reshape(-1) for ids in sequences]
    starts = np.zeros(len(parts) + 1, dtype=np.int64)
    np.cumsum([len(part) + 1 for part in parts], out=starts[1:])
    tokens = np.full(starts[-1], end_id, dtype=np.int32)
    real = np.ones(starts[-1], dtype=bool)
    real[starts[1:] - 1] = False
    tokens[real] = np.concatenate(parts)
    return tokens, starts


def _check_lengths(source_lengths, target_lengths, tokens_per_batch):
    """Refuse a pair that alone is more than a batch."""
    longest = np.maximum(source_lengths, target_lengths)
    if longest.max() > tokens_per_batch:
        pair = int((longest > tokens_per_batch).argmax())
        raise ValueError(
            "`tokens_per_batch` must hold every pair. "
            f"Received: tokens_per_batch={tokens_per_batch}, but pair {pair} (counted from 0) has "
            f"{source_lengths[pair]} source and {target_lengths[pair]} target tokens, end ids "
            "included. Raise `tokens_per_batch` or drop long pairs with `filter_pairs`."
        )
