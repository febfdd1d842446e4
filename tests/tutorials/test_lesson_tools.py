"""Helpers of the lessons do what their cells say."""

import keras
import numpy as np

from lesson_tools import losses_of_updates


def linear_model():
    model = keras.Sequential([keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros")])
    model.build((None, 1))
    model.compile(keras.optimizers.SGD(0.1), "mean_squared_error", jit_compile=False)
    return model


def test_each_loss_is_that_of_its_batch_before_its_update():
    x, y = np.array([[1.0], [2.0]], "float32"), np.array([[3.0], [2.0]], "float32")
    weight, expected = 0.0, []
    for _ in range(2):
        for value, label in zip(x[:, 0], y[:, 0], strict=True):
            expected.append((weight * value - label) ** 2)
            weight -= 0.1 * 2 * (weight * value - label) * value
    losses = losses_of_updates(linear_model(), x, y, batch_size=1, epochs=2)
    np.testing.assert_allclose(losses, expected, rtol=1e-5)


def test_inputs_may_have_names():
    ids = keras.Input((1,), name="ids")
    model = keras.Model({"ids": ids}, keras.layers.Dense(1, kernel_initializer="ones")(ids))
    model.compile(keras.optimizers.SGD(0.0), "mean_squared_error", jit_compile=False)
    x = np.array([[1.0], [2.0]], "float32")
    losses = losses_of_updates(model, {"ids": x}, x - 3, batch_size=1, epochs=1)
    np.testing.assert_allclose(losses, [9, 9])
