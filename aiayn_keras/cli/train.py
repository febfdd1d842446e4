"""`aiayn-keras train` and `average`."""

import sys
from pathlib import Path

import click

SETTINGS = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="SECTION.FIELD=VALUE",
    help="Replace a value of the recipe. May be repeated.",
)


@click.command()
@click.argument("recipe")
@SETTINGS
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder to fill. Default: runs/RECIPE.",
)
def train(recipe, settings, output):
    """Train as RECIPE says: a name (such as demo), or a YAML file.

    The same command goes on with a training that was stopped.
    """
    from aiayn_keras.training import load_recipe
    from aiayn_keras.training import train as run

    output = output or Path("runs") / Path(recipe).stem
    loaded = load_recipe(recipe, settings)
    try:
        result = run(loaded, output)
    except KeyboardInterrupt:
        click.echo(f"\nStopped. The same command goes on from {output}.", err=True)
        sys.exit(130)
    click.echo(f"\n{result.bleu}\n")
    for source, translation, reference in result.samples:
        click.echo(f"  source:      {source}")
        click.echo(f"  translation: {translation}")
        click.echo(f"  reference:   {reference}\n")
    click.echo(f"The model is in {output}.")


@click.command()
@click.argument("run_folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--last", type=click.IntRange(min=1), help="How many checkpoints. Default: as the recipe says."
)
@click.option("--output", type=click.Path(path_type=Path), required=True, help="Folder to make.")
def average(run_folder, last, output):
    """Write the mean of the last checkpoints of the training in DIR as a model."""
    from aiayn_keras.training import write_average

    paths = write_average(run_folder, output, last)
    click.echo(f"The mean of {len(paths)} checkpoints, up to {paths[-1].name}, is in {output}.")
