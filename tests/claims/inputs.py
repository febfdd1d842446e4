"""Gives hostile files, recipes, shards and command lines to the package, and counts its answers.

`python -m tests.claims.inputs` makes more than 1,500 cases from a seed, and runs each in a process
with a limit of 3 GB and 30 seconds. Each must be answered correctly, or refused in one line that
says why; exits with 1 if any is not. With `--cases 100` it runs a sample of them.
"""

import itertools
import os
import random
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import click

import aiayn_keras.models
import aiayn_keras.training  # noqa: F401 - imported once, for all cases
from tests.claims.forked_cases import print_table, run_cases
from tests.claims.hostile_arguments import argument_cases
from tests.claims.hostile_files import file_cases
from tests.claims.hostile_recipes import recipe_cases
from tests.claims.hostile_shards import shard_cases

MODEL = Path(__file__).parents[2] / "saved_models" / "demo_en_de_keras"
KINDS = (file_cases, recipe_cases, shard_cases, argument_cases)


def make_cases(folder, seed, groups=()):
    """Makes all `Case`s, or those of some groups; their files are in `folder`."""
    cases = []
    for kind in KINDS:
        place = Path(folder) / kind.__name__
        place.mkdir()
        cases.extend(kind(random.Random(seed), place, MODEL))
    return [case for case in cases if not groups or case.group in groups]


def run_sample(count, seed, groups=(), show=lambda result: None):
    """Runs cases, evenly from all groups.

    Args:
        count: Number of cases; None for all.
        seed: Of the cases and the sample.
        groups: Names of the groups; all if there are none.
        show: Function called with each `Result`.

    Returns:
        List of `Result`.
    """
    results = []
    with tempfile.TemporaryDirectory(prefix="inputs-") as folder:
        cases = make_cases(folder, seed, groups)
        if count is not None:
            cases = _sample(cases, count, random.Random(seed))
        for result in run_cases(cases):
            show(result)
            results.append(result)
    return results


def _sample(cases, count, rng):
    """Draws cases evenly from all groups, as far as a group has enough."""
    groups = {}
    for case in rng.sample(cases, len(cases)):
        groups.setdefault(case.group, []).append(case)
    turns = itertools.chain.from_iterable(itertools.zip_longest(*groups.values()))
    chosen = list(itertools.islice(filter(None, turns), count))
    return [case for case in cases if case in chosen]


@click.command()
@click.option("--cases", type=click.IntRange(min=1), help="Size of a sample. Default: all.")
@click.option("--seed", default=0, show_default=True)
@click.option("--group", "groups", multiple=True, help="Run this group only. May be repeated.")
@click.option("--messages", is_flag=True, help="Print the message of every refusal.")
def main(cases, seed, groups, messages):
    """Give hostile input to the package, and count its answers."""

    def show(result):
        if messages:
            click.echo(f"{result.case.group}: {result.case.name}: {result.message}", err=True)

    results = run_sample(cases, seed, groups, show)
    sys.exit(min(1, print_table(results)))


if __name__ == "__main__":
    main()
