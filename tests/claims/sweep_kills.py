"""Kills the sweep of Table 3 on a small scale at random moments, and compares its results.

`python -m tests.claims.sweep_kills` makes a small table on the demo corpus, once undisturbed, and
then again and again until a sweep was killed by SIGKILL ten times, at moments drawn evenly over the
time that the undisturbed one took. Every killed sweep is started again until it ends. Its result
files must be the same, but for times and the update from which a training went on; no run may be
made twice, and no folder left behind. Exits with 1 if that fails.
"""

import json
import math
import random
import sys
import tempfile
import time
from pathlib import Path

import click

from aiayn_keras.training import list_checkpoints
from tests.claims.kills import run_or_kill
from tests.experiments.table3_files import write_small_recipe

ROWS = ("base", "no_residuals", "no_warmup")
OF_A_PROCESS = ("commit", "resumed_from", "seconds", "cpu_seconds")
"""Fields of a result that are about the processes that made it."""


def sweep(folder, base, rows=ROWS, seeds=1, seconds=math.inf, stop_when=lambda: False):
    """Runs the sweep, and kills it after some seconds or when a function says so.

    Args:
        folder: Folder for its results, trainings and log.
        base: Path of the base model's recipe.
        rows: Names of the rows.
        seeds: Number of seeds.
        seconds: Time after which it is killed.
        stop_when: Function that says when, too.

    Returns:
        Whether it ended by itself.

    Raises:
        RuntimeError: If it failed.
    """
    words = [word for row in rows for word in ("--row", row)]
    folders = ["--runs", str(folder / "runs"), "--results", str(folder / "results")]
    command = [sys.executable, "-m", "experiments.table3", "--base", str(base), *words, *folders]
    folder.mkdir(exist_ok=True)
    return run_or_kill([*command, "--seeds", str(seeds)], folder / "log", seconds, stop_when)


def results_of(folder):
    """Contents of the result files by name, without what is about processes."""
    results = {}
    for path in sorted((folder / "results").glob("*.json")):
        result = json.loads(path.read_text("utf-8"))
        results[path.name] = {key: result[key] for key in result if key not in OF_A_PROCESS}
    return results


def resumed_from(folder, name):
    """The update from which the last process went on with a run."""
    return json.loads((folder / "results" / name).read_text("utf-8"))["resumed_from"]


def count_wrong(folder, kills, seeds, moments):
    """Kills and restarts sweeps, and says what happened to each.

    Args:
        folder: Path of an empty folder.
        kills: Number of kills; the last sweep killed is started again until it ends.
        seeds: Number of seeds of a sweep.
        moments: A `random.Random`.

    Returns:
        Number of sweeps, and of those with another outcome than the undisturbed one.
    """
    base, undisturbed = write_small_recipe(folder), folder / "undisturbed"
    start = time.perf_counter()
    sweep(undisturbed, base, seeds=seeds)
    seconds = time.perf_counter() - start
    expected = results_of(undisturbed)
    click.echo(f"undisturbed: {len(expected)} runs in {seconds:.0f} s")
    done = wrong = sweeps = 0
    while done < kills:
        killed, written = folder / f"sweep{sweeps}", {}
        while not sweep(
            killed,
            base,
            seeds=seeds,
            seconds=moments.uniform(0, seconds) if done < kills else math.inf,
        ):
            done += 1
            there = {path: path.stat().st_mtime_ns for path in killed.glob("results/*.json")}
            written = there | written
            click.echo(f"kill {done}: {len(there)} results, {_under_way(killed)}")
        repeated = [path.name for path, then in written.items() if path.stat().st_mtime_ns != then]
        results, left = results_of(killed), list((killed / "runs").iterdir())
        resumed = [name for name in expected if resumed_from(killed, name)]
        sweeps += 1
        wrong += bool(repeated or left or results != expected)
        same = "the same" if results == expected else "others"
        click.echo(
            f"sweep {sweeps} ended: results {same}; repeated {repeated}; left behind {left}; "
            f"trainings gone on with {resumed}"
        )
    return sweeps, wrong


def _under_way(folder):
    """The trainings in a killed sweep's folder, with their last checkpoints."""
    found = {}
    for run in folder.glob("runs/*/checkpoints"):
        saved = [update for update, _ in list_checkpoints(run)]
        found[run.parent.name] = saved[-1] if saved else None
    return found


@click.command()
@click.option("--kills", type=click.IntRange(min=1), default=10, show_default=True)
@click.option("--seeds", type=click.IntRange(min=1), default=1, show_default=True)
@click.option("--seed", default=0, show_default=True, help="Of the moments.")
def main(kills, seeds, seed):
    """Kill sweeps at random moments, start them again, and compare their results."""
    with tempfile.TemporaryDirectory(prefix="sweep-kills-") as folder:
        sweeps, wrong = count_wrong(Path(folder), kills, seeds, random.Random(seed))
    click.echo(f"{kills} kills, {sweeps} sweeps, {wrong} with another outcome")
    sys.exit(min(1, wrong))


if __name__ == "__main__":
    main()
