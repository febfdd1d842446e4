"""Kills the sweep of Table 3 in small at random moments, and compares its results.

`python -m tests.claims.sweep_kills` makes a small table on the demo corpus, once undisturbed, and
once more while it is killed by SIGKILL ten times, at moments drawn evenly over the time that the
undisturbed sweep took, and started again. Its result files must be the same, but for times and the
update from which a training went on, and no run may be made twice. Exits with 1 if that fails.
"""

import json
import math
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click

from tests.experiments.table3_files import write_small_recipe

ROWS = ("base", "no_residuals", "no_warmup")
OF_A_PROCESS = ("seconds", "cpu_seconds", "resumed_from")
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
    log = folder / "log"
    with log.open("a", encoding="utf-8") as file:
        process = subprocess.Popen(
            [*command, "--seeds", str(seeds)],
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    end = time.monotonic() + seconds
    while process.poll() is None:
        if stop_when() or time.monotonic() > end:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return False
        time.sleep(0.01)
    if process.returncode:
        raise RuntimeError(f"The sweep failed:\n{log.read_text('utf-8')[-2000:]}")
    return True


def results_of(folder):
    """Contents of the result files by name, without what is about processes."""
    results = {}
    for path in sorted((folder / "results").glob("*.json")):
        result = json.loads(path.read_text("utf-8"))
        results[path.name] = {key: result[key] for key in result if key not in OF_A_PROCESS}
    return results


def resumed_from(folder, name):
    """The update from which the last process went on with a run."""
    return json.loads((folder / "results" / f"{name}.json").read_text("utf-8"))["resumed_from"]


@click.command()
@click.option("--kills", type=click.IntRange(min=1), default=10, show_default=True)
@click.option("--seeds", type=click.IntRange(min=1), default=2, show_default=True)
@click.option("--seed", default=0, show_default=True, help="Of the moments.")
def main(kills, seeds, seed):
    """Kill a sweep at random moments, start it again, and compare its results."""
    moments = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="sweep-kills-") as name:
        base = write_small_recipe(Path(name))
        undisturbed, killed = Path(name) / "undisturbed", Path(name) / "killed"
        start = time.perf_counter()
        sweep(undisturbed, base, seeds=seeds)
        seconds = time.perf_counter() - start
        click.echo(f"undisturbed: {len(results_of(undisturbed))} runs in {seconds:.0f} s")
        times = {}
        for kill in range(1, kills + 1):
            if sweep(killed, base, seeds=seeds, seconds=moments.uniform(0, seconds)):
                click.echo("ended before the next kill")
                break
            there = sorted(path.name for path in (killed / "results").glob("*.json"))
            click.echo(f"kill {kill}: results {len(there)}")
            times |= {n: _written(killed, n) for n in there if n not in times}
        sweep(killed, base, seeds=seeds)
        repeated = [name for name, then in times.items() if _written(killed, name) != then]
        different = results_of(killed) != results_of(undisturbed)
        left = [path.name for path in (killed / "runs").iterdir()]
    click.echo(f"repeated: {repeated}; results {'differ' if different else 'are the same'}")
    click.echo(f"folders left: {left}")
    sys.exit(min(1, len(repeated) + different + len(left)))


def _written(folder, name):
    return (folder / "results" / name).stat().st_mtime_ns


if __name__ == "__main__":
    main()
