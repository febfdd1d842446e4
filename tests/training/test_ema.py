import keras
import numpy as np

from aiayn_keras.training import average_checkpoints, save_checkpoint
from aiayn_keras.training.validation import ValidateEMA, ema_weights
from tests.helpers import assert_close


def model_with_ema(momentum=0.75):
    """`y = w·x` with loss `-w·x`, so that each update adds the rate 1 to `w`, from 0 on."""
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, use_bias=False)])
    model.set_weights([np.zeros((1, 1))])
    optimizer = keras.optimizers.SGD(
        1.0, use_ema=momentum is not None, ema_momentum=momentum or 0.0
    )
    model.compile(optimizer, loss=lambda y_true, y_pred: -y_pred)
    return model


def fit(model, updates, **options):
    ones = np.ones((updates, 1))
    return model.fit(ones, ones, batch_size=1, shuffle=False, verbose=0, **options)


class KeepWeights(keras.callbacks.Callback):
    """Notes the weight in validation and after it."""

    def on_test_batch_end(self, batch, logs=None):
        self.mean = keras.ops.convert_to_numpy(self.model.trainable_variables[0]).item()

    def on_epoch_end(self, epoch, logs=None):
        self.weight = keras.ops.convert_to_numpy(self.model.trainable_variables[0]).item()


# Weights 1, 2, 3 after the updates; the mean starts with the first and keeps three quarters.
MEAN = 0.75 * (0.75 * 1 + 0.25 * 2) + 0.25 * 3


def test_validation_measures_the_mean_and_training_goes_on_from_the_weights():
    model, notes = model_with_ema(), KeepWeights()
    one = np.ones((1, 1))
    history = fit(model, 3, validation_data=(one, one), callbacks=[ValidateEMA(), notes])
    assert_close([notes.mean, notes.weight], [MEAN, 3.0])
    assert_close(history.history["val_loss"], [-MEAN])


def test_training_goes_on_after_validation_with_weights_and_mean():
    """On JAX a compiled step uses up the arrays it is given, so mean and weight must be two."""
    model, notes = model_with_ema(), KeepWeights()
    one = np.ones((1, 1))
    options = {"validation_data": (one, one), "callbacks": [ValidateEMA(), notes]}
    fit(model, 3, epochs=2, **options)
    assert notes.weight == 6.0
    mean = MEAN
    for weight in (4, 5, 6):
        mean = 0.75 * mean + 0.25 * weight
    # The end of `fit` leaves the mean in the model.
    assert_close(model.trainable_variables[0], [[mean]])


def test_the_mean_starts_with_the_first_weights_and_moves_once_a_batch():
    """Keras' way, which the docstrings tell: `w` is 0, 1, 1, 2, 2, 3 after the six batches."""
    model = model_with_ema()
    optimizer = keras.optimizers.SGD(
        1.0, use_ema=True, ema_momentum=0.75, gradient_accumulation_steps=2
    )
    model.compile(optimizer, loss=lambda y_true, y_pred: -y_pred)
    fit(model, 6)
    mean = 1.0
    for weight in (1, 2, 2, 3):
        mean = 0.75 * mean + 0.25 * weight
    assert_close(model.trainable_variables[0], [[mean]])


def test_the_weights_come_back_after_the_block(tmp_path):
    model = model_with_ema()
    seen = []

    class Look(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            with ema_weights(self.model):
                seen.append(keras.ops.convert_to_numpy(self.model.trainable_variables[0]).item())
            seen.append(keras.ops.convert_to_numpy(self.model.trainable_variables[0]).item())
            self.path = save_checkpoint(self.model, tmp_path, 3)

    look = Look()
    fit(model, 3, callbacks=[look])
    assert_close(seen, [MEAN, 3.0])
    other = model_with_ema()
    average_checkpoints(other, [look.path])
    assert_close(other.trainable_variables[0], [[MEAN]])


def test_without_a_mean_the_weights_stay():
    model = model_with_ema(momentum=None)
    fit(model, 2)
    with ema_weights(model):
        assert_close(model.trainable_variables[0], [[2.0]])
