"""Jobs over parts, killed at random moments: no line is lost, no line appears twice.

    python -m tests.claims.job_kills prepare --kills 10
    python -m tests.claims.job_kills translate --kills 10
    python -m tests.claims.job_kills translate --kills 10 --on-ray --nodes 3 --lines 200000

runs a job undisturbed on processes of this machine, then in a second folder, where it is killed at
random moments and finally finished; all files must be identical. With `--on-ray` the job runs once
on a cluster of several nodes; each kill is of a node, and a new node takes its place.
"""

import concurrent.futures
import math
import os
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

import click
import yaml

from aiayn_keras.data import generate_demo_pairs
from aiayn_keras.scale.worker_pool import RAY_VARIABLES
from tests.claims.kills import run_or_kill

MODEL = Path(__file__).parents[2] / "saved_models" / "demo_en_de_keras"
DISTINCT = 20_000
"""Different pairs; longer files repeat them."""


def write_text(folder, lines):
    """Writes two aligned files of made-up pairs; their paths."""
    text = generate_demo_pairs(min(lines, DISTINCT), 0, "train")
    paths = []
    for name, side in (("a.en", text.sources), ("a.de", text.targets)):
        paths.append(folder / name)
        with paths[-1].open("w", encoding="utf-8") as file:
            file.writelines(f"{side[n % len(side)]}\n" for n in range(lines))
    return paths


def command_of(job, files, folder, output):
    """The words of the command of a job."""
    program = [sys.executable, "-m", "aiayn_keras_cli", job]
    if job == "translate":
        options = ["--input", str(files[0]), "--num-beams", "1"]
        return [*program, str(MODEL), *options, "--workers", "2", "--output", str(output)]
    recipe = {
        "corpus": {"train": [str(file) for file in files], "validation": list(map(str, files))},
        "tokenizer": {"vocabulary_size": 300},
        "training": {"updates": 1, "checkpoint_every": 1, "bleu_every": 1},
    }
    (folder / "recipe.yaml").write_text(yaml.safe_dump(recipe), "utf-8")
    return [*program, str(folder / "recipe.yaml"), "--output", str(output)]


def contents_of(folder):
    """Bytes of all files of a folder, by name."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def kill_commands(command, log, seconds, kills, moments):
    """Runs a command that is killed so often, and then to its end; seconds of all.

    A job that ends before it is killed is begun anew in a folder that is emptied.
    """
    start, output = time.perf_counter(), Path(command[-1])
    for kill in range(1, kills + 1):
        while run_or_kill(command, log, moments.uniform(0, seconds), lambda: False):
            shutil.rmtree(output)
        done = len(list(output.glob("part-*[0-9].json")))
        left = len(list(output.glob(".writing-*")))
        click.echo(f"kill {kill}: {done} parts done, {left} half written")
    run_or_kill(command, log, math.inf, lambda: False)
    return time.perf_counter() - start


def kill_nodes(command, log, seconds, kills, moments, num_nodes):
    """Runs a command on a cluster of which nodes are killed; seconds."""
    os.environ.update(RAY_VARIABLES)
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    try:
        nodes = [cluster.add_node(num_cpus=1) for _ in range(num_nodes)]
        start = time.perf_counter()
        # Ray starts nodes in the main thread only.
        with concurrent.futures.ThreadPoolExecutor(1) as executor:
            job = executor.submit(
                run_or_kill, [*command, "--on-ray", cluster.address], log, math.inf, lambda: False
            )
            for number in range(1, kills + 1):
                concurrent.futures.wait([job], moments.uniform(0, 2 * seconds / kills))
                if job.done():
                    break
                victim = nodes.pop(moments.randrange(len(nodes)))
                after = time.perf_counter() - start
                cluster.remove_node(victim, allow_graceful=False)
                nodes.append(cluster.add_node(num_cpus=1))
                click.echo(f"kill {number}: a node of {num_nodes}, after {after:.0f} s")
            job.result()
        return time.perf_counter() - start
    finally:
        cluster.shutdown()


@click.command()
@click.argument("job", type=click.Choice(["prepare", "translate"]))
@click.option("--kills", type=click.IntRange(min=0), default=10, show_default=True)
@click.option("--lines", type=click.IntRange(min=1), default=100_000, show_default=True)
@click.option("--on-ray", is_flag=True, help="Kill nodes of a cluster.")
@click.option("--nodes", type=click.IntRange(min=1), default=3, show_default=True)
@click.option("--seed", default=0, show_default=True, help="Of the moments.")
def main(job, kills, lines, on_ray, nodes, seed):
    """Kill JOB at random moments."""
    moments = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="kills-") as name:
        folder = Path(name)
        files, log = write_text(folder, lines), folder / "log"
        outputs = [folder / "undisturbed", folder / "disturbed"]
        commands = [command_of(job, files, folder, output) for output in outputs]
        start = time.perf_counter()
        run_or_kill(commands[0], log, math.inf, lambda: False)
        seconds = time.perf_counter() - start
        click.echo(f"undisturbed: {lines:,} lines, {seconds:.0f} s, {lines / seconds:,.0f} lines/s")
        if on_ray:
            disturbed = kill_nodes(commands[1], log, seconds, kills, moments, nodes)
        else:
            disturbed = kill_commands(commands[1], log, seconds, kills, moments)
        expected, found = map(contents_of, outputs)
        click.echo(f"disturbed: {disturbed:.0f} s, {lines / disturbed:,.0f} lines/s")
        different = sorted(
            name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name)
        )
        click.echo(f"different files: {different or 'none'} of {len(expected)}")
        sys.exit(bool(different))


if __name__ == "__main__":
    main()
