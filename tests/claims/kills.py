"""Kills a training by SIGKILL at random moments, resumes it, and compares the final weights.

`python -m tests.claims.kills` trains a very small model with `aiayn-keras train`, once undisturbed,
and then again and again until it was killed 20 times, at moments drawn evenly over the time the
undisturbed training took. Every killed training is resumed by the same command until it ends. Its
weights must be those of the undisturbed one, bit for bit. With `--lora` adapters of a model that is
trained already are trained instead, and must be the same too. Exits with 1 if any are not.
"""

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

import click
import h5py
import numpy as np
import yaml

from aiayn_keras.data import generate_demo_pairs
from aiayn_keras.training import list_checkpoints
from tests.runs import figures_of

SIZES = {"train": 500, "validation": 20, "test": 20}
INITIAL_UPDATES = 20
RANK = 4


def write_recipe(folder, updates):
    """Writes a corpus and a recipe to `folder`; returns the recipe's path."""
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
            "bleu_every": 10,
            "average_checkpoints": 3,
        },
        "evaluation": {"num_beams": 1},
    }
    path = folder / "kills.yaml"
    path.write_text(yaml.safe_dump(recipe), "utf-8")
    return path


def write_adapting_recipe(folder, updates):
    """Trains a model and writes a recipe that adapts it; returns the recipe's path."""
    initial = folder / "initial"
    train(write_recipe(folder, INITIAL_UPDATES), initial)
    recipe = yaml.safe_load(write_recipe(folder, updates).read_text("utf-8"))
    del recipe["tokenizer"]
    recipe["model"] = {"initial": str(initial), "lora_rank": RANK}
    path = folder / "adapting.yaml"
    path.write_text(yaml.safe_dump(recipe), "utf-8")
    return path


def train(recipe, output, seconds=math.inf, stop_when=lambda: False):
    """Runs `aiayn-keras train`, and kills it after some seconds or when a function says so.

    Returns:
        Whether it ended by itself.

    Raises:
        RuntimeError: If it failed.
    """
    command = [
        sys.executable,
        "-m",
        "aiayn_keras_cli",
        "train",
        str(recipe),
        "--output",
        str(output),
    ]
    return run_or_kill(command, output.with_suffix(".log"), seconds, stop_when)


def run_or_kill(command, log, seconds, stop_when):
    """Runs a command, and kills it and its children after some seconds or on a function's word.

    Args:
        command: List of words.
        log: Path of a file that gets what it writes.
        seconds: The time it has.
        stop_when: Function without arguments, asked all the time.

    Returns:
        Whether it ended by itself.

    Raises:
        RuntimeError: If it failed.
    """
    with log.open("a", encoding="utf-8") as file:
        process = subprocess.Popen(
            command, stdout=file, stderr=subprocess.STDOUT, start_new_session=True
        )
    end = time.monotonic() + seconds
    while process.poll() is None:
        if stop_when() or time.monotonic() > end:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return False
        time.sleep(0.01)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{log.read_text('utf-8')[-2000:]}")
    return True


def weights_of(run):
    """All arrays of a model folder and of its adapters, by file and name."""
    arrays = {}
    for path in filter(Path.exists, (run / "model.weights.h5", run / "adapters.h5")):
        with h5py.File(path) as file:
            names = []
            file.visit(names.append)
            arrays |= {
                f"{path.name}: {name}": file[name][()]
                for name in names
                if isinstance(file[name], h5py.Dataset)
            }
    return arrays


def differences(run, undisturbed):
    """Names of what is not the same, bit for bit."""
    ours, theirs = weights_of(run), weights_of(undisturbed)
    different = sorted(ours.keys() ^ theirs.keys())
    different += [
        name for name in ours.keys() & theirs.keys() if not np.array_equal(ours[name], theirs[name])
    ]
    if figures_of(run) != figures_of(undisturbed):
        different.append("history.json")
    if (run / "evaluation.json").read_bytes() != (undisturbed / "evaluation.json").read_bytes():
        different.append("evaluation.json")
    return different


def count_different(folder, kills, updates, seed, is_adapted):
    """Kills and resumes trainings, and says what happened to each.

    Args:
        folder: Path of an empty folder.
        kills: Number of kills; the last training killed is resumed to its end.
        updates: Length of a training.
        seed: Of the moments.
        is_adapted: Whether adapters of a trained model are trained.

    Returns:
        Number of trainings, and of those whose weights differ from the undisturbed one's.
    """
    moments = random.Random(seed)
    write = write_adapting_recipe if is_adapted else write_recipe
    recipe, undisturbed = write(folder, updates), folder / "undisturbed"
    start = time.perf_counter()
    train(recipe, undisturbed)
    seconds = time.perf_counter() - start
    click.echo(f"undisturbed: {updates} updates in {seconds:.0f} s")
    done = wrong = trainings = 0
    while done < kills:
        run = folder / f"run{trainings}"
        while not train(recipe, run, moments.uniform(0, seconds) if done < kills else math.inf):
            done += 1
            if (run / "evaluation.json").is_file():  # the training was over, the process was not
                click.echo(f"kill {done}: after the end")
                break
            saved = [update for update, _ in list_checkpoints(run / "checkpoints")]
            half = [path.name for path in run.rglob(".writing-*")]
            last = saved[-1] if saved else None
            click.echo(f"kill {done}: last checkpoint {last}, half written {half}")
        different = differences(run, undisturbed)
        wrong += bool(different)
        trainings += 1
        click.echo(f"training {trainings} ended: {different or 'the very same'}")
        shutil.rmtree(run)
    return trainings, wrong


@click.command()
@click.option("--kills", type=click.IntRange(min=1), default=20, show_default=True)
@click.option("--updates", type=click.IntRange(min=1), default=200, show_default=True)
@click.option("--seed", default=0, show_default=True, help="Of the moments.")
@click.option("--lora", is_flag=True, help="Train adapters of a trained model.")
def main(kills, updates, seed, lora):
    """Kill trainings at random moments, resume them, and compare their weights."""
    with tempfile.TemporaryDirectory(prefix="kills-") as folder:
        trainings, wrong = count_different(Path(folder), kills, updates, seed, lora)
    click.echo(f"{kills} kills, {trainings} trainings, {wrong} with other weights")
    sys.exit(min(1, wrong))


if __name__ == "__main__":
    main()
