"""Time of a training step on this machine's devices, of this package and of PyTorch's module.

The paper's model is trained from random weights on random tokens in full rows, by `fit` as
`aiayn-keras train` calls it. The first step compiles and is timed separately. MFU is the share
of the devices' published peak in half precision that the model's own matrix products use.
"""

import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from benchmarks.report import digits, markdown_table
from benchmarks.speed.train_systems import LoadedTask, TrainTask, save_batches
from benchmarks.tpu.chips import peak_flops
from benchmarks.tpu.flops import training_flops
from benchmarks.training_recipe import training_recipe


def device_name():
    """Name of the first device of Keras' backend."""
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


@dataclass(frozen=True)
class Training:
    """A training to time.

    Attributes:
        preset: Name of an architecture without `transformer_`.
        tokens: Positions of a batch on each side, over all devices.
        row: Positions of a row, a multiple of 64.
        steps: Number of steps that are timed.
        precision: Field of a recipe's `training`, as are `devices` and `jit_compile`.
        devices: `"one"` or `"data_parallel"`.
        vocabulary_size: Number of tokens.
        num_layers: Layers of encoder and decoder, 0 for the preset's.
        jit_compile: Whether XLA compiles the step; None for the recipe's choice.
    """

    preset: str
    tokens: int
    row: int
    steps: int
    precision: str
    devices: str
    vocabulary_size: int
    num_layers: int
    jit_compile: bool | None

    def recipe(self):
        """The `Recipe` that describes it."""
        return training_recipe(
            self.preset,
            self.vocabulary_size,
            self.num_layers,
            precision=self.precision,
            devices=self.devices,
            jit_compile=self.jit_compile,
        )

    def batch(self):
        """A batch of rows without padding; each holds one sentence, which changes no shape.

        Returns:
            `(x, y, sample_weight)`, weighted as in a training.
        """
        import numpy as np

        from aiayn_keras.data import PackedBatches, TokenPairs, UpdateBatches

        shape = self.tokens // self.row, self.row - 1
        sentences = np.random.default_rng(0).integers(4, self.vocabulary_size, shape)
        pairs = TokenPairs(sentences, sentences)
        return UpdateBatches(PackedBatches(pairs, tokens_per_batch=self.tokens))[0]

    def record(self, backbone, first_seconds, seconds, num_devices=1):
        """Dictionary of the facts that `training_table` shows."""
        _, labels, weights = self.batch()
        rows, length = labels.shape
        flops = training_flops(backbone, rows, length, length) / seconds / num_devices
        peak = peak_flops(device_name())
        return {
            "device": device_name(),
            "devices": num_devices,
            "model": f"{self.preset}, {self.precision}",
            "tokens": int((weights > 0).sum()),
            "first_step_seconds": first_seconds,
            "step_seconds": seconds,
            "tflops": flops / 1e12,
            "mfu": None if peak is None else flops / peak,
        }


def measure_training(**training):
    """Trains this package's model on the backend that runs.

    Args:
        **training: Attributes of a `Training`.

    Returns:
        Dictionary of the facts that `training_table` shows.
    """
    import keras

    training = Training(**training)
    recipe = training.recipe()
    opened = recipe.open_devices()
    number = 1 if training.devices == "one" else len(keras.distribution.list_devices())
    with opened.scope():
        model = recipe.build_model(training.vocabulary_size)
        first, seconds = _time_fit(model, training.batch(), training.steps, opened.num_models)
    return training.record(model.backbone, first, seconds, number)


def _time_fit(model, batch, steps, num_models):
    """Seconds of the first step, which compiles, and of each of some later ones."""
    import grain

    from aiayn_keras.data import ProcessRows

    def seconds(count):
        batches = grain.MapDataset.source([batch] * count).map(ProcessRows(num_models))
        start = time.perf_counter()
        model.fit(batches.to_iter_dataset(), steps_per_epoch=count, shuffle=False, verbose=0)
        return time.perf_counter() - start

    first = seconds(1)
    seconds(3)  # The memory has its final layout, and clocks have risen.
    return first, seconds(steps) / steps


def measure_torch(mode, **training):
    """Trains `torch.nn.Transformer` of the same size on the same batch, on one device.

    Args:
        mode: `"eager"` or `"compiled"`.
        **training: Attributes of a `Training`.

    Returns:
        The same dictionary.
    """
    training = Training(**training)
    backbone = training.recipe().build_model(training.vocabulary_size).backbone
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "batch.npz"
        save_batches(path, [training.batch()])
        task = TrainTask(
            str(path),
            str(path),
            training.vocabulary_size,
            backbone.num_encoder_layers,
            backbone.num_heads,
            backbone.hidden_dim,
            backbone.intermediate_dim,
            training.precision.removeprefix("mixed_"),
        )
        loaded = LoadedTask(f"benchmarks.speed.train_torch:load_{mode}", asdict(task))
        first = loaded.run()["seconds"]
        for _ in range(3):
            loaded.run()
        seconds = median(loaded.run()["seconds"] for _ in range(training.steps))
    return training.record(backbone, first, seconds)


def training_table(records):
    """Measurements as a Markdown table.

    Args:
        records: Dictionary of those from `measure_training` or `measure_torch`, by a system's name.
    """
    heads = ["system", "device", "number", "model", "first step, s", "step, ms",
             "target tokens/s", "TFLOP/s a device", "MFU"]  # fmt: skip
    rows = [
        [
            name,
            record["device"],
            str(record["devices"]),
            record["model"],
            f"{record['first_step_seconds']:.1f}",
            f"{record['step_seconds'] * 1e3:.1f}",
            digits(record["tokens"] / record["step_seconds"]),
            f"{record['tflops']:.2f}",
            "unknown peak" if record["mfu"] is None else f"{record['mfu']:.0%}",
        ]
        for name, record in records.items()
    ]
    return markdown_table(heads, rows, "llrlrrrrr")
