"""The devices and processes of a training, and the layout of weights over shared devices."""

import contextlib
import dataclasses
import functools
import os
from collections.abc import Callable
from dataclasses import dataclass

import keras
import numpy as np

BATCH, MODEL = "batch", "model"
"""Names of the axes of a mesh of devices: copies of the model, and parts of each copy."""


def _model_layout(device_mesh):
    """Splits the Transformer's weights by heads, hidden units and tokens (arXiv:1909.08053).

    | weight | split over the devices of a copy |
    |---|---|
    | `query`, `key`, `value` kernel `(D, H·K)` and bias | columns: each has some heads |
    | attention `output` kernel `(H·K_v, D)` | rows, of its heads; the products are summed |
    | `hidden` kernel `(D, F)` and bias | columns: each has some hidden units |
    | feed-forward `output` kernel `(F, D)` | rows, of its units; the products are summed |
    | `token_embedding` `(V, D)` | rows: each looks up, and gives the logits of, some tokens |
    | `reverse_embeddings` `(D, V)`, `logits_bias` `(V,)` | columns: logits of the same tokens |
    | biases of outputs, layer normalization, learned positions | whole on every device |

    So a block sums over the devices after each attention and each feed-forward network, and
    nowhere else. The optimizer's moments are laid out like their weights.

    Args:
        device_mesh: A `keras.distribution.DeviceMesh` with the axes `BATCH` and `MODEL`.

    Returns:
        A `keras.distribution.LayoutMap`, by the paths of `TransformerBackbone`'s variables.
    """
    layout = keras.distribution.LayoutMap(device_mesh)
    layout[r".*attention/(query|key|value)/kernel"] = (None, MODEL)
    layout[r".*attention/(query|key|value)/bias"] = (MODEL,)
    layout[r".*attention/output/kernel"] = (MODEL, None)
    layout[r".*feed_forward/hidden/kernel"] = (None, MODEL)
    layout[r".*feed_forward/hidden/bias"] = (MODEL,)
    layout[r".*feed_forward/output/kernel"] = (MODEL, None)
    layout[r"token_embedding/embeddings"] = (MODEL, None)
    layout[r"token_embedding/reverse_embeddings"] = (None, MODEL)
    layout[r"token_embedding/logits_bias"] = (MODEL,)
    return layout


class DevicesError(ValueError):
    """A recipe asks for devices that do not exist."""


def _no_wait(what):
    pass


@dataclass(frozen=True)
class Devices:
    """The devices and processes of a training.

    Attributes:
        num_models: Copies of the model; the rows of a batch are divided among them.
        scope: Function that returns the context manager for building and fitting the model.
        num_processes: Processes that train together.
        process: Number of this process, counted from 0.
        wait: Function that takes the name of a barrier and returns when all processes reach it.
        agree: Function that takes an integer and returns the largest one of all processes, which
            must all call it; `None` for one process.
    """

    num_models: int = 1
    scope: Callable = contextlib.nullcontext
    num_processes: int = 1
    process: int = 0
    wait: Callable = _no_wait
    agree: Callable | None = None

    is_first = property(lambda self: self.process == 0)

    def __str__(self):
        copies = "1 copy" if self.num_models == 1 else f"{self.num_models} copies"
        return f"{copies} of the model, process {self.process + 1} of {self.num_processes}."


@functools.cache
def has_accelerator():
    """True if there is a GPU or a TPU, which the backend then computes on."""
    if keras.config.backend() == "torch":  # where Keras does not list devices
        return keras.ops.zeros(()).device.type != "cpu"
    return any(not name.startswith("cpu:") for name in keras.distribution.list_devices())


def open_devices(kind, model_parallel_size=1, gradient_accumulation_steps=1):
    """Finds the devices to train on, and joins the other processes, if there are any.

    With JAX, several processes are joined by `keras.distribution.initialize` if the environment
    has its variables `KERAS_DISTRIBUTION_*`; nothing may have been computed before.

    Args:
        kind: `"one"`, `"data_parallel"` or `"model_parallel"`.
        model_parallel_size: Number of devices that share a copy of the model, for
            `"model_parallel"`.
        gradient_accumulation_steps: Number of batches per update.

    Returns:
        The `Devices`.

    Raises:
        DevicesError: If the backend does not support it, or there are too few devices.
    """
    if kind == "one":
        _refuse_processes()
        return Devices()
    return {"jax": _open_jax, "tensorflow": _open_tensorflow, "torch": _open_torch}[
        keras.config.backend()
    ](kind, model_parallel_size, gradient_accumulation_steps)


def _refuse_processes():
    names = [name for name in os.environ if name.startswith("KERAS_DISTRIBUTION_")]
    if names:
        raise DevicesError(
            f"{', '.join(sorted(names))} say that several processes train together, which needs "
            "`training.devices: data_parallel`. Received: one."
        )


def _open_jax(kind, model_parallel_size, gradient_accumulation_steps):
    import jax
    from jax.experimental import multihost_utils

    names = [name for name in os.environ if name.startswith("KERAS_DISTRIBUTION_")]
    if names and not jax.distributed.is_initialized():
        keras.distribution.initialize()
    devices = keras.distribution.list_devices()
    if kind == "data_parallel":
        distribution = keras.distribution.DataParallel(devices=devices, auto_shard_dataset=False)
    else:
        distribution = _model_parallel(devices, model_parallel_size)
    devices = Devices(distribution.num_model_replicas, distribution.scope)
    if jax.process_count() == 1:
        return devices

    def largest(number):
        return int(np.max(multihost_utils.process_allgather(np.int32(number))))

    return dataclasses.replace(
        devices,
        num_processes=jax.process_count(),
        process=jax.process_index(),
        wait=multihost_utils.sync_global_devices,
        agree=largest,
    )


def _model_parallel(devices, size):
    if len(devices) % size:
        raise DevicesError(
            f"`training.model_parallel_size` must divide the number of devices. Received: "
            f"model_parallel_size={size}, but there are {len(devices)} devices."
        )
    mesh = keras.distribution.DeviceMesh(
        (len(devices) // size, size), (BATCH, MODEL), np.array(devices)
    )
    distribution = keras.distribution.ModelParallel(
        layout_map=_model_layout(mesh), batch_dim_name=BATCH, auto_shard_dataset=False
    )
    if distribution.num_processes > 1:
        raise DevicesError(
            "`training.devices: model_parallel` works in one process, whose checkpoints hold the "
            f"whole model. Received: {distribution.num_processes} processes. Use data_parallel."
        )
    return distribution


def _open_tensorflow(kind, model_parallel_size, gradient_accumulation_steps):
    import tensorflow as tf

    if kind == "model_parallel":
        raise DevicesError(
            "`training.devices: model_parallel` needs the JAX backend (KERAS_BACKEND=jax); "
            "TensorFlow has data_parallel."
        )
    if gradient_accumulation_steps > 1:
        # Keras accumulates inside a condition, where TensorFlow's replicas cannot meet.
        raise DevicesError(
            "`optimizer.gradient_accumulation_steps` must be 1 with data_parallel on TensorFlow. "
            f"Received: {gradient_accumulation_steps}. Raise "
            "`batches.tokens_per_batch`, or use JAX."
        )
    if "TF_CONFIG" in os.environ or tf.config.list_physical_devices("TPU"):
        raise DevicesError(
            "Several processes (TF_CONFIG is set) and TPUs need the JAX backend: KERAS_BACKEND=jax "
            "and, for several processes, the variables KERAS_DISTRIBUTION_*; see docs/devices.md."
        )
    gpus, cpus = (tf.config.list_logical_devices(kind) for kind in ("GPU", "CPU"))
    strategy = tf.distribute.MirroredStrategy([device.name for device in gpus or cpus])
    return Devices(num_models=strategy.num_replicas_in_sync, scope=strategy.scope)


def _open_torch(kind, model_parallel_size, gradient_accumulation_steps):
    raise DevicesError(
        "`training.devices` must be `one` with the PyTorch backend. Received: "
        f"{kind}. KERAS_BACKEND=jax has data_parallel and model_parallel, "
        "tensorflow has data_parallel."
    )


def mean_over_replicas(loss, weights):
    """Makes a mean over a replica's tokens its share of the mean over the tokens of all replicas.

    `tf.distribute` computes a loss on each device from its own rows, and sums the gradients; on
    JAX, a loss is that of the whole batch already.

    Args:
        loss: Float scalar, the mean over the replica's own weights divided by the number of
            replicas, as Keras computes it.
        weights: Float tensor `(B, T)`, the weights of the replica's tokens.

    Returns:
        Float scalar. Its gradients add up, over the replicas, to the gradient of the mean over all
        tokens. Keras averages its values over the replicas, weighted by their numbers of rows, and
        gets that mean.
    """
    if keras.config.backend() != "tensorflow":
        return loss
    import tensorflow as tf

    if tf.distribute.in_cross_replica_context():
        return loss
    replica = tf.distribute.get_replica_context()
    count = replica.num_replicas_in_sync
    if count == 1:
        return loss
    weight, rows = tf.reduce_sum(weights), tf.cast(tf.shape(weights)[0], loss.dtype)
    all_weight, all_rows = replica.all_reduce("SUM", [weight, rows])
    loss = loss * count * tf.math.divide_no_nan(weight, all_weight)
    of_rows = tf.math.divide_no_nan(all_rows, count * rows)
    return loss + tf.stop_gradient(loss * of_rows - loss)
