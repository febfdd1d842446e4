"""Threads: one core a batch, all cores an operation, several batches at once."""

import contextlib
import os
from concurrent.futures import ThreadPoolExecutor

import keras

_KNOWS_CORES = hasattr(os, "sched_getaffinity")  # those that this process may use


def use_one_core_per_batch():
    """Lets `in_parallel` give every core its own batch, the fastest way through many batches.

    This has no effect once TensorFlow has computed anything, nor on JAX and PyTorch.
    """
    if keras.config.backend() == "tensorflow":
        import tensorflow as tf

        # TensorFlow's error says that it has begun to compute.
        with contextlib.suppress(RuntimeError):
            tf.config.threading.set_intra_op_parallelism_threads(1)


def run_one_operation_at_a_time():
    """Gives every operation all cores, the fastest way through large batches of a small model.

    On a CPU TensorFlow also runs operations side by side, and small ones then wait for each
    other's threads: a model of width 128 trains about a tenth faster this way on two cores, a
    model of width 256 or 512 no faster, or slower. As above, TensorFlow must not have computed
    anything.
    """
    if keras.config.backend() == "tensorflow":
        import tensorflow as tf

        with contextlib.suppress(RuntimeError):
            tf.config.threading.set_inter_op_parallelism_threads(1)


def _num_parallel_batches():
    if keras.config.backend() == "tensorflow":
        import tensorflow as tf

        if tf.config.threading.get_intra_op_parallelism_threads() == 1:
            return len(os.sched_getaffinity(0)) if _KNOWS_CORES else os.cpu_count()
    return 2


def in_parallel(function, items):
    """Calls a compiled function with each item, and yields the results in order.

    One batch of a small model does not keep two cores busy, so TensorFlow and JAX run two at once
    (or one per core, see `use_one_core_per_batch`). PyTorch runs from Python, one thread at a time.

    Args:
        function: Takes an item.
        items: List of items.

    Yields:
        `function(item)` for every item.
    """
    if keras.config.backend() == "torch" or len(items) < 2:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(_num_parallel_batches()) as executor:
        try:
            yield from executor.map(function, items)
        except BaseException:
            executor.shutdown(cancel_futures=True)
            raise
