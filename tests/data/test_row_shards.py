"""Rows of every batch for each process."""

import numpy as np
import pytest

from aiayn_keras.data import PackedBatches, RowShards, TokenBatches, TokenPairs, UpdateBatches


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
    shards = [RowShards(batches, num_devices=6, num_processes=3, process=p) for p in range(3)]
    for index in range(batches.steps_per_epoch + 1):
        whole = flat(batches[index])
        for array, *parts in zip(whole, *(flat(shard[index]) for shard in shards), strict=True):
            joined = np.concatenate(parts)
            assert len(joined) % 6 == 0
            assert len({len(part) for part in parts}) == 1
            assert len(joined) - len(array) < 6
            np.testing.assert_array_equal(joined[: len(array)], array)
            assert not joined[len(array) :].any()
            assert joined.dtype == array.dtype


def test_the_weights_divide_by_the_tokens_of_all_processes():
    batches = UpdateBatches(sequences()[0])
    sums = [
        RowShards(batches, num_devices=4, num_processes=4, process=p)[0][2].sum() for p in range(4)
    ]
    assert sum(sums) == pytest.approx(1)
    assert max(sums) > 1.2 * min(sums)


def test_one_device_has_the_batches_as_they_are():
    batches = sequences()[0]
    for actual, expected in zip(
        flat(RowShards(batches, num_devices=1)[2]), flat(batches[2]), strict=True
    ):
        np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("wrong", [{"num_processes": 3}, {"process": 1}, {"process": -1}])
def test_processes_must_divide_the_devices(wrong):
    with pytest.raises(ValueError, match="must be a multiple of `num_processes`"):
        RowShards(sequences()[0], num_devices=4, **wrong)
