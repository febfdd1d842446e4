"""The exponential moving average (EMA) of the weights, used in their place for a while.

It is Keras': it starts with the weights after the first update and is not debiased, so that these
still have a share of `ema_momentum` to the power of the moves since (37 % after 1,000 at 0.999).
Under gradient accumulation it moves once a batch, not once an update.
"""

import contextlib

import keras


@contextlib.contextmanager
def ema_weights(model):
    """Context manager in which the model has the EMA of its weights, if the optimizer keeps one."""
    kept = _copies(model.trainable_variables)
    model.optimizer.finalize_variable_values(model.trainable_variables)
    # A copy, since a compiled step of JAX uses up the arrays of the model, not the optimizer's.
    _assign(model.trainable_variables, _copies(model.trainable_variables))
    try:
        yield
    finally:
        _assign(model.trainable_variables, kept)


def _copies(variables):
    return [keras.ops.copy(variable) for variable in variables]


def _assign(variables, values):
    for variable, value in zip(variables, values, strict=True):
        variable.assign(value)


class ValidateEMA(keras.callbacks.Callback):
    """Lets `fit` measure the validation loss with the EMA of the weights."""

    def __init__(self):
        super().__init__()
        self._validation = contextlib.ExitStack()

    def on_test_begin(self, logs=None):
        self._validation.enter_context(ema_weights(self.model))

    def on_test_end(self, logs=None):
        self._validation.close()
