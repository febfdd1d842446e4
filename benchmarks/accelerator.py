"""Training speed on this machine's devices: a five-minute check of the projections for TPUs.

Run from the repository's root, where `aiayn_keras` is installed, with the backend of your choice:

    KERAS_BACKEND=jax python -m benchmarks.accelerator
    KERAS_BACKEND=jax python -m benchmarks.accelerator --preset big --tokens 8192
    KERAS_BACKEND=jax python -m benchmarks.accelerator --devices data_parallel --tokens 24576
    KERAS_BACKEND=tensorflow python -m benchmarks.accelerator --jit-compile

The paper's model is trained from random weights on random tokens in full rows, by `fit` as
`aiayn-keras train` calls it. The first step compiles and is timed separately. MFU is the share
of the devices' published peak in half precision that the model's own matrix products use.
"""

import json
import time
from pathlib import Path

import click

from benchmarks.report import digits, machine, markdown_table
from benchmarks.tpu.chips import peak_flops
from benchmarks.tpu.flops import training_flops
from benchmarks.training_recipe import training_recipe


def device_name():
    """Name of the first device of the backend that runs."""
    import keras

    return {"jax": _jax_device, "tensorflow": _tensorflow_device, "torch": _torch_device}[
        keras.config.backend()
    ]()


def _jax_device():
    import jax

    return jax.devices()[0].device_kind


def _tensorflow_device():
    import tensorflow as tf

    gpus = tf.config.list_physical_devices("GPU")
    return tf.config.experimental.get_device_details(gpus[0])["device_name"] if gpus else "cpu"


def _torch_device():
    import torch

    return torch.cuda.get_device_name(0) if torch.cuda.is_available() else "cpu"


def count_devices(kind):
    """Devices that take part in a training, given `training.devices`."""
    import keras

    return 1 if kind == "one" else len(keras.distribution.list_devices())


def full_batch(tokens, row, vocabulary_size):
    """A batch of rows without padding; each holds one sentence, which changes no shape.

    Args:
        tokens: Positions on each side.
        row: Positions of a row, a multiple of 64.
        vocabulary_size: Number of tokens.

    Returns:
        `(x, y, sample_weight)`, weighted as in a training.
    """
    import numpy as np

    from aiayn_keras.data import PackedBatches, TokenPairs, UpdateBatches

    sentences = np.random.default_rng(0).integers(4, vocabulary_size, (tokens // row, row - 1))
    batches = PackedBatches(TokenPairs(sentences, sentences), tokens_per_batch=tokens)
    return UpdateBatches(batches)[0]


def time_training(model, batch, steps, num_devices):
    """Seconds of the first step, which compiles, and of each of some later ones."""
    import grain

    from aiayn_keras.data import ProcessRows

    def seconds(count):
        batches = grain.MapDataset.source([batch] * count).map(ProcessRows(num_devices))
        start = time.perf_counter()
        model.fit(batches.to_iter_dataset(), steps_per_epoch=count, shuffle=False, verbose=0)
        return time.perf_counter() - start

    first = seconds(1)
    seconds(3)  # The memory has its final layout, and clocks have risen.
    return first, seconds(steps) / steps


@click.command()
@click.option("--preset", default="base", show_default=True)
@click.option("--tokens", type=click.IntRange(min=8), default=6144, show_default=True,
              help="Positions of a batch on each side, over all devices.")  # fmt: skip
@click.option("--row", type=click.IntRange(min=8), default=256, show_default=True,
              help="Positions of a packed row.")  # fmt: skip
@click.option("--steps", type=click.IntRange(min=1), default=100, show_default=True)
@click.option("--precision", default="mixed_bfloat16", show_default=True)
@click.option("--devices", default="one", type=click.Choice(["one", "data_parallel"]))
@click.option("--vocabulary-size", type=click.IntRange(min=8), default=37_000, show_default=True)
@click.option("--layers", "num_layers", type=click.IntRange(min=0), default=0,
              help="Instead of the preset's.")  # fmt: skip
@click.option("--jit-compile/--no-jit-compile", default=None, help="By default on JAX only.")
@click.option("--output", type=click.Path(path_type=Path), help="Write JSON as well.")
def main(
    preset, tokens, row, steps, precision, devices, vocabulary_size, num_layers, jit_compile, output
):
    """Measure a training on the devices of this machine."""
    if tokens % row or row % 64:
        raise click.UsageError("--tokens must be a multiple of --row, and --row of 64.")
    recipe = training_recipe(
        preset,
        vocabulary_size,
        num_layers,
        precision=precision,
        devices=devices,
        jit_compile=jit_compile,
    )
    opened, number = recipe.open_devices(), count_devices(devices)
    with opened.scope():
        model = recipe.build_model(vocabulary_size)
        batch = full_batch(tokens, row, vocabulary_size)
        first, seconds = time_training(model, batch, steps, opened.num_models)
    rows, length = batch[1].shape
    flops = training_flops(model.backbone, rows, length, length) / seconds / number
    peak = peak_flops(device_name())
    record = {
        "device": device_name(),
        "devices": number,
        "preset": preset,
        "precision": precision,
        "tokens": int((batch[2] > 0).sum()),
        "first_step_seconds": first,
        "step_seconds": seconds,
        "tflops": flops / 1e12,
        "mfu": None if peak is None else flops / peak,
    }
    click.echo(f"{machine()}\n\n{table(record)}")
    if output is not None:
        output.write_text(json.dumps(record, indent=1), encoding="utf-8")


def table(record):
    """The measurement as a Markdown table."""
    heads = ["device", "number", "model", "first step, s", "step, ms", "target tokens/s",
             "TFLOP/s a device", "MFU"]  # fmt: skip
    row = [
        record["device"],
        str(record["devices"]),
        f"{record['preset']}, {record['precision']}",
        f"{record['first_step_seconds']:.1f}",
        f"{record['step_seconds'] * 1e3:.1f}",
        digits(record["tokens"] / record["step_seconds"]),
        f"{record['tflops']:.2f}",
        "unknown peak" if record["mfu"] is None else f"{record['mfu']:.0%}",
    ]
    return markdown_table(heads, [row], "lrlrrrrr")


if __name__ == "__main__":
    main()
