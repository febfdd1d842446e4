"""Tells whether weights have changed, for copies of them that other programs hold.

Comparing the values would take longer than translating a sentence. Each backend has a cheaper sign:
JAX's arrays never change, PyTorch counts changes, and TensorFlow writes to a new buffer where
somebody else holds the old one.
"""

import keras
import numpy as np


class WeightsSnapshot:
    """The state of variables at the time when this is made.

    On TensorFlow it keeps the values of that time in memory once the variables have changed. A
    variable whose address cannot be told, such as one on a GPU, counts as changed.

    Args:
        variables: List of `keras.Variable`.
    """

    def __init__(self, variables):
        self._signs, self._kept = _signs(variables)

    def is_current(self, variables):
        """True if these are the same variables, and none has been written to since."""
        signs, _ = _signs(variables)
        return self._signs == signs


def _signs(variables):
    """A list of signs that change with the variables, and what must be held to keep them valid."""
    of_backend = {"tensorflow": _of_tensorflow, "jax": _of_jax, "torch": _of_torch}
    return of_backend[keras.config.backend()](variables)


def _of_tensorflow(variables):
    import tensorflow as tf

    values = [
        tf.raw_ops.ReadVariableOp(resource=variable.value.handle, dtype=variable.value.dtype)
        for variable in variables
    ]
    arrays = [np.asarray(value) for value in values]  # no copies: these are views of the buffers
    return [array.__array_interface__["data"][0] for array in arrays], values


def _of_jax(variables):
    values = [variable.value for variable in variables]
    return list(map(id, values)), values


def _of_torch(variables):
    values = [variable.value for variable in variables]
    return [(value.data_ptr(), value._version) for value in values], values
