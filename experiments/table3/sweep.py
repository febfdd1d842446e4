"""All runs of Table 3 on a small scale, in an order that makes an interrupted sweep a table."""

import itertools
import logging
import shutil

from aiayn_keras_light.progress import open_progress
from experiments.table3.results import read_result, result_path
from experiments.table3.row_recipe import fingerprint
from experiments.table3.run import run

logger = logging.getLogger(__name__)


def open_runs(rows, seeds, base, results):
    """Lists the runs without a result: seed 1 of all rows, then seed 2.

    Args:
        rows: List of `Row`.
        seeds: Number of seeds.
        base: Path of the base model's recipe.
        results: Folder with the result files.

    Returns:
        List of tuples of a row and a seed.

    Raises:
        ValueError: If a result file is damaged or has different settings.
    """
    runs = []
    for seed, row in itertools.product(range(1, seeds + 1), rows):
        path = result_path(results, row, seed)
        if path.exists():
            read_result(path, fingerprint(row, base))
        else:
            runs.append((row, seed))
    return runs


def sweep(runs, base, folder, results):
    """Makes the results of runs, one after another, with a progress bar.

    Args:
        runs: List of tuples of a row and a seed.
        base: Path of the base model's recipe.
        folder: Folder for the trainings, each in its own subfolder.
        results: Folder for the result files.

    Returns:
        List of the names of runs that failed, such as those that diverged.
    """
    failed = []
    with open_progress(total=len(runs), unit="run", desc="table 3 ") as bar:
        for row, seed in runs:
            name, path = f"{row.name}-{seed}", result_path(results, row, seed)
            try:
                result = run(row, seed, base, folder / name, path)
            except (ValueError, FileExistsError) as error:
                logger.error("%s: %s", name, error)
                failed.append(name)
            else:
                bar.set_postfix_str(f"{name}: {result.validation.bleu:.1f} BLEU", refresh=False)
            bar.update()
    return failed


def remove_leftovers(rows, seeds, folder, results):
    """Deletes trainings whose results were written before their folders were deleted."""
    for seed, row in itertools.product(range(1, seeds + 1), rows):
        if result_path(results, row, seed).exists():
            shutil.rmtree(folder / f"{row.name}-{seed}", ignore_errors=True)
