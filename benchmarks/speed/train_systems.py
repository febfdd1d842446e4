"""Systems that train."""

import importlib
import time
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from benchmarks.speed.systems import BACKENDS, System

FIELDS = (
    "encoder_token_ids",
    "encoder_padding_mask",
    "decoder_token_ids",
    "decoder_padding_mask",
    "labels",
)
DROPOUT, LABEL_SMOOTHING = 0.1, 0.1


@dataclass(frozen=True)
class TrainTask:
    """A pass over some batches.

    Attributes:
        batches: Path of a file from `save_batches`.
        packed_batches: The same sentences in packed rows.
        vocabulary_size: Number of tokens.
        num_layers: Layers of the encoder and of the decoder.
        num_heads: Heads.
        hidden_dim: Width.
        intermediate_dim: Width of the feed-forward layers.
        precision: Precision, such as `"bfloat16"`.
    """

    batches: str
    packed_batches: str
    vocabulary_size: int
    num_layers: int
    num_heads: int
    hidden_dim: int
    intermediate_dim: int
    precision: str


class Trainer(NamedTuple):
    """A loaded system.

    Attributes:
        run: Function without arguments that trains on every batch once and returns the last loss.
        batches: List of dictionaries of arrays that it trains on.
        count_compilations: Function without arguments; None if nothing is compiled.
    """

    run: Any
    batches: Any
    count_compilations: Any = None


def save_batches(path, batches):
    """Writes batches `(x, y, sample_weight)` of `model.fit` to an `.npz` file."""
    arrays = {}
    for number, (x, labels, _) in enumerate(batches):
        for name, array in {**x, "labels": labels}.items():
            arrays[f"{number}/{name}"] = array
    np.savez(path, **arrays)


def load_batches(path):
    """The batches in a file from `save_batches`, as dictionaries."""
    with np.load(path) as arrays:
        count = len(arrays.files) // len(FIELDS)
        return [{name: arrays[f"{i}/{name}"] for name in FIELDS} for i in range(count)]


class LoadedTask:
    """A task and the system that trains, kept in the system's process.

    Args:
        loader: `module:function`, from a `TrainTask` to a `Trainer`.
        task: Attributes of the `TrainTask`.
    """

    def __init__(self, loader, task):
        module, function = loader.split(":")
        self.trainer = getattr(importlib.import_module(module), function)(TrainTask(**task))

    def describe(self):
        """Size of a pass: target tokens without padding, and shapes of batches."""
        batches = self.trainer.batches
        return {
            "tokens": sum(int((batch["decoder_padding_mask"] > 0).sum()) for batch in batches),
            "shapes": len({batch["labels"].shape for batch in batches}),
        }

    def run(self):
        """One pass over the batches."""
        start = time.perf_counter()
        loss = float(self.trainer.run())
        seconds = time.perf_counter() - start
        count = self.trainer.count_compilations
        return {"seconds": seconds, "loss": loss, "compilations": count and count()}


_OURS, _TORCH = "benchmarks.speed.train_ours", "benchmarks.speed.train_torch"

SYSTEMS = {
    **{
        f"ours-{backend}-{precision}{suffix}": System(
            f"{_OURS}:load{suffix.replace('-', '_')}", precision, (backend,), backend, is_ours=True
        )
        for precision in ("float32", "bfloat16")
        for backend in BACKENDS
        for suffix in ("", "-packed")
    },
    **{
        f"ours-tensorflow-products{suffix}": System(
            f"{_OURS}:load_products{suffix.replace('-', '_')}",
            "bfloat16",
            ("tensorflow",),
            "tensorflow",
            is_ours=True,
        )
        for suffix in ("", "-packed")
    },
    **{
        f"torch-{mode}-{precision}": System(f"{_TORCH}:load_{mode}", precision, ("torch",))
        for mode in ("eager", "compiled")
        for precision in ("float32", "bfloat16")
    },
    **{
        f"{name}-{backend}-float32": System(
            f"benchmarks.speed.train_keras:load_{name}", "float32", (backend,), backend
        )
        for name in ("kerashub", "tutorial")
        for backend in BACKENDS
    },
    "joeynmt-float32": System("benchmarks.speed.train_joeynmt:load", "float32"),
}
