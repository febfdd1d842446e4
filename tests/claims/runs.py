"""Damages trainings, starts them again, and looks at what becomes of them.

`python -m tests.claims.runs` trains a very small model once with `aiayn-keras train`, and damages
copies of its folder or of its texts: files truncated, changed, replaced by pipes and devices,
checkpoints renamed and swapped, lines reordered, another start at the same time, a full disk. Each
copy is given to `aiayn-keras train` or `average`, in a process with limits. It must go on to the
very same weights, history and BLEU as the undisturbed training, or be refused in one line. Exits
with 1 if any did neither.

PyTorch is used unless `KERAS_BACKEND` says otherwise: it compiles nothing, so a case takes seconds.
"""

import functools
import itertools
import os
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "torch")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import click

from tests.claims.forked_cases import Case, Limits, print_table, run_cases
from tests.claims.run_copies import (
    AVERAGED,
    PARTS,
    RECIPE,
    Training,
    end,
    load_parts,
    part_of,
    small_disk,
    start,
    texts,
)
from tests.claims.run_damages import (
    FILE_DAMAGES,
    HISTORIES,
    RUN_DAMAGES,
    TEXT_DAMAGES,
    damage_file,
)

LIMITS = Limits(seconds=60)


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
