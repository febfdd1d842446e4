"""Weights of a served graph that take half the space on disk, and are whole once it is loaded."""

import contextlib
import functools
import hashlib

import keras

from aiayn_keras.export.computed_resources import make_computed
from aiayn_keras.weight_files import as_float16


class HalfPrecisionWeights:
    """The matrices of a model as float16 variables, from which loading makes float32 ones.

    The graph computes in float32, and casts nothing while it answers: a server runs the
    initializers of a SavedModel once, after it has restored the variables. Biases and the scales
    of layer normalization stay as they are.

    Args:
        model: A Keras model of the TensorFlow backend with float32 weights.

    Attributes:
        variables: List of the TensorFlow variables that are written.
        restored: List of the resources that loading makes. Both lists must be attributes of the
            exported module; otherwise loading misses them.
    """

    def __init__(self, model):
        import tensorflow as tf

        matrices = [v for v in model.variables if len(v.shape) >= 2 and v.dtype == "float32"]
        names = {id(matrix) for matrix in matrices}
        others = [v.value for v in model.variables if id(v) not in names]
        halves = [as_float16(v.path, keras.ops.convert_to_numpy(v)) for v in matrices]
        # Python's loader makes names unique; a runtime may not: only the same weights share one.
        digest = hashlib.sha256(b"".join(half.tobytes() for half in halves)).hexdigest()[:16]
        self._halves = [tf.Variable(half, trainable=False) for half in halves]
        self.restored = [
            make_computed(f"half_{digest}_{number}", matrix, functools.partial(_as_float32, half))
            for number, (matrix, half) in enumerate(zip(matrices, self._halves, strict=True))
        ]
        self.variables = [*others, *self._halves]
        self._matrices = matrices

    def scope(self):
        """Context manager in which the model's layers, traced, read the restored weights."""
        return self._mapping(restored.read() for restored in self.restored)

    def loading_scope(self):
        """The same for what runs beside the initializers of the restored weights."""
        return self._mapping(map(_as_float32, self._halves))

    def _mapping(self, values):
        mapping = list(zip(self._matrices, values, strict=True))
        return keras.StatelessScope(mapping, initialize_variables=False)


def _as_float32(half):
    return keras.ops.cast(half, "float32")


class WholeWeights:
    """The weights of a model as they are, with the attributes of `HalfPrecisionWeights`."""

    restored = ()

    def __init__(self, model):
        self.variables = [variable.value for variable in model.variables]

    def scope(self):
        """Context manager that changes nothing."""
        return contextlib.nullcontext()

    loading_scope = scope
