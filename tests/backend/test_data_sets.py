"""Batches whose first two have a size in common that others have not."""

import grain
import keras
import numpy as np
import pytest

from aiayn_keras.backend import with_free_shapes


def make_data_set():
    sizes = [3, 3, 5, 4, 3, 5]
    return grain.MapDataset.source(sizes).map(make_batch).to_iter_dataset()


def make_batch(size):
    return {"x": np.ones((2, size), "float32")}, np.ones((2, 1), "float32")


class Sum(keras.Model):
    def __init__(self):
        super().__init__()
        self.scale = keras.layers.Dense(1)

    def call(self, inputs):
        return self.scale(keras.ops.sum(inputs["x"], axis=1, keepdims=True))


def test_a_size_of_the_first_batches_binds_no_later_one():
    model = Sum()
    model.compile(optimizer="sgd", loss="mse")
    history = model.fit(
        with_free_shapes(make_data_set()), steps_per_epoch=6, shuffle=False, verbose=0
    )
    assert np.isfinite(history.history["loss"]).all()


@pytest.mark.skipif(keras.config.backend() != "tensorflow", reason="Only TensorFlow fixes sizes.")
def test_the_batches_are_those_of_the_data_set():
    batches = list(with_free_shapes(make_data_set()))
    assert [x["x"].shape[1] for x, _ in batches] == [3, 3, 5, 4, 3, 5]
    assert all(x["x"].dtype == y.dtype == "float32" for x, y in batches)
