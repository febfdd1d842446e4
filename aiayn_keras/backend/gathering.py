"""Picking by indices that are known to be in bounds.

Keras counts negative indices from the end, and makes twenty operations of TensorFlow out of one:
more than half of what a decoding step of a small model takes.
"""

import keras
from keras import ops


def take(x, indices, axis=0):
    """`keras.ops.take` with indices from 0.

    Args:
        x: Tensor.
        indices: Integer tensor of any shape.
        axis: Axis of `x` that is replaced by `indices`' axes.
    """
    if keras.config.backend() == "tensorflow":
        import tensorflow as tf

        return tf.gather(x, indices, axis=axis)
    return ops.take(x, indices, axis=axis)


def take_in_rows(x, indices):
    """Picks in every row: `x (N, M, ...)` and integer indices `(N, P)` give `(N, P, ...)`."""
    if keras.config.backend() == "tensorflow":
        import tensorflow as tf

        return tf.gather(x, indices, batch_dims=1)
    if x.ndim == 2:
        return ops.take_along_axis(x, indices, axis=1)
    flat = ops.reshape(x, (-1, *x.shape[2:]))  # --> (N·M, ...)
    first_rows = ops.arange(x.shape[0], dtype=indices.dtype) * x.shape[1]
    picked = ops.take(flat, ops.reshape(first_rows[:, None] + indices, (-1,)), axis=0)
    return ops.reshape(picked, (*indices.shape, *x.shape[2:]))
