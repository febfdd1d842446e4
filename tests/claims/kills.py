"""Kills a training by SIGKILL at random moments, resumes it, and compares the final weights.

`python -m benchmarks.kills` trains a very small model with `aiayn-keras train`, once undisturbed,
and then again and again until it was killed 20 times, at moments drawn evenly over the time the
undisturbed training took. Every killed training is resumed by the same command until it ends. Its
weights must be those of the undisturbed one, bit for bit. Exits with 1 if any are not.
"""

import argparse
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import h5py
import numpy as np
import yaml

from aiayn_keras.data import generate_demo_pairs
from aiayn_keras.training import list_checkpoints

SIZES = {"train": 500, "validation": 20, "test": 20}


def write_recipe(folder, updates):
    """A corpus and a recipe in `folder`; gives the recipe's path."""
    corpus = {}
    for split, size in SIZES.items():
        text = generate_demo_pairs(size, 0, split)
        path = folder / f"{split}.tsv"
        path.write_text("".join(f"{source}\t{target}\n" for source, target in text), "utf-8")
        corpus[split] = [str(path)]
    recipe = {
        "corpus": corpus,
        "tokenizer": {"vocabulary_size": 200},
        "model": {
            "preset": "transformer_tiny",
            "num_layers": 1,
            "num_heads": 2,
            "hidden_dim": 32,
            "intermediate_dim": 48,
        },
        "batches": {"tokens_per_batch": 512, "packing": True},
        "optimizer": {
            "warmup_steps": 30,
            "peak_learning_rate": 0.01,
            "gradient_accumulation_steps": 2,
            "ema_momentum": 0.9,
        },
        "training": {
            "updates": updates,
            "checkpoint_every": 10,
            "bleu_every": updates,
            "average_checkpoints": 3,
        },
        "evaluation": {"num_beams": 1},
    }
    path = folder / "kills.yaml"
    path.write_text(yaml.safe_dump(recipe), "utf-8")
    return path


def train(recipe, output, seconds=math.inf, stop_when=lambda: False):
    """Runs `aiayn-keras train`, and kills it after some seconds or when a function says so.

    Returns:
        Whether it ended by itself.

    Raises:
        RuntimeError: If it failed.
    """
    log = output.with_suffix(".log")
    with log.open("a", encoding="utf-8") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "aiayn_keras", "train", str(recipe), "--output", str(output)],
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    end = time.monotonic() + seconds
    while process.poll() is None:
        if stop_when() or time.monotonic() > end:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return False
        time.sleep(0.01)
    if process.returncode:
        raise RuntimeError(f"The training failed:\n{log.read_text('utf-8')[-2000:]}")
    return True


def weights_of(run):
    """All arrays of a model folder, by name."""
    arrays = {}
    with h5py.File(run / "model.weights.h5") as file:
        file.visititems(
            lambda name, item: arrays.update({name: item[()]}) if hasattr(item, "shape") else None
        )
    return arrays


def differences(run, undisturbed):
    """Names of what is not the same, bit for bit."""
    ours, theirs = weights_of(run), weights_of(undisturbed)
    different = sorted(ours.keys() ^ theirs.keys())
    different += [
        name for name in ours.keys() & theirs.keys() if not np.array_equal(ours[name], theirs[name])
    ]
    for name in ("history.json", "evaluation.json"):
        if (run / name).read_bytes() != (undisturbed / name).read_bytes():
            different.append(name)
    return different


def main(kills, updates, seed):
    """Prints a row for each kill and each end; gives the number of trainings that differ."""
    moments = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        recipe = write_recipe(folder, updates)
        undisturbed = folder / "undisturbed"
        start = time.perf_counter()
        train(recipe, undisturbed)
        seconds = time.perf_counter() - start
        print(f"undisturbed: {updates} updates in {seconds:.0f} s", flush=True)
        done = wrong = trainings = 0
        while done < kills:
            run = folder / f"run{trainings}"
            while not train(recipe, run, moments.uniform(0, seconds) if done < kills else math.inf):
                done += 1
                if (run / "evaluation.json").is_file():  # All was done but the farewell.
                    print(f"kill {done}: after the end", flush=True)
                    break
                saved = [update for update, _ in list_checkpoints(run / "checkpoints")]
                half = [path.name for path in run.rglob(".writing-*")]
                last = saved[-1] if saved else None
                print(f"kill {done}: last checkpoint {last}, half written {half}", flush=True)
            different = differences(run, undisturbed)
            wrong += bool(different)
            trainings += 1
            print(f"training {trainings} ended: {different or 'the very same'}", flush=True)
            shutil.rmtree(run)
    print(f"{done} kills, {trainings} trainings, {wrong} with other weights")
    return wrong


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--updates", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    sys.exit(min(1, main(**vars(parser.parse_args()))))
