import numpy as np
import pytest

from aiayn_keras.data import PackedBatches, TokenBatches, TokenPairs


def small_pairs():
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 15, (2, 200)).tolist()
    return TokenPairs(*([[n + 10] * k for n, k in enumerate(side)] for side in lengths))


@pytest.fixture(name="batches", params=[TokenBatches, PackedBatches], scope="module")
def both_kinds(request):
    return request.param(small_pairs(), tokens_per_batch=100, seed=5)


def assert_same_batch(actual, expected):
    for name in expected[0]:
        np.testing.assert_array_equal(actual[0][name], expected[0][name], strict=True)
    np.testing.assert_array_equal(actual[1], expected[1], strict=True)
    np.testing.assert_array_equal(actual[2], expected[2], strict=True)


@pytest.mark.parametrize("prefetch", [0, 2])
def test_restored_iterator_goes_on_with_the_very_next_batch(batches, prefetch):
    iterator = iter(batches.to_iter_dataset(prefetch=prefetch))
    # Past the end of the first epoch.
    taken = batches.steps_per_epoch + 3
    for _ in range(taken):
        next(iterator)
    state = iterator.get_state()
    expected = [next(iterator) for _ in range(4)]
    for dataset in (batches.to_iter_dataset(prefetch=prefetch), batches.to_iter_dataset()):
        restored = iter(dataset)
        next(restored)
        restored.set_state(state)
        for batch in expected:
            assert_same_batch(next(restored), batch)
    for step, batch in enumerate(expected):
        assert_same_batch(batches[taken + step], batch)


def test_dataset_starts_and_stops_where_told(batches):
    dataset = batches.to_iter_dataset(start_step=3, num_steps=5)
    given = list(dataset)
    assert len(given) == 5
    for step, batch in enumerate(given):
        assert_same_batch(batch, batches[3 + step])


def test_iteration_ends_with_the_first_epoch(batches):
    given = list(batches)
    assert len(given) == len(batches) == batches.steps_per_epoch
    for step, batch in enumerate(given):
        assert_same_batch(batch, batches[step])


def test_negative_places_are_refused(batches):
    with pytest.raises(IndexError, match="Received: -1"):
        batches[-1]
    with pytest.raises(ValueError, match="start_step=-1"):
        batches.to_iter_dataset(start_step=-1)
    with pytest.raises(ValueError, match="prefetch=-1"):
        batches.to_iter_dataset(prefetch=-1)
