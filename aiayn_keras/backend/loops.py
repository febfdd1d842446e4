"""Loops whose steps are small, and branches that are rarely taken."""

import contextlib

import keras
from keras import ops, tree


def while_loop(cond, body, loop_vars, is_small=False):
    """`keras.ops.while_loop`; a TensorFlow graph can run every step as a call of one function.

    As a rule TensorFlow dissolves loops and branches into switches and merges, and has oneDNN
    compute what is in them. Great tensors are worth that; of small ones oneDNN costs 50 µs an
    operation on CPUs, ten times the plain kernel. Half precision has no fast plain kernels.

    Args:
        cond: Function of the loop variables, whether to go on.
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
    """`keras.ops.cond` for what is rarely done; a TensorFlow graph leaves it whole."""
    with _whole():
        return ops.cond(pred, true_fn, false_fn)


def _keep_shapes(body):
    """The same step, whose results a graph knows to have the shapes of the loop variables."""
    import tensorflow as tf

    def step(*loop_vars):
        results = body(*loop_vars)
        if not tf.executing_eagerly():
            for before, after in zip(*map(tree.flatten, (loop_vars, results)), strict=True):
                after.set_shape(before.shape)
        return results

    return step


def _whole():
    """Context manager in which TensorFlow dissolves no loops and branches."""
    if keras.config.backend() != "tensorflow":
        return contextlib.nullcontext()
    import tensorflow as tf

    # Read where they are made; they run with the executor of the graph that they are in.
    return tf.experimental.function_executor_type("SINGLE_THREADED_EXECUTOR")
