"""A model learns from packed rows what it learns from the sentences alone."""

import keras
import numpy as np

from aiayn_keras.data import PackedBatches, TokenBatches, TokenPairs, UpdateBatches
from aiayn_keras.training.training_data import make_batches
from tests.helpers import assert_close
from tests.runs import small_recipe

V = 23


def pairs():
    random = np.random.default_rng(2)
    return TokenPairs(
        *[[random.integers(4, V, length).tolist() for length in lengths]
          for lengths in ([3, 9, 5, 12, 1, 7], [4, 8, 7, 10, 2, 3])]
    )  # fmt: skip


def test_packed_rows_give_the_update_of_the_sentences_alone():
    weights = []
    for batches in (
        PackedBatches(pairs(), tokens_per_batch=64),
        TokenBatches(pairs(), tokens_per_batch=78, max_shapes=1),
    ):
        assert len(batches) == 1
        keras.utils.set_random_seed(5)
        model = small_recipe("model.dropout=0.0").build_model(V)
        dataset = UpdateBatches(batches).to_iter_dataset()
        model.fit(dataset, steps_per_epoch=1, shuffle=False, verbose=0)
        weights.append(model.trainable_variables)
    for packed, alone in zip(*weights, strict=True):
        assert_close(packed, alone, 1e-5, 1e-5)


def test_a_recipe_chooses_packing():
    section = small_recipe("batches.packing=true").batches
    assert isinstance(make_batches(pairs(), section, seed=1), PackedBatches)
