"""Damages trainings, starts them again, and looks at what becomes of them.

`python -m tests.claims.runs` trains a very small model once with `aiayn-keras train`, and damages
copies of its folder or of its texts: files truncated, changed, replaced by pipes and devices,
checkpoints renamed and swapped, lines reordered, another start at the same time, a full disk. Each
copy is given to `aiayn-keras train` or `average`, in a process with limits. It must go on to the
very same weights, history and BLEU as the undisturbed training, or be refused in one line. Exits
with 1 if any did neither.

PyTorch is used unless `KERAS_BACKEND` says otherwise: it compiles nothing, so a case takes seconds.
"""

import contextlib
import functools
import itertools
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "torch")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import click
import yaml

from tests.claims.forked_cases import Case, Limits, print_table, run_cases
from tests.claims.kills import differences, weights_of
from tests.claims.run_damages import (
    FILE_DAMAGES,
    HISTORIES,
    RUN_DAMAGES,
    TEXT_DAMAGES,
    damage_file,
)
from tests.number_words import number_words

TEXTS = {"train": 120, "validation": 4, "test": 4}
RUN_FILES = ("recipe.yaml", "tokenizer.spm", "inputs.json", "history.json", "training.lock")
PARTS = (*RUN_FILES, "learning_curves.png", "tensorboard", "newest checkpoint", "older checkpoint")
AVERAGED = ("recipe.yaml", "tokenizer.spm", "inputs.json", "history.json", *PARTS[-2:])
RECIPE = {
    "tokenizer": {"vocabulary_size": 64},
    "model": {
        "preset": "transformer_tiny", "num_layers": 1, "num_heads": 2, "hidden_dim": 16,
        "intermediate_dim": 16, "max_sequence_length": 32,
    },
    "batches": {"tokens_per_batch": 256, "max_shapes": 1},
    "optimizer": {"warmup_steps": 2, "peak_learning_rate": 0.01, "ema_momentum": 0.9},
    "training": {"updates": 6, "checkpoint_every": 2, "bleu_every": 2, "average_checkpoints": 3},
    "evaluation": {"num_beams": 1, "max_length": 4},
}  # fmt: skip
LIMITS = Limits(seconds=120)


def load_parts():
    """Imports what a training needs, once for all the processes that are forked."""
    import importlib
    import importlib.util

    names = ["aiayn_keras.training.trainer", "matplotlib.backends.backend_agg"]
    names += ["sacrebleu.tokenizers.tokenizer_13a", "tensorboard.summary"]
    if importlib.util.find_spec("tensorflow"):
        names.append("tensorflow")
    for name in names:
        importlib.import_module(name)


def command(*arguments):
    """Runs `aiayn-keras ARGUMENT ...` in this process; raises a `SystemExit` if it fails."""
    from aiayn_keras.cli import main

    try:
        main([str(argument) for argument in arguments], prog_name="aiayn-keras")
    except SystemExit as end:
        if end.code:
            raise


@dataclass(frozen=True)
class Training:
    """The training whose copies are damaged.

    Attributes:
        folder: It holds the recipe, the texts and three folders: `finished`, `ended` (killed in
            the last evaluation) and `stopped` (killed before the last checkpoint); and `mean`,
            the mean of its checkpoints.
    """

    folder: Path

    @classmethod
    def make(cls, folder):
        """Trains in a folder, in a process of its own."""
        training = cls(folder)
        for number, (split, size) in enumerate(TEXTS.items()):
            lines = [f"{source}\t{target}\n" for source, target in number_words(size, number)]
            (folder / f"{split}.tsv").write_text("".join(lines), "utf-8")
        recipe = {"corpus": {split: [f"{split}.tsv"] for split in TEXTS}, **RECIPE}
        (folder / "recipe.yaml").write_text(yaml.safe_dump(recipe), "utf-8")
        (result,) = run_cases([Case("make", "training", training._train, expected="answer")])
        if result.fault is not None:
            raise RuntimeError(f"The training failed:\n{result.errors[-2000:]}")
        return training

    def _train(self):
        os.chdir(self.folder)
        command("train", "recipe.yaml", "--output", "finished")
        command("average", "finished", "--output", "mean")
        parts = {*PARTS, "checkpoints"}
        for name in ("ended", "stopped"):
            shutil.copytree("finished", name)
            for path in Path(name).iterdir():
                if path.name not in parts:
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
        newest(Path("stopped")).unlink()

    def copy(self, state):
        """Copies recipe, texts and the folder `state`, as `run`, into the current folder."""
        for path in self.folder.iterdir():
            if path.is_file():
                shutil.copy(path, path.name)
        shutil.copytree(self.folder / state, "run")

    def go_on(self, history_counts=True):
        """Trains in `run`, and compares with the undisturbed training."""
        command("train", "recipe.yaml", "--output", "run")
        if not history_counts:
            shutil.copy(self.folder / "finished" / "history.json", "run")
        _report(differences(Path("run"), self.folder / "finished"))

    def average(self):
        """Averages the checkpoints in `run` into a folder in `out`; a refusal leaves nothing."""
        Path("out").mkdir(exist_ok=True)
        try:
            command("average", "run", "--output", "out/mean")
        except BaseException:
            left = [path.name for path in Path("out").iterdir()]
            if left:
                raise AssertionError(f"{left} is left behind.") from None
            raise
        ours, theirs = weights_of(Path("out/mean")), weights_of(self.folder / "mean")
        same = ours.keys() == theirs.keys()
        _report([name for name in ours if not same or (ours[name] != theirs[name]).any()])


def texts():
    """Names of the texts' files."""
    return [f"{split}.tsv" for split in TEXTS]


def _report(different):
    if different:
        raise AssertionError(f"Exit code 0, and others than undisturbed: {different}")


def newest(run, number=-1):
    """Path of the newest checkpoint, or of an older one."""
    return sorted((run / "checkpoints").glob("update-*"))[number]


def part_of(run, name):
    """Path of one of the `PARTS` of a training's folder."""
    return newest(run, {"newest": -1, "older": -2}[name.split()[0]]) if " " in name else run / name


def damaged_files(training, rng):
    """Every file of a training, damaged in every way."""

    def run(state, name, damage, seed, then):
        training.copy(state)
        damage_file(part_of(Path("run"), name), damage, random.Random(seed))
        then()

    for name, damage in itertools.product(PARTS, FILE_DAMAGES):
        state = rng.choice(("ended", "ended", "stopped"))
        go_on = functools.partial(training.go_on, history_counts=name != "history.json")
        work = functools.partial(run, state, name, damage, rng.random(), go_on)
        yield Case("train, damaged file", f"{state}, {name}, {damage.__name__}", work)
    for name, damage in itertools.product(AVERAGED, FILE_DAMAGES):
        work = functools.partial(run, "ended", name, damage, rng.random(), training.average)
        yield Case("average, damaged file", f"{name}, {damage.__name__}", work)


def damaged_histories(training, rng):
    """Histories that are JSON, or nearly so."""

    def run(state, text):
        training.copy(state)
        Path("run/history.json").write_text(text)
        training.go_on(history_counts=False)

    for text in HISTORIES:
        state = rng.choice(("ended", "ended", "stopped"))
        yield Case("train, history", f"{state}, {text[:60]}", functools.partial(run, state, text))


def damaged_folders(training, rng):
    """Checkpoints under other names, and folders that lack something."""

    def run(state, damage, seed, then):
        training.copy(state)
        damage(Path("run"), random.Random(seed))
        then()

    go_on = functools.partial(training.go_on, history_counts=False)
    for damage in (*RUN_DAMAGES, *RUN_DAMAGES[:1] * 5):
        for state, then in (("ended", go_on), ("stopped", go_on), ("ended", training.average)):
            work = functools.partial(run, state, damage, rng.random(), then)
            name = f"{state}, {damage.__name__}, {'train' if then is go_on else 'average'}"
            yield Case("checkpoints", name, work)


def changed_inputs(training, rng):
    """Texts that are others since the training began, and the tokenizer of another corpus."""

    def run(state, name, damage, seed):
        training.copy(state)
        damage_file(Path(name), damage, random.Random(seed))
        training.go_on()

    for name, damage in itertools.product(texts(), (*TEXT_DAMAGES, *FILE_DAMAGES)):
        state = rng.choice(("ended", "stopped"))
        work = functools.partial(run, state, name, damage, rng.random())
        yield Case("changed text", f"{state}, {name}, {damage.__name__}", work)

    def run_with_other_tokenizer(state, then):
        from aiayn_keras.models import TransformerTokenizer

        training.copy(state)
        words = [f"{a}{b}{c}" for a, b, c in itertools.product("abcdef", repeat=3)]
        tokenizer = TransformerTokenizer.train(words, RECIPE["tokenizer"]["vocabulary_size"])
        Path("run/tokenizer.spm").write_bytes(tokenizer.proto)
        then()

    for state, then in (
        ("ended", training.go_on), ("stopped", training.go_on), ("ended", training.average),
    ):  # fmt: skip
        work = functools.partial(run_with_other_tokenizer, state, then)
        yield Case("tokenizer of another text", f"{state}, {then.__name__}", work)


def two_starts(training, rng):
    """Two processes that train in one folder."""

    def run(state, delay):
        training.copy(state)
        if state == "finished":
            shutil.rmtree("run")
        first = start(training.go_on)
        time.sleep(delay)
        codes = sorted(end(*started) for started in (first, start(training.go_on)))
        if codes != [0, 1]:
            raise AssertionError(f"Exit codes {codes}.")

    for state in ("finished", "stopped", "ended"):
        for delay in (0.0, rng.uniform(0, 1), rng.uniform(0, 4)):
            yield Case(
                "two starts", f"{state}, {delay:.1f} s", functools.partial(run, state, delay)
            )


def full_disks(training, rng):
    """A disk with little room; after a refusal there is more, and the training goes on."""

    def run(state, room, folder, then):
        training.copy(state)
        with small_disk(Path(folder), room) as make_room:
            code = end(*start(then))
            if code not in (0, 1):
                raise AssertionError(f"Exit code {code}.")
            make_room()
            if code == 1:
                then()

    for room in (1, 20, 60, 120, 200, 300, 450):
        for state, folder, then in (
            ("stopped", "run", training.go_on), ("ended", "run", training.go_on),
            ("ended", "out", training.average),
        ):  # fmt: skip
            kilobytes = rng.randrange(room, 2 * room)
            work = functools.partial(run, state, kilobytes, folder, then)
            yield Case("full disk", f"{state}, {kilobytes} kB in {folder}", work)


@contextlib.contextmanager
def small_disk(folder, kilobytes):
    """Makes a folder a disk of its own with little room; gives a function that makes more."""
    contents = Path("contents")
    folder.rename(contents) if folder.exists() else contents.mkdir()
    folder.mkdir()
    used = sum(4 + 4 * (path.stat().st_size // 4096) for path in contents.rglob("*"))
    size = f"size={used + kilobytes}k"
    subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", folder], check=True)
    try:
        shutil.copytree(contents, folder, dirs_exist_ok=True)
        yield lambda: subprocess.run(["mount", "-o", "remount,size=64m", folder], check=True)
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def start(function):
    """Starts a function in a forked process; gives its id and the file of its errors."""
    path = Path(f"errors{next(_NUMBERS)}")
    process = os.fork()
    if process == 0:
        code = 70
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT)
            os.dup2(descriptor, sys.stderr.fileno())
            function()
            code = 0
        except SystemExit as stop:
            code = stop.code
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    return process, path


_NUMBERS = itertools.count()


def end(process, errors):
    """Waits for a process of `start`: its exit code, if its refusal is one line."""
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    text = errors.read_text("utf-8")
    _, found, message = text.partition("Error: ")
    if code and (not found or "\n" in message.strip() or "Traceback" in text):
        raise AssertionError(f"Exit code {code}: {text[-1000:]}")
    return code


def all_cases(training, seed):
    """The cases of all groups, in a random order."""
    rng = random.Random(seed)
    groups = (
        damaged_files, damaged_histories, damaged_folders, changed_inputs, two_starts, full_disks,
    )  # fmt: skip
    cases = [case for group in groups for case in group(training, rng)]
    rng.shuffle(cases)
    return cases


@click.command()
@click.option("--cases", type=click.IntRange(min=1), help="Number of cases. Default: all.")
@click.option("--seed", default=0, show_default=True, help="Of the damages and their order.")
def main(cases, seed):
    """Damage trainings, start them again, and compare their weights."""
    load_parts()
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="runs-") as folder:
        training = Training.make(Path(folder))
        results = list(run_cases(all_cases(training, seed)[:cases], LIMITS))
    results.sort(key=lambda result: result.case.group)
    fallen = print_table(results)
    click.echo(f"{len(results)} cases in {time.monotonic() - begin:.0f} s")
    sys.exit(min(1, fallen))


if __name__ == "__main__":
    main()
