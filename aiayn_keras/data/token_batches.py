"""Batches of similar length under a token budget, with few shapes and exact resume (paper 5.1)."""

import threading

import numpy as np

from aiayn_keras.data.batch_arrays import make_batch
from aiayn_keras.data.batch_order import interleave
from aiayn_keras.data.batch_sequence import BatchSequence, checked_index
from aiayn_keras.data.batch_shapes import batch_sizes, choose_shapes
from aiayn_keras.data.token_pairs import Pairs


class TokenBatches(BatchSequence):
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

    With the TensorFlow backend Keras takes a dimension for static if the first two batches of a
    data set agree in it, so start where they differ: with no shape in the majority that is
    everywhere, and else at the start of any epoch.

    Args:
        pairs: `TokenPairs`, `TokenShards` or `SampledPairs`.
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
        ValueError: If a pair (with its end id) is longer than `tokens_per_batch`, or an argument is
            out of range.

    Example:
    >>> from aiayn_keras.data import TokenPairs
    >>> pairs = TokenPairs([[5, 6], [7]], [[8], [9, 9]])
    >>> batches = TokenBatches(pairs, tokens_per_batch=12, max_shapes=1)
    >>> batches.shapes, batches.steps_per_epoch
    (((2, 3, 3),), 1)
    >>> x, y, sample_weight = TokenBatches(TokenPairs([[5, 6]], [[8]]), tokens_per_batch=12)[0]
    >>> x["encoder_token_ids"].tolist(), x["decoder_token_ids"].tolist(), y.tolist()
    ([[5, 6, 3]], [[2, 8]], [[8, 3]])
    """

    def __init__(
        self,
        pairs: Pairs,
        *,
        tokens_per_batch: int,
        max_shapes: int = 8,
        seed: int = 0,
        start_id: int = 2,
        end_id: int = 3,
        pad_id: int = 0,
        shuffle: bool = True,
    ):
        if max_shapes < 1 or seed < 0:
            raise ValueError(
                "`max_shapes` must be at least 1 and `seed` must not be negative. "
                f"Received: max_shapes={max_shapes}, seed={seed}."
            )
        self.seed, self.shuffle = seed, shuffle
        self._ids = {"start_id": start_id, "end_id": end_id, "pad_id": pad_id}
        self.pairs = pairs
        # With the end id.
        source_lengths = np.asarray(pairs.source_lengths, dtype=np.int32) + 1
        target_lengths = np.asarray(pairs.target_lengths, dtype=np.int32) + 1
        check_lengths(source_lengths, target_lengths, tokens_per_batch)

        pads, member = choose_shapes(source_lengths, target_lengths, max_shapes)
        # Pair numbers of every shape, in corpus order.
        self._members = [np.flatnonzero(member == k).astype(np.int32) for k in range(len(pads))]
        counts = np.array([len(numbers) for numbers in self._members])
        rows, self._steps = batch_sizes(pads, counts, tokens_per_batch)
        self.shapes = tuple((int(b), int(s), int(t)) for b, (s, t) in zip(rows, pads, strict=True))
        self.steps_per_epoch = int(self._steps.sum())
        self.real_source_tokens = int(source_lengths.sum())
        self.real_target_tokens = int(target_lengths.sum())
        positions = int((self._steps * rows * pads.sum(axis=1)).sum())
        self.padding_share = 1 - (self.real_source_tokens + self.real_target_tokens) / positions
        self._epochs = {}
        self._lock = threading.Lock()

    def batch(self, index: int):
        shape, numbers = self._locate(index)
        sides = self.pairs.read(numbers, index // self.steps_per_epoch)
        return make_batch(self.shapes[shape], sides, np.arange(len(numbers)), **self._ids)

    def __repr__(self) -> str:
        return (
            f"TokenBatches(pairs={sum(map(len, self._members)):,}, shapes={self.shapes}, "
            f"steps_per_epoch={self.steps_per_epoch:,}, padding_share={self.padding_share:.3f})"
        )

    def pair_numbers(self, index: int) -> np.ndarray:
        """Which pairs of the corpus fill the rows of batch `index`, in the order of the rows."""
        return self._locate(checked_index(index))[1]

    def _locate(self, index):
        """Shape number and pair numbers of a batch."""
        epoch, step = divmod(index, self.steps_per_epoch)
        order, slots, members = self._epoch(epoch if self.shuffle else 0)
        shape, rows = order[step], self.shapes[order[step]][0]
        return shape, members[shape][slots[step] * rows : (slots[step] + 1) * rows]

    def _epoch(self, epoch):
        """Shape of every step, its place among that shape's batches, and the shuffled pairs."""
        with self._lock:
            if epoch not in self._epochs:
                members = self._members
                rng = np.random.default_rng([self.seed, epoch])
                if self.shuffle:
                    members = [rng.permutation(numbers) for numbers in members]
                order = self._order(epoch, rng)
                slots = np.zeros_like(order)
                for shape, steps in enumerate(self._steps):
                    slots[order == shape] = np.arange(steps)
                # Prefetching reaches one epoch ahead: two are enough.
                self._epochs = dict([*self._epochs.items(), (epoch, (order, slots, members))][-2:])
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


def check_lengths(source_lengths, target_lengths, tokens_per_batch):
    """Refuses a pair that alone, end ids included, is more than a batch."""
    longest = np.maximum(source_lengths, target_lengths)
    if longest.max() > tokens_per_batch:
        pair = int((longest > tokens_per_batch).argmax())
        raise ValueError(
            "`tokens_per_batch` must hold every pair. "
            f"Received: tokens_per_batch={tokens_per_batch}, but pair {pair} (counted from 0) has "
            f"{source_lengths[pair]} source and {target_lengths[pair]} target tokens, end ids "
            "included. Raise `tokens_per_batch` or drop long pairs with `filter_pairs`."
        )
