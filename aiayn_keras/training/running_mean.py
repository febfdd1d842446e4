"""The running mean of the weights in the place of the weights, for a while."""

import contextlib

import keras


@contextlib.contextmanager
def mean_weights(model):
    """Gives the model the optimizer's running mean of its weights, if it keeps one, for a block."""
    kept = [keras.ops.copy(variable) for variable in model.trainable_variables]
    model.optimizer.finalize_variable_values(model.trainable_variables)
    for variable in model.trainable_variables:
        # On JAX it and the mean are one array now, which a compiled step would use up.
        variable.assign(keras.ops.copy(variable))
    try:
        yield
    finally:
        for variable, value in zip(model.trainable_variables, kept, strict=True):
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
