"""An order of batches in which neighbours have different shapes."""

import numpy as np


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
