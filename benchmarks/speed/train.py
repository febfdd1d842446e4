"""Training speed of this package and of others, on the same sentences.

Run from the repository's root, where `aiayn_keras` is installed with its extras:

    python -m benchmarks.speed.train --workload base
    python -m benchmarks.speed.train --workload tiny --source train.en --target train.de
    python -m benchmarks.speed.train --workload tiny --systems 'ours-tensorflow-float32*' \
        --against OTHER_CHECKOUT
    python -m benchmarks.speed.train --workload tiny --source train.en --target train.de \
        --systems 'ours-*' --systems joeynmt-float32 --joeynmt-python VENV/bin/python

Workloads:

- `tiny`: 4+4 layers of width 128, 10,000 wordpieces, 12 batches of at most 4,096 positions per side
  from a text file, with sentences of similar length together; `-packed` is the same text in packed
  rows. Without --source and --target it is random tokens, in sentences of 3 to 40.
- `base`: the paper's base model, 32,000 tokens, 4 batches of 32 times 32 random tokens.

All have dropout 0.1, label smoothing 0.1, tied embeddings and Adam; `kerashub` has no smoothing,
and `tutorial` has neither smoothing nor tied embeddings. Every system has its own process; systems
run in turn, every other round in reverse order. The first pass, which compiles shapes, is not
counted. Speed is in target tokens per second, without padding. JoeyNMT pins different versions:
give the Python of an environment where `pip install joeynmt importlib_metadata` was run.
"""

import contextlib
import json
import tempfile
from dataclasses import asdict
from pathlib import Path
from statistics import median

import click
import numpy as np

from benchmarks.report import machine
from benchmarks.speed.systems import choose_systems, measuring_options
from benchmarks.speed.train_systems import SYSTEMS, TrainTask, save_batches
from benchmarks.speed.turns import (
    Measurement,
    left_out_list,
    reference_of,
    speed_table,
    take_turns,
)

# Vocabulary, layers, heads, width, and width of the feed-forward layers.
SHAPES = {"tiny": (10_000, 4, 4, 128, 256), "base": (32_000, 6, 8, 512, 2048)}
NUM_RANDOM_PAIRS = 5_000
LENGTHS = 4.0, 3.5  # shape and scale of a gamma distribution, in tokens


def make_batches(workload, source, target, num_batches, folder):
    """Writes the batches; returns the two paths, and a sentence on padding."""
    from aiayn_keras.data import PackedBatches, TokenBatches

    paths = folder / "batches.npz", folder / "packed.npz"
    vocabulary_size = SHAPES[workload][0]
    if workload == "base":
        batches = TokenBatches(random_pairs(vocabulary_size, [31] * 128), tokens_per_batch=32 * 32)
        for path in paths:
            save_batches(path, list(batches))
        return *paths, "No padding."
    if source is None:
        lengths = np.random.default_rng(0).gamma(*LENGTHS, NUM_RANDOM_PAIRS).clip(3, 40)
        pairs = random_pairs(vocabulary_size, lengths.round().astype(int))
    else:
        pairs = read_pairs(source, target, vocabulary_size)
    shares = []
    for path, kind in zip(paths, (TokenBatches, PackedBatches), strict=True):
        batches = kind(pairs, tokens_per_batch=4096)
        shares.append(batches.padding_share)
        save_batches(path, [batches[i] for i in range(min(num_batches, len(batches)))])
    return *paths, (
        f"Padding: {shares[0]:.1%} in batches of similar lengths, {shares[1]:.1%} in packed rows."
    )


def random_pairs(vocabulary_size, lengths):
    """Pairs of random tokens, both sides of the same lengths."""
    from aiayn_keras.data import TokenPairs

    random = np.random.default_rng(1)
    sides = [[random.integers(4, vocabulary_size, size) for size in lengths] for _ in range(2)]
    return TokenPairs(*sides)


def read_pairs(source, target, vocabulary_size):
    """Pairs of wordpieces from two text files."""
    from aiayn_keras import TransformerTokenizer
    from aiayn_keras.data import TokenPairs, read_parallel

    pairs = read_parallel(source, target)
    texts = [*pairs.sources, *pairs.targets]
    tokenizer = TransformerTokenizer.train(texts, vocabulary_size, normalization="nmt_nfkc")
    return TokenPairs(tokenizer(list(pairs.sources)), tokenizer(list(pairs.targets)))


def start(name, system, task, log, stack):
    """Loads a system and lets it train once."""
    worker = stack.enter_context(system.start(log))
    loaded = "benchmarks.speed.train_systems:LoadedTask"
    worker.keep(loaded, loader=system.loader, task=asdict(task))
    facts = worker.call("describe")
    return Measurement(name, worker, facts["tokens"], **facts)


# By head, a function from a `Measurement` to a cell.
COLUMNS = {
    "first pass longer by, s": lambda m: f"{m.first_seconds - median(m.seconds):.1f}",
    "compilations": lambda m: str(m.facts["compilations"] or "–"),
    "shapes": lambda m: str(m.facts["shapes"]),
    "peak memory, GB": lambda m: f"{m.worker.peak_bytes / 1e9:.2f}",
}


@click.command()
@click.option("--workload", type=click.Choice(list(SHAPES)), required=True)
@click.option("--source", type=click.Path(exists=True, dir_okay=False), help="Text.")
@click.option("--target", type=click.Path(exists=True, dir_okay=False), help="Its translation.")
@click.option(
    "--batches",
    "num_batches",
    type=click.IntRange(min=1),
    default=12,
    show_default=True,
    help="Batches per pass of the workload `tiny`.",
)
@click.option("--joeynmt-python", help="Python of an environment with JoeyNMT.")
@measuring_options
def main(
    workload,
    source,
    target,
    num_batches,
    joeynmt_python,
    patterns,
    baseline,
    against,
    rounds,
    output,
):
    """Measure training speed of this package and of others, as Markdown."""
    if (source is None) != (target is None):
        raise click.UsageError("--source and --target belong together.")
    systems = choose_systems(patterns, SYSTEMS, against)
    if "joeynmt-float32" in systems:
        joeynmt = systems["joeynmt-float32"]
        systems["joeynmt-float32"] = joeynmt._replace(python=joeynmt_python)
    with (
        tempfile.TemporaryDirectory(prefix="benchmark-") as folder,
        contextlib.ExitStack() as stack,
    ):
        *paths, padding = make_batches(workload, source, target, num_batches, Path(folder))

        def start_in_turn(name):
            system = systems[name]
            task = TrainTask(*map(str, paths), *SHAPES[workload], system.precision)
            return start(name, system, task, Path(folder, f"{name}.log"), stack)

        measurements, left_out = take_turns(list(systems), start_in_turn, rounds, workload)
    click.echo(f"{machine()}\n\n### {workload}\n")
    if measurements:
        reference = reference_of(measurements, baseline)
        unit = "real target tokens/s"
        click.echo(speed_table(measurements, reference, unit, COLUMNS, against))
    click.echo(f"\n{padding}")
    click.echo(left_out_list(left_out))
    if output is not None:
        records = [measurement.as_dict() for measurement in measurements]
        output.write_text(json.dumps({"machine": machine(), "systems": records}, indent=1))


if __name__ == "__main__":
    main()
