import numpy as np
import pytest

from aiayn_keras.data import TokenBatches, TokenPairs, UpdateBatches


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
