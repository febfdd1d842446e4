"""This package's training step, as `aiayn-keras train` runs it.

Only public names of the package are used, so that a different version of it can run here.
"""

import contextlib
from dataclasses import replace

from benchmarks.speed.train_systems import (
    DROPOUT,
    LABEL_SMOOTHING,
    Trainer,
    load_batches,
)

SMALL_HIDDEN_DIM = 128


def load(task):
    """Batches of similar lengths."""
    return _load(task, task.batches)


def load_packed(task):
    """Batches of one shape whose rows hold several sentences."""
    return _load(task, task.packed_batches)


def load_products(task):
    """Float32 except for the matrix products."""
    return _in_bfloat16_products(_load(replace(task, precision="float32"), task.batches))


def load_products_packed(task):
    """The same with packed rows."""
    return _in_bfloat16_products(_load(replace(task, precision="float32"), task.packed_batches))


def _in_bfloat16_products(trainer):
    def run():
        with _bfloat16_products():
            return trainer.run()

    return trainer._replace(run=run)


@contextlib.contextmanager
def _bfloat16_products():
    """Does what `training.precision: bfloat16_products` does."""
    import tensorflow as tf

    option = "auto_mixed_precision_onednn_bfloat16"
    tf.config.optimizer.set_experimental_options({option: True})
    yield
    tf.config.optimizer.set_experimental_options({option: False})


def _load(task, path):
    import keras

    from aiayn_keras import LabelSmoothedCrossEntropy, TransformerBackbone, TransformerSeq2SeqLM

    if task.hidden_dim <= SMALL_HIDDEN_DIM and keras.config.backend() == "tensorflow":
        _share_cores()
    backbone = TransformerBackbone(
        vocabulary_size=task.vocabulary_size,
        num_layers=task.num_layers,
        num_heads=task.num_heads,
        hidden_dim=task.hidden_dim,
        intermediate_dim=task.intermediate_dim,
        dropout=DROPOUT,
        dtype="float32" if task.precision == "float32" else f"mixed_{task.precision}",
    )
    model = TransformerSeq2SeqLM(backbone)
    model.compile(
        loss=LabelSmoothedCrossEntropy(LABEL_SMOOTHING),
        weighted_metrics=[],
        jit_compile=keras.config.backend() == "jax",
    )
    return fit_trainer(model, load_batches(path))


def _share_cores():
    """Sets TensorFlow's threads as the command does for a small model."""
    import tensorflow as tf

    from aiayn_keras import backend

    # Older versions do not have it.
    divide = getattr(backend, "divide_batches_among_cores", lambda: False)
    if not divide():
        tf.config.threading.set_inter_op_parallelism_threads(1)


def fit_trainer(model, batches):
    """A `Trainer` that calls `model.fit`."""
    import grain
    import keras

    def as_keras(batch):
        x = {name: array for name, array in batch.items() if name != "labels"}
        return x, batch["labels"], (batch["decoder_padding_mask"] > 0).astype("float32")

    # Keras takes a dimension for static if the first two batches agree in it.
    first = next(
        (i for i, b in enumerate(batches) if b["labels"].shape != batches[0]["labels"].shape), 0
    )
    if first:
        batches[1], batches[first] = batches[first], batches[1]
    data = grain.MapDataset.source(list(map(as_keras, batches))).to_iter_dataset()

    def run():
        history = model.fit(data, epochs=1, verbose=0, shuffle=False)
        return history.history["loss"][-1]

    # What is compiled runs in Python only when it is compiled.
    scale_loss, calls = model.optimizer.scale_loss, []

    def counting_scale(loss):
        calls.append(None)
        return scale_loss(loss)

    model.optimizer.scale_loss = counting_scale
    compiles = keras.config.backend() != "torch"
    return Trainer(run, batches, (lambda: len(calls)) if compiles else None)
