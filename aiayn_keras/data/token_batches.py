"""The shapes of batches: a few that waste little padding, their rows, and their order."""

import itertools

import numpy as np

from aiayn_keras.data.pair_batches import PairBatches
from aiayn_keras.data.token_pairs import Pairs

MAX_GRID = 64


def choose_shapes(source_lengths, target_lengths, max_shapes: int):
    """Pick source and target lengths to pad to, and a shape for every pair.

    A pair of lengths `(s, t)` fits a shape `(S, T)` if `s <= S` and `t <= T`, and then costs
    `S + T` positions. S and T are free of each other. One shape after the other is added where it
    saves most positions; then each is taken out and put back at the best place, until nothing
    improves. No two shapes share an S or a T: Keras looks at the first two batches of a data set
    and takes every dimension that agrees for static.

    Args:
        source_lengths: Integer array `(pairs,)`, in tokens.
        target_lengths: Integer array `(pairs,)`, in tokens.
        max_shapes: Most shapes to use, at least 1.

    Returns:
        Shapes as an integer array `(shapes, 2)`, short ones first, and an integer array `(pairs,)`
        with each pair's shape number.
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
    """Upper edges of at most MAX_GRID length bins, and each length's bin."""
    edges = np.unique(lengths)
    if len(edges) > MAX_GRID:
        quantiles = np.quantile(lengths, np.linspace(0, 1, MAX_GRID), method="higher")
        edges = np.unique(quantiles)
    return edges, np.searchsorted(edges, lengths)


def _search(counts, sources, targets, max_shapes):
    """Corners `(i, j)` of the shapes on the grid; the first one covers everything."""

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
    """Positions a pair of each grid cell costs in the cheapest shape that holds it."""
    cost = np.full((len(sources), len(targets)), float(sources[-1] + targets[-1]))
    for i, j in corners:
        block = cost[: i + 1, : j + 1]
        np.minimum(block, sources[i] + targets[j], out=block)
    return cost


def _best_corner(counts, sources, targets, others):
    """The corner `(i, j)`, no row or column shared with `others`, that saves most beside them.

    All corners with the same `S + T` save the same amount per cell, so one two-way running sum
    over the grid prices all of them. The largest shape again if no free corner saves anything.
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
    """Give each pair its cheapest shape, then shrink the shapes to what they hold."""
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
    """Raise equal lengths by as little as possible.

    Shrinking alone can make two lengths equal, so none is raised beyond what it was before.
    """
    shapes = shapes.copy()
    for side in (0, 1):
        order = np.argsort(shapes[:, side], kind="stable")
        for lower, upper in itertools.pairwise(order):
            shapes[upper, side] = max(shapes[upper, side], shapes[lower, side] + 1)
    return shapes


def batch_sizes(shapes, members, tokens_per_batch: int):
    """Rows per batch and batches per epoch of each shape.

    A shape needs `ceil(pairs / largest batch)` batches; spreading its pairs evenly over them
    leaves fewer empty rows than there are batches. No two shapes get the same number of rows (see
    `choose_shapes`) unless the budget leaves no choice.

    Args:
        shapes: Integer array `(shapes, 2)` of S and T.
        members: Integer array `(shapes,)`: how many pairs each shape holds.
        tokens_per_batch: Upper limit of rows times `max(S, T)`.

    Returns:
        Two integer arrays `(shapes,)`: rows per batch, batches per epoch.
    """
    rows = np.zeros(len(shapes), dtype=np.int64)
    for k in np.argsort(members, kind="stable"):
        largest = tokens_per_batch // shapes[k].max()
        even = -(-members[k] // -(-members[k] // largest))
        free = np.setdiff1d(np.arange(1, largest + 1), rows)
        rows[k] = free[np.abs(free - even).argmin()] if free.size else even
    return rows, -(-members // rows)


def interleave(counts, rng) -> np.ndarray:
    """A random order of `counts[k]` items of each kind `k` without equal neighbours.

    Where one kind has more than half of the items that cannot be; then the order is random but
    for the second item, which differs from the first.

    Args:
        counts: Integer array `(kinds,)`, all positive.
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
