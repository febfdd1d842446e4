"""The running mean of the weights in the place of the weights, for a while."""

import contextlib

import keras


@contextlib.contextmanager
def mean_weights(model):
    """Gives the model the optimizer's running mean of its weights, if it keeps one, for a block."""
    kept = _copies(model.trainable_variables)
    model.optimizer.finalize_variable_values(model.trainable_variables)
    # The mean itself must not be in the model: JAX reuses the memory of what a step is given.
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


class ValidateMeanWeights(keras.callbacks.Callback):
    """Lets `fit` measure the validation loss with the running mean of the weights."""

    def __init__(self):
        super().__init__()
        self._validation = contextlib.ExitStack()

    def on_test_begin(self, logs=None):
        self._validation.enter_context(mean_weights(self.model))

    def on_test_end(self, logs=None):
        self._validation.close()
