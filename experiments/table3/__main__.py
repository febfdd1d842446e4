"""Table 3 on a small scale: BLEU of the base model and of models that differ in one thing.

Run from the repository's root, with the development tools installed:

    python -m experiments.table3

trains every row with every seed, for the same number of tokens, on two CPU cores for hours, which
are reported first. Seed 1 of all rows comes first, so that an interrupted sweep still gives a
table. The same command continues: a killed run resumes from its last checkpoint, and a run with a
result file is never repeated. Results are written to `experiments/results/table3`;
`python -m experiments.report` makes a page from them.
"""

import logging
import os
import sys
from pathlib import Path

# All rows run on one backend, since they are compared.
os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import click

from experiments.folders import folder_options

RESULTS = Path(__file__).parents[1] / "results" / "table3"


@click.command()
@click.option("--seeds", type=click.IntRange(min=1), default=3, show_default=True)
@click.option("--row", "names", multiple=True, help="Name of a row to run; all if not given.")
@click.option(
    "--base",
    type=click.Path(dir_okay=False, exists=True, path_type=Path),
    help="Recipe of the base model. Default: base.yaml beside this program.",
)
@folder_options("table3", RESULTS)
def main(seeds, names, base, folder, results):
    """Make every missing result of Table 3 on a small scale."""
    import keras

    from aiayn_keras.backend import run_one_operation_at_a_time
    from experiments.table3.hours import expected_hours
    from experiments.table3.results import read_results
    from experiments.table3.row_recipe import fingerprint
    from experiments.table3.rows import BASE_RECIPE, ROWS
    from experiments.table3.sweep import open_runs, remove_leftovers, sweep

    logging.basicConfig(level=logging.INFO, format="%(message)s")
    if keras.config.backend() != "tensorflow":
        raise click.UsageError("Rows are compared on one backend: set KERAS_BACKEND=tensorflow.")
    run_one_operation_at_a_time()  # as every training does, before anything is computed
    base = base or BASE_RECIPE
    rows = [row for row in ROWS if not names or row.name in names]
    if unknown := set(names) - {row.name for row in ROWS}:
        known = ", ".join(row.name for row in ROWS)
        raise click.BadParameter(f"no row {', '.join(sorted(unknown))}. Rows are: {known}.")
    runs = open_runs(
        rows, seeds, base, results
    )  # refuses damaged results before any folder is deleted
    remove_leftovers(rows, seeds, folder, results)
    done = len(rows) * seeds - len(runs)
    click.echo(f"{done} of {done + len(runs)} runs have a result.", err=True)
    if not runs:
        return
    made = read_results(results, {row.name: fingerprint(row, base) for row in ROWS})
    hours, origin = expected_hours(runs, base, made)
    click.echo(f"{len(runs)} runs: about {hours:.1f} core-hours, by {origin}.", err=True)
    failed = sweep(runs, base, folder, results)
    if failed:
        click.echo(f"Without a result: {', '.join(failed)}.", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
