"""Checks the devices of this machine, and measures them.

Run from the repository's root, where `aiayn_keras` is installed. A training step, with the backend
of your choice:

    KERAS_BACKEND=jax python -m benchmarks.accelerator
    KERAS_BACKEND=jax python -m benchmarks.accelerator --preset big --tokens 8192
    KERAS_BACKEND=jax python -m benchmarks.accelerator --devices data_parallel --tokens 24576
    KERAS_BACKEND=tensorflow python -m benchmarks.accelerator --jit-compile

Everything, with all the backends that are installed:

    python -m benchmarks.accelerator --all --output runs/accelerator
    python -m benchmarks.accelerator --all --output runs/cpu --preset tiny --tokens 1024 --steps 5

- `answers-BACKEND`: logits, translations and the losses of a training, compared with those that
  TensorFlow computed on a CPU (`references.json`). Float32.
- `train-BACKEND`: the training step, beside `train-torch-nn-eager` and `train-torch-nn-compiled`,
  `torch.nn.Transformer` on the same batch.
- `decode-BACKEND`: the included model's search, in batches and one text after another, beside
  `decode-ctranslate2`. Float32, 4 beams.

Interrupted, the same command goes on with the parts that have no result in the output folder. It
ends with 1 if answers disagree. Neither a network nor TensorFlow is needed.
"""

import sys
from pathlib import Path

import click

from benchmarks.accelerator.answers import NUM_UPDATES, write_references
from benchmarks.accelerator.parts import report_parts, run_parts
from benchmarks.accelerator.training_step import measure_training, training_table
from benchmarks.report import machine


@click.command()
@click.option("--all", "run_all", is_flag=True, help="Run all parts.")
@click.option("--output", type=click.Path(file_okay=False, path_type=Path),
              help="With --all: folder of the results.")  # fmt: skip
@click.option("--parts", "patterns", multiple=True, default=["*"],
              help="With --all: pattern of parts such as 'answers-*'.")  # fmt: skip
@click.option("--texts", "num_texts", type=click.IntRange(min=1),
              help="With --all: translate only the first texts.")  # fmt: skip
@click.option("--updates", type=click.IntRange(1, NUM_UPDATES), default=NUM_UPDATES,
              show_default=True, help="With --all: updates that are compared.")  # fmt: skip
@click.option("--write-references", "write", is_flag=True,
              help="Compute the stored answers again, with TensorFlow on a CPU.")  # fmt: skip
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
def main(run_all, output, patterns, num_texts, updates, write, **training):
    """Check and measure the devices of this machine."""
    if training["tokens"] % training["row"] or training["row"] % 64:
        raise click.UsageError("--tokens must be a multiple of --row, and --row of 64.")
    if run_all != (output is not None):
        raise click.UsageError("--all and --output belong together.")
    if write:
        write_references()
    elif run_all:
        results, refusals = run_parts(output, patterns, training, num_texts, updates)
        click.echo(f"{machine()}\n\n{report_parts(results, refusals)}")
        sys.exit(int(not all(result.get("agrees", True) for result in results.values())))
    else:
        click.echo(f"{machine()}\n\n{training_table({'ours': measure_training(**training)})}")


if __name__ == "__main__":
    main()
