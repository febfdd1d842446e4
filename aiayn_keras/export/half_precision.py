"""Weights of a served graph that take half the space on disk, and are whole once it is loaded."""

import contextlib
import hashlib

import keras

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
        matrices = [v for v in model.variables if len(v.shape) >= 2 and v.dtype == "float32"]
        names = {id(matrix) for matrix in matrices}
        others = [v.value for v in model.variables if id(v) not in names]
        halves = [as_float16(v.path, keras.ops.convert_to_numpy(v)) for v in matrices]
        # Python's loader makes names unique; a runtime may not: only the same weights share one.
        digest = hashlib.sha256(b"".join(half.tobytes() for half in halves)).hexdigest()[:16]
        self.restored = [
            _make_restored(half, f"half_{digest}_{number}") for number, half in enumerate(halves)
        ]
        self.variables = [*others, *(restored.half for restored in self.restored)]
        self._matrices = matrices

    def scope(self):
        """Context manager in which the model's layers, traced, read the restored weights."""
        values = (restored.read() for restored in self.restored)
        mapping = list(zip(self._matrices, values, strict=True))
        return keras.StatelessScope(mapping, initialize_variables=False)


class WholeWeights:
    """The weights of a model as they are, with the attributes of `HalfPrecisionWeights`."""

    restored = ()

    def __init__(self, model):
        self.variables = [variable.value for variable in model.variables]

    def scope(self):
        """Context manager that changes nothing."""
        return contextlib.nullcontext()


def _make_restored(half, name):
    import tensorflow as tf

    class Restored(tf.saved_model.experimental.TrackableResource):
        """A float32 resource that is made of a float16 variable."""

        def __init__(self):
            super().__init__()
            self.half = tf.Variable(half, trainable=False)
            self._initialize()

        def _create_resource(self):
            return tf.raw_ops.VarHandleOp(
                dtype=tf.float32, shape=half.shape, shared_name=name, container=""
            )

        def _initialize(self):
            value = tf.cast(self.half, tf.float32)
            tf.raw_ops.AssignVariableOp(resource=self.resource_handle, value=value)

        def read(self):
            value = tf.raw_ops.ReadVariableOp(resource=self.resource_handle, dtype=tf.float32)
            return tf.ensure_shape(value, half.shape)

    return Restored()
