import itertools

import numpy as np
import pytest

from aiayn_keras.data.token_batches import batch_sizes, choose_shapes, interleave


def lengths(seed, pairs=400, longest=30):
    rng = np.random.default_rng(seed)
    source = rng.integers(1, longest, pairs)
    return source, np.clip(source + rng.integers(-3, 4, pairs), 1, None)


def positions(source, target, shapes):
    """What every pair costs in its cheapest shape, the slow way."""
    return sum(
        min(int(S + T) for S, T in shapes if s <= S and t <= T)
        for s, t in zip(source, target, strict=True)
    )


@pytest.mark.parametrize("max_shapes", [1, 2, 5, 8])
def test_every_pair_fits_its_shape_and_shapes_are_tight(max_shapes):
    source, target = lengths(seed=max_shapes)
    shapes, member = choose_shapes(source, target, max_shapes)
    assert len(shapes) <= max_shapes
    assert (source <= shapes[member, 0]).all()
    assert (target <= shapes[member, 1]).all()
    assert shapes[:, 0].max() == source.max()
    assert shapes[:, 1].max() == target.max()
    assert set(member) == set(range(len(shapes)))


def test_two_shapes_are_the_best_two_there_are():
    source, target = lengths(seed=3, longest=9)
    shapes, _ = choose_shapes(source, target, 2)
    largest = (source.max(), target.max())
    best = min(
        positions(source, target, [largest, corner])
        for corner in itertools.product(range(1, source.max()), range(1, target.max()))
    )
    assert positions(source, target, shapes) == best


def test_source_and_target_lengths_of_a_shape_are_independent():
    source, target = np.array([3] * 50 + [20] * 50), np.array([7] * 50 + [11] * 50)
    assert choose_shapes(source, target, 3)[0].tolist() == [[3, 7], [20, 11]]


@pytest.mark.parametrize("seed", range(5))
def test_no_two_shapes_share_a_dimension(seed):
    source, target = lengths(seed)
    shapes, member = choose_shapes(source, target, 8)
    rows, _ = batch_sizes(shapes, np.bincount(member), tokens_per_batch=200)
    for dimension in (rows, shapes[:, 0], shapes[:, 1]):
        assert len(set(dimension.tolist())) == len(shapes)


def test_lengths_made_equal_by_shrinking_are_raised_by_one():
    # Shrunk to the pairs they hold, the two short shapes are 1 x 5 and 1 x 2.
    source, target = np.array([1, 8, 3, 1]), np.array([5, 1, 6, 2])
    shapes, member = choose_shapes(source, target, 3)
    assert shapes.tolist() == [[2, 2], [1, 5], [8, 6]]
    assert member.tolist() == [1, 2, 2, 0]
    swapped, _ = choose_shapes(target, source, 3)
    assert swapped.tolist() == [[2, 2], [5, 1], [6, 8]]


def test_few_pairs_never_share_a_dimension_and_none_is_longer_than_the_longest():
    for seed in range(300):
        rng = np.random.default_rng(seed)
        pairs, max_shapes = rng.integers(4, 12), rng.integers(2, 5)
        source, target = rng.integers(1, 9, pairs), rng.integers(1, 9, pairs)
        shapes, _ = choose_shapes(source, target, max_shapes)
        for lengths_of_shapes, lengths_of_pairs in zip(shapes.T, (source, target), strict=True):
            assert len(set(lengths_of_shapes.tolist())) == len(shapes), seed
            assert lengths_of_shapes.max() == lengths_of_pairs.max(), seed


def test_targets_of_one_length_have_one_shape_and_each_pair_its_row():
    source, target = np.array([1, 4, 3]), np.array([5, 5, 5])
    shapes, member = choose_shapes(source, target, 2)
    assert shapes.tolist() == [[4, 5]]
    rows, steps = batch_sizes(shapes, np.bincount(member), tokens_per_batch=5)
    assert (rows * steps).tolist() == [3]


def test_more_shapes_never_cost_more():
    source, target = lengths(seed=7)
    costs = [
        positions(source, target, choose_shapes(source, target, count)[0]) for count in (1, 2, 4, 8)
    ]
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] < 0.7 * costs[0]


def test_very_different_lengths_share_a_grid_of_bins():
    rng = np.random.default_rng(0)
    source, target = rng.integers(1, 2000, 5000), rng.integers(1, 2000, 5000)
    shapes, member = choose_shapes(source, target, 3)
    assert (source <= shapes[member, 0]).all()
    assert (target <= shapes[member, 1]).all()


def test_pairs_are_spread_evenly_over_a_shapes_batches():
    # 25 pairs, at most 10 rows: three batches of 9 instead of 10 + 10 + 5.
    rows, steps = batch_sizes(np.array([[4, 5]]), np.array([25]), tokens_per_batch=50)
    assert rows.tolist() == [9]
    assert steps.tolist() == [3]


@pytest.mark.parametrize("counts", [[5, 5], [3, 1, 2], [9, 8, 2, 3], [1]])
def test_interleaving_keeps_equal_kinds_apart(counts):
    for seed in range(20):
        order = interleave(np.array(counts), np.random.default_rng(seed))
        assert np.bincount(order).tolist() == counts
        assert (np.diff(order) != 0).all()


def test_interleaving_a_majority_still_starts_with_two_kinds():
    for seed in range(20):
        order = interleave(np.array([20, 2, 1]), np.random.default_rng(seed))
        assert np.bincount(order).tolist() == [20, 2, 1]
        assert order[0] != order[1]
