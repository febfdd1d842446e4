"""Training speed of this package and of others, on the same sentences.

Run from the repository's root, where `aiayn_keras` is installed with its extras:

    python -m benchmarks.train --workload base
    python -m benchmarks.train --workload tiny --source train.en --target train.de
    python -m benchmarks.train --workload tiny --source train.en --target train.de \
        --systems 'ours-*' --systems joeynmt-float32 --joeynmt-python VENV/bin/python

Workloads:

- `tiny`: 4+4 layers of width 128, 10,000 wordpieces, 12 batches of at most 4,096 positions a side
  from a text file, sentences of similar length together; `-packed` is the same text in packed rows.
- `base`: the paper's base model, 32,000 tokens, 4 batches of 32 times 32 random tokens.

All have dropout 0.1, label smoothing 0.1, tied embeddings and Adam; `kerashub` has no smoothing,
`tutorial` neither that nor tied embeddings. Every system has a process of its own; systems run in
turn, every other round in reverse order. The first pass is not counted: there shapes are compiled.
Speed is in target tokens per second that are not padding. JoeyNMT pins other versions: give the
Python of an environment where `pip install joeynmt importlib_metadata` was run.
"""

import json
import tempfile
from dataclasses import asdict
from pathlib import Path
from statistics import median

import click
import numpy as np
from tqdm import tqdm

from benchmarks.processes import Worker, WorkerError
from benchmarks.report import machine, markdown_table
from benchmarks.tasks import match_systems
from benchmarks.train_tasks import TRAIN_SYSTEMS, TrainTask, load_batches, save_batches

SHAPES = {
    "tiny": {
        "vocabulary_size": 10_000,
        "num_layers": 4,
        "num_heads": 4,
        "hidden_dim": 128,
        "intermediate_dim": 256,
    },
    "base": {
        "vocabulary_size": 32_000,
        "num_layers": 6,
        "num_heads": 8,
        "hidden_dim": 512,
        "intermediate_dim": 2048,
    },
}


def make_batches(workload, source, target, folder):
    """Writes the batches; returns the two paths, and a sentence on padding."""
    from aiayn_keras.data import PackedBatches, TokenBatches, TokenPairs, read_parallel
    from aiayn_keras.models import TransformerTokenizer

    paths = folder / "batches.npz", folder / "packed.npz"
    vocabulary_size = SHAPES[workload]["vocabulary_size"]
    if workload == "base":
        random = np.random.default_rng(1)
        ids = random.integers(4, vocabulary_size, size=(2, 4 * 32, 31))
        batches = TokenBatches(TokenPairs(*map(list, ids)), tokens_per_batch=32 * 32)
        for path in paths:
            save_batches(path, list(batches))
        return *paths, "No padding."
    pairs = read_parallel(source, target)
    texts = [*pairs.sources, *pairs.targets]
    tokenizer = TransformerTokenizer.train(texts, vocabulary_size=vocabulary_size)
    tokens = TokenPairs(tokenizer(list(pairs.sources)), tokenizer(list(pairs.targets)))
    shares = []
    for path, kind in zip(paths, (TokenBatches, PackedBatches), strict=True):
        batches = kind(tokens, tokens_per_batch=4096)
        shares.append(batches.padding_share)
        save_batches(path, [batches[i] for i in range(12)])
    return *paths, (
        f"Padding: {shares[0]:.1%} in batches of similar lengths, {shares[1]:.1%} in packed rows."
    )


def measure(task_of, names, python_of, folder, rounds):
    """Runs systems in turn.

    Returns:
        Dictionary of records, and a dictionary of reasons for systems left out.
    """
    records, workers, left_out = {}, {}, {}
    try:
        for name in tqdm(names, desc="first passes", disable=None):
            spec = TRAIN_SYSTEMS[name]
            try:
                worker = Worker(spec, folder / f"{name}.log", python_of(name))
                workers[name] = worker
                record = worker.ask({"load": asdict(task_of(spec))})
                first = worker.ask({"run": True})
                records[name] = {**record, "first_seconds": first["seconds"], "seconds": []}
            except WorkerError as error:
                left_out[name] = str(error)
        for number in tqdm(range(rounds), desc="rounds", disable=None):
            for name in list(records)[:: 1 if number % 2 == 0 else -1]:
                answer = workers[name].ask({"run": True})
                records[name]["seconds"].append(answer["seconds"])
                records[name]["peak_bytes"] = answer["peak_bytes"]
                records[name]["loss"] = answer["loss"]
        for name, record in records.items():
            record |= workers[name].ask({"peak": True})
    finally:
        for worker in workers.values():
            worker.close()
    return records, left_out


def table(records, baseline):
    """A Markdown table of medians and ratios."""
    reference = records[baseline]
    rows = []
    for name, record in records.items():
        ratios = [
            (record["tokens"] / ours) / (reference["tokens"] / theirs)
            for ours, theirs in zip(record["seconds"], reference["seconds"], strict=True)
        ]
        seconds = median(record["seconds"])
        share = record["flops"] / seconds / record["flops_per_second"]
        compilations = record["compilations"]
        rows.append(
            [
                f"`{name}`",
                f"{record['tokens'] / seconds:,.0f}",
                f"{median(ratios):.2f} ({min(ratios):.2f}–{max(ratios):.2f})",
                f"{record['first_seconds'] - seconds:.1f}",
                "–" if compilations is None else str(compilations),
                str(record["shapes"]),
                f"{record['peak_bytes'] / 1e9:.2f}",
                f"{record['flops_per_second'] / 1e9:.0f}",
                f"{share:.0%}",
            ]
        )
    heads = [
        "system",
        "real target tokens/s",
        f"× `{baseline}`",
        "first pass longer by, s",
        "compilations",
        "shapes",
        "peak memory, GB",
        "matrix product, GFLOP/s",
        "share of it reached",
    ]
    return markdown_table(heads, rows, "lrrrrrrrr")


@click.command()
@click.option("--workload", type=click.Choice(list(SHAPES)), required=True)
@click.option("--source", type=click.Path(exists=True, dir_okay=False), help="Text.")
@click.option("--target", type=click.Path(exists=True, dir_okay=False), help="Its translation.")
@click.option("--systems", "patterns", multiple=True, metavar="PATTERN", default=["*"])
@click.option("--baseline", help="System of ratio 1. Default: the first one.")
@click.option("--rounds", type=click.IntRange(min=1), default=5, show_default=True)
@click.option("--joeynmt-python", help="Python of an environment with JoeyNMT.")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="JSON to write.")
def main(workload, source, target, patterns, baseline, rounds, joeynmt_python, output):
    """Measure training speed of this package and of others, as Markdown."""
    if workload == "tiny" and (source is None or target is None):
        raise click.UsageError("--workload tiny needs --source and --target.")
    names = match_systems(patterns, TRAIN_SYSTEMS)
    left_out = {}
    if joeynmt_python is None and "joeynmt-float32" in names:
        names.remove("joeynmt-float32")
        left_out["joeynmt-float32"] = "no --joeynmt-python"
    with tempfile.TemporaryDirectory() as folder:
        *paths, padding = make_batches(workload, source, target, Path(folder))

        def task_of(spec):
            return TrainTask(*map(str, paths), **SHAPES[workload], precision=spec.precision)

        def python_of(name):
            return joeynmt_python if name.startswith("joeynmt") else None

        shapes = {batch["labels"].shape for batch in load_batches(paths[0])}
        records, failed = measure(task_of, names, python_of, Path(folder), rounds)
    left_out |= failed
    click.echo(f"{machine()}\n\n### {workload}\n")
    if records:
        click.echo(table(records, baseline if baseline in records else next(iter(records))))
    click.echo(f"\n{padding} Batches have {len(shapes)} shapes.")
    for name, reason in left_out.items():
        click.echo(f"- `{name}` is left out: {reason}.")
    if output is not None:
        output.write_text(json.dumps({"machine": machine(), "records": records}, indent=1))


if __name__ == "__main__":
    main()
