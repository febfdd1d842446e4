"""Do the tests notice mistakes in the numerical core? `python -m tests.mutants --sample 100`.

Makes mistakes in a copy of the code, one at a time, and runs the tests that must notice it
(TensorFlow backend): those of the mirrored path, then the others of `tests.mutations.core`. Prints
a Markdown table, and the mutants that nobody noticed; exits with 1 if there is one. A mutant has an
id, `module:function:operator:ordinal`; those that cannot be noticed are listed in
`tests/mutations/equivalent.py` with a reason, and are left out.

Results are kept in a file as they come; the same command goes on where it was stopped, and tries
those mutants anew whose module has changed.
"""

import fnmatch
import hashlib
import json
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

import click
from tqdm import tqdm

from tests.mutations.core import PACKAGE, ROOT, core_modules, stages_of_tests
from tests.mutations.equivalent import EQUIVALENT
from tests.mutations.mutant import make_mutants
from tests.mutations.running import Copy, Runner

RESULTS = ROOT / "runs" / "mutants.jsonl"


def all_mutants():
    """Every mutant of the core, those that are equivalent left out."""
    return [
        mutant
        for module in core_modules()
        for mutant in make_mutants(module, (ROOT / PACKAGE / module).read_text("utf-8"))
        if not matches(mutant.id, EQUIVALENT)
    ]


def matches(mutant_id, patterns):
    """Whether an id matches one of the patterns."""
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
    """What was found out so far, in a file of a JSON object a line.

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
    """

    def __init__(self, copy, runner):
        self.copy, self.runner = copy, runner
        self._passing = set()

    def noticed_by(self, mutant, stages):
        """Name of the test that notices first, or None."""
        for tests in stages:
            self._must_pass(tests)
            with self.copy.mutated(mutant):
                failure = self.runner.first_failure(tests)
            if failure is not None:
                return failure
        return None

    def _must_pass(self, tests):
        """Runs tests on the code as it is, once.

        Raises:
            RuntimeError: If one fails.
        """
        if tuple(tests) not in self._passing:
            failure = self.runner.first_failure(tests)
            if failure is not None:
                raise RuntimeError(f"{failure} of {tests} fails on the code as it is.")
            self._passing.add(tuple(tests))


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
    "--results",
    type=click.Path(dir_okay=False, path_type=Path),
    default=RESULTS,
    show_default="runs/mutants.jsonl",
    help="File of the results so far.",
)
def main(patterns, sample, seed, only_list, results):
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
        copy = Copy(folder)
        court = Court(copy, Runner(copy))
        with tqdm(mutants, unit="mutant", disable=None) as bar:
            for mutant in bar:
                bar.set_postfix_str(mutant.id)
                if mutant not in results:
                    results.add(mutant, court.noticed_by(mutant, stages_of_tests(mutant.module)))
    click.echo(report(mutants, results))
    sys.exit(any(results[mutant] is None for mutant in mutants))


if __name__ == "__main__":
    main()
