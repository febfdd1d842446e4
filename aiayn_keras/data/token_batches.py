"""Batches of similar length under a token budget, with few shapes and exact resume (paper 5.1)."""

import numpy as np

from aiayn_keras.data.batch_shapes import batch_sizes, choose_shapes, interleave
from aiayn_keras.data.pair_batches import PairBatches
from aiayn_keras.data.token_pairs import Pairs


class TokenBatches(PairBatches):
    """Training batches by approximate sequence length, as in the paper's section 5.1.

    At most `max_shapes` different shapes occur, so that a compiled training step is compiled at
    most that often. Rows that a shape's last batch lacks are empty. Without shuffling, pairs of one
    shape keep their order.

    Neighbouring batches differ in every dimension where the counts allow, over the edges of epochs
    as well, and the first two of an epoch always do. With the TensorFlow backend Keras takes a
    dimension for static if the first two batches of a data set agree in it, so start where they
    differ: with no shape in the majority that is everywhere, and else at the start of any epoch.

    Args:
        pairs: `TokenPairs`, `TokenShards` or `SampledPairs`.
        tokens_per_batch: Largest number of positions of a batch per side, padding included.
        max_shapes: Most different `(B, S, T)` to use. More shapes, less padding.
        **options: `seed`, `shuffle` and the special ids; see `PairBatches`, also for the
            attributes.

    Raises:
        ValueError: If `max_shapes` is below 1, or as `PairBatches` does.

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

    def __init__(self, pairs: Pairs, *, tokens_per_batch: int, max_shapes: int = 8, **options):
        if max_shapes < 1:
            raise ValueError(f"`max_shapes` must be at least 1. Received: max_shapes={max_shapes}.")
        self.max_shapes = max_shapes
        super().__init__(pairs, tokens_per_batch=tokens_per_batch, **options)

    def _plan(self, source_lengths, target_lengths, tokens_per_batch):
        sides, member = choose_shapes(source_lengths, target_lengths, self.max_shapes)
        # Pair numbers of every shape, in corpus order.
        self._members = [np.flatnonzero(member == k).astype(np.int32) for k in range(len(sides))]
        rows, self._steps = batch_sizes(sides, np.bincount(member), tokens_per_batch)
        shapes = np.column_stack([rows, sides]).tolist()
        return tuple(map(tuple, shapes)), self._steps.tolist()

    def _lay_out(self, epoch):
        """Shape of every step, its place among that shape's batches, and the shuffled pairs."""
        rng = np.random.default_rng([self.seed, epoch])
        members = self._members
        if self.shuffle:
            members = [rng.permutation(numbers) for numbers in members]
        order = self._order(epoch, rng)
        slots = np.zeros_like(order)
        for shape, steps in enumerate(self._steps):
            slots[order == shape] = np.arange(steps)
        return order, slots, members

    def _locate(self, layout, step):
        order, slots, members = layout
        shape, slot = order[step], slots[step]
        B = self.shapes[shape][0]
        numbers = members[shape][slot * B : (slot + 1) * B]
        return shape, numbers, np.arange(len(numbers))

    def _order(self, epoch, rng):
        """The shape of every step: not that of the step before, over an epoch's edge as well."""
        last, before = self._last_shape(epoch), self._last_shape(epoch - 1) if epoch else -1
        for _ in range(200):  # One in about `max_shapes` fits; without a majority one is found.
            order = interleave(self._steps, rng)
            if len(self._steps) == 1 or (order[-1] == last and order[0] != before):
                break
        return order

    def _last_shape(self, epoch):
        """The shape that ends an epoch, drawn before its order."""
        weights = self._steps / self._steps.sum()
        return np.random.default_rng([self.seed, epoch, 1]).choice(len(weights), p=weights)
