"""Do the tests notice mistakes in the numerical core? `python -m tests.mutants --sample 100`.

Makes mistakes in copies of the code, one at a time in each, and runs the tests that must notice
them (TensorFlow backend), those that run its line: in the file of the mirrored path, then in the
others that import the mutated module, then in those that import one of its importers; the first
failure is enough. Prints a Markdown table and the mutants that no test noticed; exits with 1 if
there is one. A mutant has an id,
`module:function:operator:ordinal`; those that cannot be noticed are listed with a reason in
`tests/mutations/equivalent.py` and are left out.

Results are written to a file as they come; the same command goes on where it was stopped, and
repeats only the mutants whose module has changed.
"""

import fnmatch
import hashlib
import itertools
import json
import queue
import random
import sys
import tempfile
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import click
from tqdm import tqdm

from tests.mutations.core import ROOT, core_modules, path_of, stages_of_tests
from tests.mutations.equivalent import EQUIVALENT
from tests.mutations.mutant import make_mutants
from tests.mutations.running import Copy, Runner

RESULTS = ROOT / "runs" / "mutants.jsonl"
PORTION = 60
"""Seconds of the tests that one process runs."""
START, SLOWER = 120, 10
"""Processor time after which a portion has no end: this, and this many times its seconds."""


def all_mutants():
    """Every mutant of the core, those that are equivalent left out."""
    return [
        mutant
        for module in core_modules()
        for mutant in make_mutants(module, (ROOT / path_of(module)).read_text("utf-8"))
        if not matches(mutant.id, EQUIVALENT)
    ]


def matches(mutant_id, patterns):
    """Returns whether an id matches one of the patterns."""
    return any(fnmatch.fnmatchcase(mutant_id, pattern) for pattern in patterns)


def choose(mutants, patterns, sample, seed):
    """Mutants that match a pattern, if any is given, and a random sample of those.

    The sample holds as many of each module as its share, and is the same for the same seed.
    """
    chosen = [mutant for mutant in mutants if not patterns or matches(mutant.id, patterns)]
    if sample is None or sample >= len(chosen):
        return chosen
    # Every so-and-so-many-th of all, in an order that is random within a module.
    rng = random.Random(seed)
    order = sorted(chosen, key=lambda mutant: (mutant.module, rng.random()))
    step = len(order) / sample
    return [order[int(i * step)] for i in range(sample)]


class Results:
    """The verdicts so far, in a file with one JSON object per line.

    Args:
        path: Path of the file.
    """

    def __init__(self, path):
        self.path = path
        self.noticed_by = {}
        if path.exists():
            for line in path.read_text("utf-8").splitlines():
                record = json.loads(line)
                self.noticed_by[record["id"], record["digest"]] = record["noticed_by"]

    def key(self, mutant):
        """Id of the mutant, and digest of the mutated source."""
        return mutant.id, hashlib.sha256(mutant.source.encode()).hexdigest()[:16]

    def add(self, mutant, noticed_by):
        """Keeps the name of the test, or None."""
        mutant_id, digest = self.key(mutant)
        self.noticed_by[mutant_id, digest] = noticed_by
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            record = {"id": mutant_id, "digest": digest, "noticed_by": noticed_by}
            file.write(json.dumps(record) + "\n")

    def __contains__(self, mutant):
        return self.key(mutant) in self.noticed_by

    def __getitem__(self, mutant):
        return self.noticed_by[self.key(mutant)]


class Recordings:
    """The `Recording` of each file of tests, made when it is first wanted; for several threads."""

    def __init__(self):
        self._made, self._locks, self._lock = {}, {}, threading.Lock()

    def get(self, file, runner):
        """The recording of a file, by a `Runner` if there is none yet."""
        with self._lock:
            lock = self._locks.setdefault(file, threading.Lock())
        with lock:
            if file not in self._made:
                self._made[file] = runner.record(file)
            return self._made[file]


class Court:
    """Asks the tests, stage after stage, whether they notice a mutant.

    Args:
        copy: A `Copy`.
        runner: A `Runner` of it.
        recordings: `Recordings`, which courts share.
    """

    def __init__(self, copy, runner, recordings):
        self.copy, self.runner, self.recordings = copy, runner, recordings

    def noticed_by(self, mutant, stages):
        """Name of the test that notices first, or None.

        Asks the tests that run the line of the mistake, the quickest first, and then all tests of
        the files that run it while they are imported or in a fixture that tests share. If no test
        is known to run it, as where Python compiles several lines into one, all tests are asked.
        """
        place = path_of(mutant.module).as_posix(), mutant.line
        stages = [[f"tests/{test}" for test in tests] for tests in stages]
        is_run = False
        for files in stages:
            names, seconds = set(), {}
            for file in files:
                recording = self.recordings.get(file, self.runner)
                names.update(recording.lines.get(place, ()))
                seconds |= recording.seconds
            is_run = is_run or bool(names)
            failure = self._first_failure(mutant, names, seconds)
            if failure is not None:
                return failure
        for file in [] if is_run else itertools.chain(*stages):
            failure = self._first_failure(
                mutant, [file], self.recordings.get(file, self.runner).seconds
            )
            if failure is not None:
                return failure
        return None

    def _first_failure(self, mutant, names, seconds):
        """Name of the test that fails first on a mutant, or None."""
        order = sorted(names, key=lambda name: ("::" not in name, seconds[name]))
        with self.copy.mutated(mutant):
            while order:
                number = 1
                while number < len(order) and sum(map(seconds.get, order[:number])) < PORTION:
                    number += 1
                portion, order = order[:number], order[number:]
                limit = START + SLOWER * sum(map(seconds.get, portion))
                failure = self.runner.first_failure(portion, limit)
                if failure is not None:
                    return failure
        return None


def try_mutants(mutants, results, folder, processes):
    """Adds to the results what the tests say of each mutant that they do not hold yet.

    Args:
        mutants: List of `Mutant`.
        results: A `Results`.
        folder: Path of an empty folder, for the copies.
        processes: Number of mutants to try at the same time, each in a copy of its own.
    """
    courts, recordings = queue.SimpleQueue(), Recordings()
    for number in range(processes):
        copy = Copy(Path(folder) / str(number))
        courts.put(Court(copy, Runner(copy), recordings))

    def judge(mutant):
        court = courts.get()
        try:
            return mutant, court.noticed_by(mutant, stages_of_tests(mutant.module))
        finally:
            courts.put(court)

    new = [mutant for mutant in mutants if mutant not in results]
    random.Random(0).shuffle(new)  # those of one module wait for the same recordings
    with ThreadPoolExecutor(processes) as pool:
        try:
            for done in tqdm(
                as_completed([pool.submit(judge, mutant) for mutant in new]),
                total=len(new),
                unit="mutant",
                disable=None,
            ):
                results.add(*done.result())
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def report(mutants, results):
    """Markdown: mutants of each module, and those that nobody noticed."""
    made, survivors = Counter(), Counter()
    lines = []
    for mutant in mutants:
        made[mutant.module] += 1
        if results[mutant] is None:
            survivors[mutant.module] += 1
            lines.append(
                f"- `{mutant.id}`, line {mutant.line}: `{mutant.before}` → `{mutant.after}`"
            )
    rows = [f"| `{module}` | {made[module]} | {survivors[module]} |" for module in sorted(made)]
    rows.append(f"| all | {len(mutants)} | {len(lines)} |")
    table = "\n".join(["| module | mutants | not noticed |", "|---|---:|---:|", *rows])
    return "\n\n".join([table, *(["Not noticed:\n\n" + "\n".join(lines)] if lines else [])])


@click.command()
@click.argument("patterns", nargs=-1)
@click.option("--sample", type=click.IntRange(min=1), help="Number of mutants. Default: all.")
@click.option("--seed", default=0, show_default=True, help="Of the sample.")
@click.option("--list", "only_list", is_flag=True, help="List the mutants and stop.")
@click.option(
    "--processes",
    type=click.IntRange(min=1),
    default=2,
    show_default=True,
    help="Number of mutants to try at the same time.",
)
@click.option(
    "--results",
    type=click.Path(dir_okay=False, path_type=Path),
    default=RESULTS,
    show_default="runs/mutants.jsonl",
    help="File of the results so far.",
)
def main(patterns, sample, seed, only_list, processes, results):
    """Make mistakes in the code; see which test notices.

    PATTERNS choose mutants by their ids, such as 'decoding/*'.
    """
    mutants = choose(all_mutants(), patterns, sample, seed)
    if only_list:
        for mutant in mutants:
            click.echo(f"{mutant.id}, line {mutant.line}: {mutant.before} → {mutant.after}")
        return
    results = Results(results)
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        try_mutants(mutants, results, folder, processes)
    click.echo(report(mutants, results))
    sys.exit(any(results[mutant] is None for mutant in mutants))


if __name__ == "__main__":
    main()
