"""Projections of training and search on TPUs, from programs compiled for them on a CPU.

No TPU is needed, only the package `libtpu`, which is for Linux. `make tpu-environment` makes an
environment with it. Run with its Python, from the repository's root:

    python -m benchmarks.tpu train --preset base --topology v5e:2x2 --output runs/tpu
    python -m benchmarks.tpu train --preset big --topology v5e:4x4 --model-parallel 4 \
        --output runs/tpu
    python -m benchmarks.tpu search --preset base --topology v5e:1x1 --output runs/tpu
    python -m benchmarks.tpu memory --output runs/tpu
    python -m benchmarks.tpu report runs/tpu

An option given several times makes a configuration for each value. A
configuration's results are a JSON file in the output folder and are not computed again. A training
step of the base model takes several minutes to compile on one core.

The programs are the package's own: the training step as Keras' trainer compiles it for `fit` with
packed rows, forward, backward and Adam, laid out over the chips by the package's layouts; and the
search behind `translate`. In the compiled program the tool counts the operations of matrix
products, the bytes that go to and from the chip's main memory, the exchanges between chips and the
memory that a chip needs, and projects a time from published figures of the chips. It is a
projection: nothing was run on a TPU. `python -m benchmarks.accelerator` checks it on real ones.
"""

import itertools
import json
import os
from pathlib import Path

import click
from tqdm import tqdm

from benchmarks.report import machine
from benchmarks.tpu.chips import read_topology
from benchmarks.tpu.memory_plan import memory_table, plan_memory
from benchmarks.tpu.programs import Configuration, virtual_devices
from benchmarks.tpu.projection import largest_rows, project
from benchmarks.tpu.report import NOTICE, search_table, training_table

ENVIRONMENT = {
    "KERAS_BACKEND": "jax",
    "JAX_PLATFORMS": "cpu",
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_ACCELERATOR_TYPE": "v5litepod-4",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
}
"""Variables that make JAX run on the CPU and keep `libtpu` from looking for TPUs."""


def prepare(configurations):
    """Sets the environment; must come before JAX is imported."""
    os.environ.update(ENVIRONMENT)
    count = virtual_devices(configurations)
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={count}"


def common_options(function):
    """Options of all programs."""
    options = (
        click.option("--preset", "presets", multiple=True, default=["base"], show_default=True),
        click.option(
            "--topology",
            "topologies",
            multiple=True,
            default=["v5e:2x2"],
            show_default=True,
            callback=lambda context, option, values: [_checked(value) for value in values],
            help="Kind and grid of chips: v5e:4x4, v6e:2x2, v5p:2x2x1.",
        ),
        click.option(
            "--vocabulary-size", type=click.IntRange(min=8), default=37_000, show_default=True
        ),
        click.option("--precision", default="mixed_bfloat16", show_default=True),
        click.option(
            "--layers",
            "num_layers",
            type=click.IntRange(min=0),
            default=0,
            help="Instead of the preset's.",
        ),
        click.option("--keep-text", is_flag=True, help="Write the compiled program as well."),
        click.option(
            "--output", type=click.Path(path_type=Path), required=True, help="Folder of results."
        ),
    )
    for option in reversed(options):
        function = option(function)
    return function


def _checked(text):
    try:
        return str(read_topology(text))
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


@click.group()
def main():
    """Project training and search on TPUs from compiled programs."""


@main.command()
@click.option(
    "--tokens", type=click.IntRange(min=1), default=6144, show_default=True,
    help="Positions on each side per chip, or per group of chips that share a model.",
)  # fmt: skip
@click.option(
    "--row", type=click.IntRange(min=8), default=256, show_default=True,
    help="Positions of a packed row.",
)  # fmt: skip
@click.option(
    "--model-parallel", "sizes", type=click.IntRange(min=1), multiple=True, default=[1],
    show_default=True, help="Chips that share a model.",
)  # fmt: skip
@click.option(
    "--largest-batch", is_flag=True, help="Find how many tokens fit; takes many compilations."
)
@common_options
def train(tokens, row, sizes, largest_batch, presets, topologies, keep_text, output, **options):
    """Project training steps."""
    if tokens % row:
        raise click.UsageError(f"--tokens must be a multiple of --row, which is {row}.")
    configurations = [
        Configuration("train", preset, topology, size, tokens // row, row, row, **options)
        for preset, topology, size in itertools.product(presets, topologies, sizes)
    ]
    for one in configurations:
        if read_topology(one.topology).num_chips % one.model_parallel:
            raise click.UsageError("--model-parallel must divide the number of chips.")
    records = _project_all(configurations, output, keep_text)
    click.echo(f"{machine()}\n\n{training_table(records)}\n\n{NOTICE}")
    if largest_batch:
        for configuration, record in zip(configurations, records, strict=True):
            if "refusal" not in record:
                most = largest_rows(configuration, output) * row
                click.echo(f"{configuration.name}: {most:,} tokens fit, to an eighth of it.")


@main.command()
@click.option("--batch", "batches", type=click.IntRange(min=1), multiple=True, default=[1, 64])
@click.option("--source", type=click.IntRange(min=1), default=32, show_default=True)
@click.option("--target", type=click.IntRange(min=3), default=88, show_default=True)
@click.option("--beams", "num_beams", type=click.IntRange(min=1), default=4, show_default=True)
@common_options
def search(batches, source, target, presets, topologies, keep_text, output, **options):
    """Project searches."""
    configurations = [
        Configuration("search", preset, topology, 1, batch, source, target, **options)
        for preset, topology, batch in itertools.product(presets, topologies, batches)
    ]
    records = _project_all(configurations, output, keep_text)
    click.echo(f"{machine()}\n\n{search_table(records)}\n\n{NOTICE}")


@main.command()
@click.option("--preset", "presets", multiple=True, default=["base", "big"], show_default=True)
@click.option("--precision", "precisions", multiple=True, show_default=True,
              default=["mixed_bfloat16", "float32"])  # fmt: skip
@click.option("--memory", "sizes", type=click.IntRange(min=1), multiple=True, show_default=True,
              default=[16, 24, 40, 80], help="Memory of a GPU in GB.")  # fmt: skip
@click.option("--share", type=click.FloatRange(min=0, max=1, min_open=True), default=0.75,
              show_default=True, help="Share of it that JAX takes.")  # fmt: skip
@click.option("--tokens", type=click.IntRange(min=1), default=6144, show_default=True,
              help="Positions on each side of the smaller batch compiled.")  # fmt: skip
@click.option("--row", type=click.IntRange(min=8), default=256, show_default=True,
              help="Positions of a packed row.")  # fmt: skip
@click.option("--output", type=click.Path(path_type=Path), required=True, help="Folder of results.")
def memory(presets, precisions, sizes, share, tokens, row, output):
    """Find the largest batches for one GPU.

    The step is compiled for an H100 with two batches, of --tokens and of twice as many, and the
    peak of its memory taken for a straight line.
    """
    if tokens % row:
        raise click.UsageError(f"--tokens must be a multiple of --row, which is {row}.")
    os.environ.update(ENVIRONMENT)
    with tqdm(list(itertools.product(presets, precisions)), desc="planned", disable=None) as bar:
        plans = [plan_memory(*each, row, tokens // row, output) for each in bar]
    click.echo(f"{machine()}\n\n{memory_table(plans, sizes, share)}")


@main.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
def report(folder):
    """Print the tables of all results in a folder."""
    records = [json.loads(path.read_text("utf-8")) for path in sorted(folder.glob("*.json"))]
    for program, table in (("train", training_table), ("search", search_table)):
        chosen = [record for record in records if record["program"] == program]
        if chosen:
            click.echo(f"{table(chosen)}\n")
    click.echo(NOTICE)


def _project_all(configurations, output, keep_text):
    prepare(configurations)
    with tqdm(configurations, desc="compiled", disable=None) as bar:
        return [project(one, output, keep_text) for one in bar]


if __name__ == "__main__":
    main()
