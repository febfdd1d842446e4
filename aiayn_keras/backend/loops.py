"""Loops with small steps, and branches that are rarely taken.

A file of its own, since both work around the same habit of TensorFlow's graphs.
"""

import contextlib

import keras
from keras import ops, tree


def while_loop(cond, body, loop_vars, is_small=False):
    """`keras.ops.while_loop`; a TensorFlow graph can run every step as a call of one function.

    TensorFlow usually lowers loops and branches to switches and merges, and computes their bodies
    with oneDNN. That pays for large tensors; for small ones oneDNN costs 50 µs per operation on
    CPUs, ten times the plain kernel. Half precision has no fast plain kernels.

    Args:
        cond: Function of the loop variables that returns whether to continue.
        body: Function of the loop variables that returns the next ones.
        loop_vars: Tuple of nested tensors.
        is_small: Whether the tensors are small.
    """
    dtypes = {keras.backend.standardize_dtype(x.dtype) for x in tree.flatten(loop_vars)}
    is_half = bool(dtypes & {"bfloat16", "float16"})
    if keras.config.backend() != "tensorflow" or not is_small or is_half:
        return ops.while_loop(cond, body, loop_vars)
    with _whole():
        return ops.while_loop(cond, _keep_shapes(body), loop_vars)


def rare_cond(pred, true_fn, false_fn):
    """`keras.ops.cond` for a branch that is rarely taken; a TensorFlow graph does not lower it."""
    with _whole():
        return ops.cond(pred, true_fn, false_fn)


def _keep_shapes(body):
    """The same step, with the shapes of the loop variables set on its results."""
    import tensorflow as tf

    def step(*loop_vars):
        results = body(*loop_vars)
        if not tf.executing_eagerly():
            for before, after in zip(*map(tree.flatten, (loop_vars, results)), strict=True):
                after.set_shape(before.shape)
        return results

    return step


def _whole():
    """Context manager in which TensorFlow does not lower loops and branches."""
    if keras.config.backend() != "tensorflow":
        return contextlib.nullcontext()
    import tensorflow as tf

    # Read where they are made; they run with the executor of the graph that they are in.
    return tf.experimental.function_executor_type("SINGLE_THREADED_EXECUTOR")
