"""Several batches that make one update, as one large batch would."""

import keras
import numpy as np
import pytest

from aiayn_keras.data import BatchSequence, TokenBatches, TokenPairs, UpdateBatches
from tests.helpers import assert_close
from tests.runs import small_recipe

BATCHES, UPDATES, V = 3, 4, 19


class Joined(BatchSequence):
    """Every three batches of another sequence as one, filled up with padding."""

    def __init__(self, batches):
        self.batches = batches
        self.steps_per_epoch = batches.steps_per_epoch // BATCHES

    def batch(self, index):
        group = [self.batches[index * BATCHES + place] for place in range(BATCHES)]
        return keras.tree.map_structure(self._join, *group)

    @staticmethod
    def _join(*arrays):
        width = max(array.shape[1] for array in arrays)
        return np.concatenate(
            [np.pad(array, ((0, 0), (0, width - array.shape[1]))) for array in arrays]
        )


def batches():
    """Batches with 60 real target tokens, or as few as 6."""
    random = np.random.default_rng(3)
    lengths = [19] * 12 + [1] * 12
    sides = [[random.integers(4, V, length).tolist() for length in lengths] for _ in range(2)]
    return TokenBatches(TokenPairs(*sides), tokens_per_batch=60, max_shapes=2, seed=1)


def trained(sequence, *settings):
    """The model after some updates."""
    recipe = small_recipe("model.dropout=0.0", "optimizer.peak_learning_rate=0.003", *settings)
    keras.utils.set_random_seed(5)
    model = recipe.build_model(V)
    count = recipe.optimizer.gradient_accumulation_steps
    model.fit(
        UpdateBatches(sequence, count).to_iter_dataset(),
        steps_per_epoch=UPDATES * count,
        shuffle=False,
        verbose=0,
    )
    return model


@pytest.fixture(scope="module", name="models")
def accumulated_and_joined():
    accumulating = f"optimizer.gradient_accumulation_steps={BATCHES}"
    return trained(batches(), accumulating), trained(Joined(batches()))


def test_the_batches_have_unequal_numbers_of_real_tokens():
    tokens = [batches()[index][2].sum() for index in range(BATCHES)]
    assert max(tokens) > 2 * min(tokens)


def test_accumulated_batches_give_the_weights_of_one_large_batch(models):
    accumulated, joined = models
    for actual, expected in zip(
        accumulated.trainable_variables, joined.trainable_variables, strict=True
    ):
        assert_close(actual, expected, 1e-5, 1e-5)


def test_the_schedule_counts_updates(models):
    accumulated, joined = models
    assert int(accumulated.optimizer.iterations) == int(joined.optimizer.iterations) == UPDATES
    # Adam has just used the rate of update 4; the next batch is of update 5.
    rates = [float(keras.ops.convert_to_numpy(m.optimizer.learning_rate)) for m in models]
    assert_close(rates, [0.003 * (UPDATES + 1) / 30] * 2)
