"""Memory and time of preparing and reading a corpus, against its size.

    python -m benchmarks.growth.prepare 50000 500000 5000000

writes a corpus with that many generated pairs, prepares it as `aiayn-keras prepare` does, reads
every batch of one epoch, and prints the peak resident memory of each step. Each step runs in its
own process; the first row, for 2,000 pairs, shows the memory needed before any pair is read.
"""

import tempfile
import time
from pathlib import Path

import click
import numpy as np
import yaml

from benchmarks.memory import MEGABYTE, peak_of_children
from benchmarks.processes import Worker
from benchmarks.report import machine, markdown_table

SMALL = 2_000
WORDS = 20_000
LINES = 50_000
HEADS = [
    *("pairs", "shards MB", "prepare s", "peak MB, process + worker"),
    *("packed: ready s", "tokens/s", "padding", "peak MB"),
    *("buckets: ready s", "tokens/s", "padding", "peak MB"),
]


def write_corpus(folder, pairs, seed=0):
    """Lines of 3 to 40 words, words by Zipf's law; a pair's sides have about the same length."""
    random = np.random.default_rng(seed)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = ["".join(random.choice(letters, size)) for size in random.integers(2, 11, WORDS)]
    shares = 1 / np.arange(10, WORDS + 10)
    paths = [folder / f"train.{side}" for side in ("en", "de")]
    with paths[0].open("w") as source, paths[1].open("w") as target:
        for start in range(0, pairs, LINES):
            size = min(LINES, pairs - start)
            lengths = np.clip(random.gamma(4, 2.5, size).round(), 3, 40).astype(int)
            for file in (source, target):
                sizes = np.clip(lengths + random.integers(-2, 3, size), 1, None)
                drawn = random.choice(WORDS, sizes.sum(), p=shares / shares.sum())
                for line in np.split(drawn, np.cumsum(sizes)[:-1]):
                    file.write(" ".join([words[word] for word in line]) + "\n")
    return [str(path) for path in paths]


def write_recipe(folder, files, vocabulary_size):
    """Writes a recipe for the corpus and returns its path."""
    fields = {
        "corpus": {"train": files, "validation": list(files)},
        "tokenizer": {"vocabulary_size": vocabulary_size},
        "training": {"updates": 1, "checkpoint_every": 1, "bleu_every": 1},
    }
    path = folder / "recipe.yaml"
    path.write_text(yaml.safe_dump(fields))
    return path


def prepare(recipe, output):
    """Tokenizes; returns seconds and the maximum peak memory of its processes."""
    from aiayn_keras.scale.preparation import prepare as run
    from aiayn_keras.training import load_recipe

    start = time.perf_counter()
    with peak_of_children() as peak:
        run(load_recipe(recipe), output)
    return {"seconds": time.perf_counter() - start, "child_bytes": peak[0]}


def read_epoch(recipe, shards, packing):
    """Reads all batches of one epoch; returns seconds until they are ready, speed and padding."""
    from aiayn_keras.training import load_recipe
    from aiayn_keras.training.training_data import TrainingShards, make_batches

    loaded = load_recipe(recipe, [f"corpus.shards={shards}", f"batches.packing={packing}"])
    start = time.perf_counter()
    batches = make_batches(TrainingShards(loaded).pairs(None, 512), loaded.batches, seed=1)
    ready = time.perf_counter() - start
    tokens = sum(int(weights.sum()) for _, _, weights in batches.to_iter_dataset(0, len(batches)))
    return {
        "ready": ready,
        "tokens_per_second": tokens / (time.perf_counter() - start - ready),
        "padding": batches.padding_share,
    }


def run_step(log, function, **arguments):
    """Runs a function of this module in its own process; returns its result and peak memory."""
    with Worker(log, "tensorflow") as worker:
        result = worker.call(f"benchmarks.growth.prepare:{function}", **arguments)
        return {**result, "peak": worker.peak_bytes / MEGABYTE}


def measure(pairs, folder):
    """The row for one corpus."""
    files = write_corpus(folder, pairs)
    recipe = str(write_recipe(folder, files, 2000 if pairs == SMALL else 16_000))
    shards, log = folder / "shards", folder / "log"
    made = run_step(log, "prepare", recipe=recipe, output=str(shards))
    size = sum(file.stat().st_size for file in shards.iterdir())
    for file in files:
        Path(file).unlink()
    row = [f"{pairs:,}", f"{size / MEGABYTE:,.0f}", f"{made['seconds']:.0f}"]
    row.append(f"{made['peak']:,.0f} + {made['child_bytes'] / MEGABYTE:,.0f}")
    for packing in ("true", "false"):
        read = run_step(log, "read_epoch", recipe=recipe, shards=str(shards), packing=packing)
        row += [f"{read['ready']:.1f}", f"{read['tokens_per_second']:,.0f}"]
        row += [f"{read['padding']:.3f}", f"{read['peak']:,.0f}"]
    return row


@click.command()
@click.argument("sizes", type=click.IntRange(min=1), nargs=-1)
def main(sizes):
    """Measure the preparation and reading of corpora of SIZES pairs, as Markdown."""
    rows = []
    for pairs in (SMALL, *sizes):
        with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
            rows.append(measure(pairs, Path(folder)))
        click.echo(" | ".join(rows[-1]), err=True)
    click.echo(f"{machine()}\n\n{markdown_table(HEADS, rows)}")


if __name__ == "__main__":
    main()
