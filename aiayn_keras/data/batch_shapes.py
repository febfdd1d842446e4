"""The shapes of batches: a few that waste little padding, their rows, and their order."""

import itertools

import numpy as np

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
    over the grid prices all of them.
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
