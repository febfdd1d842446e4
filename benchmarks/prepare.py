"""Memory and time of preparing and reading a corpus, against its size.

`python -m benchmarks.prepare 50000 500000 5000000` writes a corpus of that many made-up pairs,
prepares it by `aiayn-keras prepare`, reads every batch of one epoch, and prints the peak resident
memory of each step. Each step is a process of its own; what it needs before it sees any pair is the
first row, of 2,000 pairs.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import yaml

MEGABYTE = 2**20
SMALL = 2_000
WORDS = 20_000
LINES = 50_000


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


def step(*arguments):
    """Runs a step of this module in a process; what it answers, seconds, and the workers' peak."""
    start = time.perf_counter()
    code = [sys.executable, "-m", "benchmarks.prepare", "--step", *map(str, arguments)]
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(code, stdout=subprocess.PIPE, stderr=errors, text=True)
        worker = 0
        while process.poll() is None:
            worker = max([worker, *map(peak_megabytes, workers_of(process.pid))])
            time.sleep(0.2)
        if process.returncode:
            errors.seek(0)
            raise RuntimeError(errors.read()[-2000:])
        answer = json.loads(process.stdout.read().splitlines()[-1])
    return {**answer, "worker": worker, "seconds": time.perf_counter() - start}


def workers_of(parent):
    """Process numbers of the programs that `parent` runs to tokenize."""
    children = Path(f"/proc/{parent}/task/{parent}/children")
    for child in children.read_text().split() if children.exists() else ():
        command = Path(f"/proc/{child}/cmdline")
        if command.exists() and b"shard_worker" in command.read_bytes():
            yield child


def peak_megabytes(process="self"):
    """Peak resident memory of a process."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:  # It has just ended.
        return 0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), 0)


def prepare(recipe, output):
    """The step that tokenizes."""
    from aiayn_keras.training import load_recipe
    from aiayn_keras.training import prepare as run

    run(load_recipe(recipe), output)
    return {}


def iterate(recipe, output, packing):
    """The step that reads all batches of one epoch."""
    from aiayn_keras.training import load_recipe
    from aiayn_keras.training.training_data import TrainingShards, make_batches

    settings = [f"corpus.shards={output}", f"batches.packing={packing}"]
    loaded = load_recipe(recipe, settings)
    start = time.perf_counter()
    batches = make_batches(TrainingShards(loaded).pairs(None, 512), loaded.batches, seed=1)
    ready = time.perf_counter() - start
    tokens = sum(int(weights.sum()) for _, _, weights in batches.to_iter_dataset(0, len(batches)))
    return {
        "ready": ready,
        "tokens_per_second": tokens / (time.perf_counter() - start - ready),
        "padding": batches.padding_share,
    }


def main(sizes):
    """Prints a row for each size."""
    print(
        "| pairs | shards MB | prepare s | peak MB, process + worker | packed: ready s | tokens/s "
        "| padding | peak MB | buckets: ready s | tokens/s | padding | peak MB |\n"
        + "|---" * 12
        + "|"
    )
    for pairs in (SMALL, *sizes):
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            files = write_corpus(folder, pairs)
            recipe = folder / "recipe.yaml"
            fields = {
                "corpus": {"train": files, "validation": files},
                "tokenizer": {"vocabulary_size": 2000 if pairs == SMALL else 16_000},
                "training": {"updates": 1, "checkpoint_every": 1, "bleu_every": 1},
            }
            recipe.write_text(yaml.safe_dump(fields))
            output = folder / "shards"
            made = step("prepare", recipe, output)
            size = sum(file.stat().st_size for file in output.iterdir()) / MEGABYTE
            for file in files:
                Path(file).unlink()
            row = [f"{pairs:,}", f"{size:,.0f}", f"{made['seconds']:.0f}"]
            row.append(f"{made['own']:,.0f} + {made['worker']:,.0f}")
            for packing in ("true", "false"):
                read = step("iterate", recipe, output, packing)
                row += [f"{read['ready']:.1f}", f"{read['tokens_per_second']:,.0f}"]
                row += [f"{read['padding']:.3f}", f"{read['own']:,.0f}"]
            print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", type=int, nargs="*")
    parser.add_argument("--step", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.step:
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        name, *values = arguments.step
        answer = {"prepare": prepare, "iterate": iterate}[name](*values)
        print(json.dumps({**answer, "own": peak_megabytes()}))
    else:
        main(arguments.sizes)
