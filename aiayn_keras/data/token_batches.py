"""Batches of pairs with similar lengths and few different shapes (paper 5.1).

`choose_shapes` finds lengths to pad to, `batch_sizes` the rows of each shape, and `interleave` an
order in which neighbouring batches differ; `TokenBatches` combines them.

Of batches that are divided among processes or accumulated over steps, `UpdateBatches` weights every
token for a mean over the whole update; `ProcessRows` then takes the rows of one process.
"""

import dataclasses
import functools
import itertools

import numpy as np

from aiayn_keras.data.pair_batches import BatchSequence, PairBatches
from aiayn_keras.data.token_pairs import Pairs

_MAX_GRID = 64


def choose_shapes(source_lengths, target_lengths, max_shapes: int):
    """Chooses source and target lengths to pad to, and assigns a shape to every pair.

    A pair with lengths `(s, t)` fits a shape `(S, T)` if `s <= S` and `t <= T`; it then takes up
    `S + T` positions. S and T are chosen independently. Shapes are added one at a time, each where
    it saves the most positions. Then each shape in turn is removed and added again at the best
    place, until the number of positions no longer falls. No two shapes share an S or a T, because
    Keras treats every dimension in which the first two batches of a data set agree as static.

    Args:
        source_lengths: Integer array `(pairs,)`, in tokens.
        target_lengths: Integer array `(pairs,)`, in tokens.
        max_shapes: Maximum number of shapes, at least 1.

    Returns:
        Integer array `(shapes, 2)` of the shapes, shortest first, and integer array `(pairs,)` of
        the index of each pair's shape.
    """
    sources, counts_s = _grid(source_lengths)
    targets, counts_t = _grid(target_lengths)
    counts = np.zeros((len(sources), len(targets)))
    np.add.at(counts, (counts_s, counts_t), 1)
    corners = np.asarray(_search(counts, sources, targets, max_shapes))
    shapes = np.stack([sources[corners[:, 0]], targets[corners[:, 1]]], axis=1)
    shapes, member = _assign(source_lengths, target_lengths, shapes)
    shapes = _make_distinct(shapes)
    order = np.lexsort((shapes[:, 1], shapes.sum(axis=1)))
    return shapes[order], np.argsort(order)[member]


def _grid(lengths):
    """Divides lengths into at most `_MAX_GRID` bins; returns upper edges and each length's bin."""
    edges = np.unique(lengths)
    if len(edges) > _MAX_GRID:
        quantiles = np.quantile(lengths, np.linspace(0, 1, _MAX_GRID), method="higher")
        edges = np.unique(quantiles)
    return edges, np.searchsorted(edges, lengths)


def _search(counts, sources, targets, max_shapes):
    """Finds the corners `(i, j)` of the shapes on the grid; the first shape fits every pair."""

    def with_best_corner(others, place):
        corner = _best_corner(counts, sources, targets, others)
        corners = [*others[:place], corner, *others[place:]]
        return (counts * _cell_costs(sources, targets, corners)).sum(), corners

    corners = [(len(sources) - 1, len(targets) - 1)]
    total = (counts * _cell_costs(sources, targets, corners)).sum()
    while len(corners) < max_shapes:
        cost, more = with_best_corner(corners, len(corners))
        if cost >= total:
            break
        total, corners = cost, more
    improved = True
    while improved:
        improved = False
        for k in range(1, len(corners)):
            cost, moved = with_best_corner(corners[:k] + corners[k + 1 :], k)
            if cost < total:
                total, corners, improved = cost, moved, True
    return corners


def _cell_costs(sources, targets, corners):
    """Computes the positions that a pair in each grid cell takes up in the cheapest shape."""
    cost = np.full((len(sources), len(targets)), float(sources[-1] + targets[-1]))
    for i, j in corners:
        block = cost[: i + 1, : j + 1]
        np.minimum(block, sources[i] + targets[j], out=block)
    return cost


def _best_corner(counts, sources, targets, others):
    """Finds the corner `(i, j)` that saves the most positions in addition to `others`.

    It shares no row or column with them. All corners with the same `S + T` save the same amount per
    cell, so a single cumulative sum over both axes of the grid evaluates all of them. Returns the
    largest shape again if no free corner saves anything.
    """
    cost = _cell_costs(sources, targets, others)
    positions = sources[:, None] + targets[None, :]
    saved = np.zeros(counts.shape)
    for price in np.unique(positions):
        here = positions == price
        per_cell = counts * np.maximum(cost - price, 0)
        saved[here] = per_cell.cumsum(axis=0).cumsum(axis=1)[here]
    for i, j in others:
        saved[i, :] = saved[:, j] = 0
    if not saved.any():
        return others[0]
    return np.unravel_index(saved.argmax(), saved.shape)


def _assign(source_lengths, target_lengths, shapes):
    """Assigns each pair to its cheapest shape, then shrinks the shapes to fit their pairs."""
    positions = shapes.sum(axis=1)
    member = np.full(len(source_lengths), -1)
    for k in np.argsort(-positions, kind="stable"):
        fits = (source_lengths <= shapes[k, 0]) & (target_lengths <= shapes[k, 1])
        member[fits] = k
    used, member = np.unique(member, return_inverse=True)
    shrunk = np.zeros((len(used), 2), dtype=np.int64)
    np.maximum.at(shrunk, member, np.stack([source_lengths, target_lengths], axis=1))
    return shrunk, member


def _make_distinct(shapes):
    """Increases lengths that are equal until all differ, by as little as possible.

    Only shrinking can make two lengths equal, so none grows beyond its value before shrinking.
    """
    shapes = shapes.copy()
    for side in (0, 1):
        order = np.argsort(shapes[:, side], kind="stable")
        for lower, upper in itertools.pairwise(order):
            shapes[upper, side] = max(shapes[upper, side], shapes[lower, side] + 1)
    return shapes


def batch_sizes(shapes, members, tokens_per_batch: int):
    """Computes the rows per batch and the batches per epoch for each shape.

    A shape needs `ceil(pairs / maximum rows)` batches. Dividing its pairs evenly among them leaves
    fewer empty rows than there are batches. No two shapes get the same number of rows (for the
    reason given in `choose_shapes`), unless the token budget makes it unavoidable.

    Args:
        shapes: Integer array `(shapes, 2)` of S and T.
        members: Integer array `(shapes,)`: the number of pairs with each shape.
        tokens_per_batch: Maximum of rows times `max(S, T)`.

    Returns:
        Two integer arrays `(shapes,)`: rows per batch and batches per epoch.
    """
    rows = np.zeros(len(shapes), dtype=np.int64)
    for k in np.argsort(members, kind="stable"):
        largest = tokens_per_batch // shapes[k].max()
        even = -(-members[k] // -(-members[k] // largest))
        free = np.setdiff1d(np.arange(1, largest + 1), rows)
        rows[k] = free[np.abs(free - even).argmin()] if free.size else even
    return rows, -(-members // rows)


def interleave(counts, rng) -> np.ndarray:
    """Draws a random order of `counts[k]` items of each kind `k` without equal neighbours.

    If more than half of the items are of one kind, there is no such order. The order is then random
    except that the second item differs from the first.

    Args:
        counts: Integer array `(kinds,)` of positive numbers.
        rng: A `numpy.random.Generator`.

    Returns:
        Integer array `(sum(counts),)` of kinds.
    """
    left = np.array(counts)
    total = int(left.sum())
    if 2 * left.max() > total + 1:
        order = rng.permutation(np.repeat(np.arange(len(left)), left))
        other = np.flatnonzero(order != order[0])
        if other.size:
            order[[1, other[0]]] = order[[other[0], 1]]
        return order
    order = np.empty(total, dtype=np.int64)
    previous = -1
    for place, draw in enumerate(rng.random(total)):
        most = left.argmax()
        if 2 * left[most] > total - place and most != previous:
            kind = most
        else:
            weights = left.copy()
            if previous >= 0:
                weights[previous] = 0
            kind = np.searchsorted(weights.cumsum(), draw * weights.sum(), side="right")
        order[place] = previous = kind
        left[kind] -= 1
    return order


class TokenBatches(PairBatches):
    """Training batches of pairs with similar lengths, as in section 5.1 of the paper.

    There are at most `max_shapes` different shapes, so a training step is compiled at most that
    many times. The last batch of a shape is filled up with empty rows. Without shuffling, pairs
    with the same shape stay in corpus order.

    Neighbouring batches differ in every dimension where the counts permit it, also across the end
    of an epoch; the first two batches of an epoch always do. With the TensorFlow backend, Keras
    treats every dimension in which the first two batches of a data set agree as static. So start a
    data set where two batches differ: anywhere if no shape has the majority of batches, otherwise
    at the beginning of an epoch.

    Args:
        pairs: `TokenPairs`, `TokenShards` or `SampledPairs`.
        tokens_per_batch: Maximum number of positions per side of a batch, padding included.
        max_shapes: Maximum number of different shapes `(B, S, T)`; more shapes need less padding.
        **options: `seed`, `shuffle` and the special ids, as in `PairBatches`, which also describes
            the attributes.

    Raises:
        ValueError: If `max_shapes` is less than 1, and for the reasons given in `PairBatches`.

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
        # Numbers of the pairs with each shape, in corpus order.
        self._members = [np.flatnonzero(member == k).astype(np.int32) for k in range(len(sides))]
        rows, self._steps = batch_sizes(sides, np.bincount(member), tokens_per_batch)
        shapes = np.column_stack([rows, sides]).tolist()
        return tuple(map(tuple, shapes)), self._steps.tolist()

    def _lay_out(self, epoch):
        """Returns each step's shape, its count among that shape's batches, and shuffled pairs."""
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
        """Draws the shapes of all steps, none the same as the one before, even across epochs."""
        last, before = self._last_shape(epoch), self._last_shape(epoch - 1) if epoch else -1
        for _ in range(200):  # about one in `max_shapes` fits, so without a majority one is found
            order = interleave(self._steps, rng)
            if len(self._steps) == 1 or (order[-1] == last and order[0] != before):
                break
        return order

    def _last_shape(self, epoch):
        """Draws the last shape of an epoch, before its order is drawn."""
        weights = self._steps / self._steps.sum()
        return np.random.default_rng([self.seed, epoch, 1]).choice(len(weights), p=weights)


@dataclasses.dataclass(frozen=True)
class ProcessRows:
    """Selects the rows of a batch for one process; for Grain's `map`.

    Empty rows (ids, masks and weights 0) are appended until the number of rows is a multiple of the
    number of devices. Each process then gets the same number of consecutive rows. The real rows
    stay in order, so training sees the same batches with any number of devices.

    Weights are not changed. Apply `UpdateBatches` first, since it divides by the number of real
    tokens and must see the rows of all processes.

    Args:
        num_devices: Total number of devices in all processes.
        num_processes: Number of processes, a divisor of `num_devices`.
        process: Number of this process, counted from 0.

    Raises:
        ValueError: If `num_devices` is not a multiple of `num_processes`, or `process` is out of
            range.

    Example:
    >>> from aiayn_keras.data import TokenBatches, TokenPairs
    >>> batches = TokenBatches(TokenPairs([[5], [6], [7]], [[8]] * 3), tokens_per_batch=12)
    >>> rows = ProcessRows(num_devices=4, num_processes=2, process=1)
    >>> x, y, sample_weight = next(iter(batches.to_iter_dataset().map(rows)))
    >>> x["encoder_padding_mask"].tolist(), sample_weight.tolist()
    ([[1, 1], [0, 0]], [[1.0, 1.0], [0.0, 0.0]])
    """

    num_devices: int
    num_processes: int = 1
    process: int = 0

    def __post_init__(self):
        """Checks the numbers."""
        if self.num_devices % self.num_processes or not 0 <= self.process < self.num_processes:
            raise ValueError(
                "`num_devices` must be a multiple of `num_processes`, and `process` less than "
                "`num_processes`. "
                f"Received: num_devices={self.num_devices}, num_processes={self.num_processes}, "
                f"process={self.process}."
            )

    def __call__(self, batch):
        """Returns the rows of a batch `(x, y, sample_weight)` for this process."""
        x, y, sample_weight = batch
        x = {name: self._own_rows(array) for name, array in x.items()}
        return x, self._own_rows(y), self._own_rows(sample_weight)

    def _own_rows(self, array):
        own = -(-len(array) // self.num_devices) * self.num_devices // self.num_processes
        kept = array[self.process * own : (self.process + 1) * own]
        missing = own - len(kept)
        return np.pad(kept, ((0, missing), (0, 0))) if missing else kept


class UpdateBatches(BatchSequence):
    """Batches with weights that make a summed loss the mean over an update's real tokens.

    The gradient of an update should be the mean over all of its real tokens, however they are
    distributed: among batches whose gradients are accumulated (Keras gives each batch the same
    weight, regardless of its number of real tokens) and among devices (each sees only its own
    rows). So a batch must not be divided by its own number of tokens. Instead, the weight of every
    real token is `batches_per_update` divided by the number of real tokens in the update. This is
    for a loss with reduction `"sum"` and an optimizer that averages `batches_per_update` gradients.

    Args:
        batches: A `BatchSequence` of `(x, y, sample_weight)` with weights 1 and 0.
        batches_per_update: The optimizer's `gradient_accumulation_steps`, or 1.

    Attributes:
        steps_per_epoch: Number of batches (not updates) per epoch.

    Example:
    >>> from aiayn_keras.data import TokenBatches, TokenPairs
    >>> batches = TokenBatches(TokenPairs([[5]], [[8, 8, 8]]), tokens_per_batch=12)
    >>> UpdateBatches(batches)[0][2].tolist()
    [[0.25, 0.25, 0.25, 0.25]]
    """

    def __init__(self, batches: BatchSequence, batches_per_update: int = 1):
        if batches_per_update < 1:
            raise ValueError(
                "`batches_per_update` must be at least 1. "
                f"Received: batches_per_update={batches_per_update}."
            )
        self.batches = batches
        self.batches_per_update = batches_per_update
        self.steps_per_epoch = batches.steps_per_epoch
        self._last_update = functools.lru_cache(maxsize=1)(self._weighted)

    def batch(self, index: int):
        update, place = divmod(index, self.batches_per_update)
        return self._last_update(update)[place]

    def _weighted(self, update):
        """Returns the batches of an update with their new weights."""
        start = update * self.batches_per_update
        group = [self.batches[start + place] for place in range(self.batches_per_update)]
        real_tokens = sum(float(weight.sum()) for _, _, weight in group)
        scale = self.batches_per_update / real_tokens
        return [(x, y, weight * weight.dtype.type(scale)) for x, y, weight in group]
