import numpy as np
import pytest

from aiayn_keras.data import PackedBatches, ProcessRows, TokenBatches, TokenPairs, UpdateBatches


def batches():
    ids = [[5] * length for length in (1, 2, 3, 4, 5, 6, 7)]
    return TokenBatches(TokenPairs(ids, ids[::-1]), tokens_per_batch=16, max_shapes=1)


@pytest.mark.parametrize("count", [1, 3])
def test_the_weights_of_an_update_are_its_mean_over_real_tokens(count):
    plain, weighted = batches(), UpdateBatches(batches(), count)
    assert weighted.steps_per_epoch == plain.steps_per_epoch == 4
    for update in range(5):
        group = range(update * count, (update + 1) * count)
        real = sum(plain[index][2].sum() for index in group)
        for index in group:
            x, labels, weight = weighted[index]
            np.testing.assert_allclose(weight, plain[index][2] * count / real, rtol=1e-6)
            assert weight.dtype == np.float32
            np.testing.assert_array_equal(labels, plain[index][1])
            for name, values in plain[index][0].items():
                np.testing.assert_array_equal(x[name], values)


def test_the_order_of_asking_does_not_matter():
    forwards, backwards = UpdateBatches(batches(), 2), UpdateBatches(batches(), 2)
    for index in (5, 0, 3, 4, 1):
        np.testing.assert_array_equal(backwards[index][2], forwards.batch(index)[2])


def test_no_batch_per_update_is_refused():
    with pytest.raises(ValueError, match="batches_per_update=0"):
        UpdateBatches(batches(), 0)


def pairs():
    random = np.random.default_rng(0)
    lengths = random.integers(1, 20, (50, 2)).tolist()
    return TokenPairs(*([[4 + n] * n for n in side] for side in zip(*lengths, strict=True)))


def sequences():
    options = {"tokens_per_batch": 230, "seed": 1}
    return TokenBatches(pairs(), max_shapes=3, **options), PackedBatches(pairs(), **options)


def flat(batch):
    x, y, sample_weight = batch
    return [*x.values(), y, sample_weight]


@pytest.mark.parametrize("batches", sequences(), ids=lambda batches: type(batches).__name__)
def test_the_processes_rows_together_are_the_batch_and_empty_rows(batches):
    processes = [ProcessRows(num_devices=6, num_processes=3, process=p) for p in range(3)]
    for index in range(batches.steps_per_epoch + 1):
        whole = batches[index]
        rows = (flat(own_rows(whole)) for own_rows in processes)
        for array, *parts in zip(flat(whole), *rows, strict=True):
            joined = np.concatenate(parts)
            assert len(joined) % 6 == 0
            assert len({len(part) for part in parts}) == 1
            assert len(joined) - len(array) < 6
            np.testing.assert_array_equal(joined[: len(array)], array)
            assert not joined[len(array) :].any()
            assert joined.dtype == array.dtype


def test_the_weights_divide_by_the_tokens_of_all_processes():
    batch = UpdateBatches(sequences()[0])[0]
    sums = [ProcessRows(4, num_processes=4, process=p)(batch)[2].sum() for p in range(4)]
    assert sum(sums) == pytest.approx(1)
    assert max(sums) > 1.2 * min(sums)


def test_one_device_has_the_batches_as_they_are():
    batch = sequences()[0][2]
    for actual, expected in zip(flat(ProcessRows(1)(batch)), flat(batch), strict=True):
        assert actual.base is expected or actual is expected
        np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("prefetch", [0, 2])
def test_a_mapped_data_set_resumes_with_the_very_next_batch(prefetch):
    batches, rows = sequences()[0], ProcessRows(4, num_processes=2, process=1)
    taken = len(batches) + 2
    iterator = iter(batches.to_iter_dataset(prefetch=prefetch).map(rows))
    for _ in range(taken):
        next(iterator)
    state = iterator.get_state()
    restored = iter(batches.to_iter_dataset(prefetch=prefetch).map(rows))
    restored.set_state(state)
    started = iter(batches.to_iter_dataset(start_step=taken).map(rows))
    for step in range(3):
        expected = flat(rows(batches[taken + step]))
        for resumed in (iterator, restored, started):
            for actual, array in zip(flat(next(resumed)), expected, strict=True):
                np.testing.assert_array_equal(actual, array, strict=True)


def test_mapping_reads_no_batch_ahead():
    asked = []

    class Asked(TokenBatches):
        def batch(self, index):
            asked.append(index)
            return super().batch(index)

    batches = Asked(pairs(), tokens_per_batch=230)
    iterator = iter(batches.to_iter_dataset(start_step=3, prefetch=0).map(ProcessRows(2)))
    assert asked == []
    next(iterator)
    assert asked == [3]


@pytest.mark.parametrize("wrong", [{"num_processes": 3}, {"process": 1}, {"process": -1}])
def test_processes_must_divide_the_devices(wrong):
    with pytest.raises(ValueError, match="must be a multiple of `num_processes`"):
        ProcessRows(num_devices=4, **wrong)
