"""A very small training, copies of it, and the comparison of what becomes of them."""

import contextlib
import functools
import importlib
import importlib.util
import itertools
import os
import resource
import shutil
import subprocess
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.claims.forked_cases import Case, run_cases
from tests.claims.kills import differences, weights_of
from tests.number_words import number_words

MAX_FILE = 1 << 26
STATES = "ended", "stopped"
TEXTS = {"train": 120, "validation": 4, "test": 4}
RUN_FILES = (
    *("recipe.yaml", "tokenizer.spm", "target_tokenizer.spm", "inputs.json", "history.json"),
    "training.lock",
)
PARTS = (*RUN_FILES, "learning_curves.png", "tensorboard", "newest checkpoint", "older checkpoint")
AVERAGED = (*RUN_FILES[:-1], *PARTS[-2:])
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


def load_parts():
    """Imports what a training needs, once for all the processes that are forked."""
    names = ["aiayn_keras.training.trainer", "matplotlib.backends.backend_agg"]
    names += ["sacrebleu.tokenizers.tokenizer_13a", "tensorboard.summary"]
    if importlib.util.find_spec("tensorflow"):
        names.append("tensorflow")
    for name in names:
        importlib.import_module(name)


def command(*arguments):
    """Runs `aiayn-keras ARGUMENT ...` in this process; raises a `SystemExit` if it fails."""
    from aiayn_keras_cli import main

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
        undamaged = (functools.partial(training._go_on_from, state) for state in STATES)
        for work in (training._train, *undamaged):
            (result,) = run_cases([Case("make", "training", work, expected="answer")])
            if result.fault is not None:
                raise RuntimeError(f"The training failed:\n{result.errors[-2000:]}")
        return training

    def _go_on_from(self, state):
        self.copy(state)
        self.go_on()

    def _train(self):
        os.chdir(self.folder)
        command("train", "recipe.yaml", "--output", "finished")
        command("average", "finished", "--output", "mean")
        parts = {*PARTS, "checkpoints"}
        for name in STATES:
            shutil.copytree("finished", name)
            for path in Path(name).iterdir():
                if path.name not in parts:
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
        newest(Path("stopped")).unlink()

    def copy(self, state):
        """Copies recipe, texts and the folder `state`, as `run`, into the current folder.

        From then on this process cannot fill the disk.
        """
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (MAX_FILE, hard))
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
