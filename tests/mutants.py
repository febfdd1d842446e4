"""Do the tests notice mistakes in the numerical core? `python -m tests.mutants --sample 100`.

Makes mistakes in copies of the code, one at a time in each, and runs the tests that must notice
them (TensorFlow backend): the file of the mirrored path, then the others that import the mutated
module, then those that import one of its importers; the first failure is enough. Prints a Markdown
table and the mutants that no test noticed; exits with 1 if there is one. A mutant has an id,
`module:function:operator:ordinal`; those that cannot be noticed are listed with a reason in
`tests/mutations/equivalent.py` and are left out.

Results are written to a file as they come; the same command goes on where it was stopped, and
repeats only the mutants whose module has changed.
"""

import fnmatch
import hashlib
import json
import queue
import random
import sys
import tempfile
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


class Court:
    """Asks the tests, stage after stage, whether they notice a mutant.

    Args:
        copy: A `Copy`.
        runner: A `Runner` of it.
        passing: Set of the tests that are known to pass on the code as it is; courts share it.
    """

    def __init__(self, copy, runner, passing):
        self.copy, self.runner, self.passing = copy, runner, passing

    def noticed_by(self, mutant, stages):
        """Name of the test that notices first, or None."""
        for tests in stages:
            self._must_pass([test for test in tests if test not in self.passing])
            with self.copy.mutated(mutant):
                failure = self.runner.first_failure(tests)
            if failure is not None:
                return failure
        return None

    def _must_pass(self, tests):
        """Runs tests on the code as it is.

        Raises:
            RuntimeError: If one fails.
        """
        if tests:
            failure = self.runner.first_failure(tests)
            if failure is not None:
                raise RuntimeError(f"{failure} of {tests} fails on the code as it is.")
            self.passing.update(tests)


def try_mutants(mutants, results, folder, processes):
    """Adds to the results what the tests say of each mutant that they do not hold yet.

    Args:
        mutants: List of `Mutant`.
        results: A `Results`.
        folder: Path of an empty folder, for the copies.
        processes: Number of mutants to try at the same time, each in a copy of its own.
    """
    courts, passing = queue.SimpleQueue(), set()
    for number in range(processes):
        copy = Copy(Path(folder) / str(number))
        courts.put(Court(copy, Runner(copy), passing))

    def judge(mutant):
        court = courts.get()
        try:
            return mutant, court.noticed_by(mutant, stages_of_tests(mutant.module))
        finally:
            courts.put(court)

    new = [mutant for mutant in mutants if mutant not in results]
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
