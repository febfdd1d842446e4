"""Training steps on TensorFlow, with the rows of a batch divided among the cores of a CPU.

A core that takes its rows through all layers waits for no other core. If every operation is divided
among the cores instead, they wait for each other hundreds of times per step.
"""

import contextlib
import itertools

import keras
from keras import ops

from aiayn_keras.backend.devices import has_accelerator
from aiayn_keras_light.usable_cores import usable_cores

_MAX_CORES = 4
"""More parts mean more gradients to add up, and a larger graph to compile."""


def divide_batches_among_cores():
    """Lets each core train on rows of its own; two cores train a small model faster this way.

    TensorFlow must not have computed anything yet. Afterwards it gives every operation one thread,
    so a model with parts of the user's own, whose batches are not divided, trains on one core.

    Returns:
        Whether batches will be divided: on TensorFlow, with 2 to 4 cores and no GPU or TPU.
    """
    if keras.config.backend() != "tensorflow" or not 2 <= usable_cores() <= _MAX_CORES:
        return False
    import tensorflow as tf

    if len(tf.config.list_physical_devices()) > len(tf.config.list_physical_devices("CPU")):
        return False
    # TensorFlow raises this error if it has already begun to compute.
    with contextlib.suppress(RuntimeError):
        tf.config.threading.set_intra_op_parallelism_threads(1)
        tf.config.threading.set_inter_op_parallelism_threads(usable_cores())
        return True
    return False


def parts_of_batch():
    """Number of parts into which a step divides its batch, 1 if it does not.

    There are several where TensorFlow runs several operations at a time, each on one core.
    """
    if keras.config.backend() != "tensorflow" or has_accelerator():
        return 1
    import tensorflow as tf

    threads = tf.config.threading
    if threads.get_intra_op_parallelism_threads() != 1 or not tf.inside_function():
        return 1
    return min(threads.get_inter_op_parallelism_threads() or usable_cores(), _MAX_CORES)


def has_own_steps():
    """True on one device of TensorFlow, where `train_step` and `test_step` replace Keras'."""
    if keras.config.backend() != "tensorflow":
        return False
    import tensorflow as tf

    return tf.distribute.get_strategy().num_replicas_in_sync == 1


def divide_rows(batch, num_parts):
    """Divides tensors along their first axis.

    Args:
        batch: Nested structure of tensors `(B, ...)`.
        num_parts: Number of parts; those of a small batch may have no rows.

    Returns:
        List of structures like `batch`, with consecutive rows.
    """
    rows = ops.shape(keras.tree.flatten(batch)[0])[0]
    bounds = [part * rows // num_parts for part in range(num_parts + 1)]
    return [
        keras.tree.map_structure(lambda x, start=start, stop=stop: x[start:stop], batch)
        for start, stop in itertools.pairwise(bounds)
    ]


def train_step(model, data, loss_and_statistics):
    """A step of `fit` on TensorFlow, see `keras.Model.train_step`.

    Args:
        model: A compiled model.
        data: Tuple `(x, y, sample_weight)`.
        loss_and_statistics: Function `(model, x, y, sample_weight, training)` that returns the
            loss and what `model.compute_metrics` takes instead of predictions.

    Returns:
        Dictionary of metrics.
    """
    import tensorflow as tf

    x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
    with tf.GradientTape() as tape:
        loss, statistics = loss_and_statistics(model, x, y, sample_weight, training=True)
        scaled_loss = model.optimizer.scale_loss(loss)
    variables = model.trainable_variables
    gradients = tape.gradient(scaled_loss, variables)
    model.optimizer.apply_gradients(zip(gradients, variables, strict=True))
    return _metrics(model, x, y, sample_weight, loss, statistics)


def test_step(model, data, loss_and_statistics):
    """A step of `evaluate` on TensorFlow, see `train_step`."""
    x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
    loss, statistics = loss_and_statistics(model, x, y, sample_weight, training=False)
    return _metrics(model, x, y, sample_weight, loss, statistics)


def _metrics(model, x, y, sample_weight, loss, statistics):
    model._loss_tracker.update_state(loss, sample_weight=ops.shape(y)[0])
    return model.compute_metrics(x, y, statistics, sample_weight=sample_weight)
