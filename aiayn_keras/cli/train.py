"""`aiayn-keras train`."""

import sys
from pathlib import Path

import click

from aiayn_keras.cli.keras_command import KerasCommand
from aiayn_keras.cli.recipe_settings import SETTINGS


@click.command(cls=KerasCommand)
@click.argument("recipe")
@SETTINGS
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder to fill. Default: runs/RECIPE, or that of the training whose recipe it is.",
)
def train(recipe, settings, output):
    """Train a model as RECIPE says.

    RECIPE is the name of a recipe that ships (such as demo), or a YAML file. The same command goes
    on with a training that was stopped.
    """
    from aiayn_keras.training import load_recipe
    from aiayn_keras.training import train as run

    output = output or _default_output(Path(recipe))
    loaded = load_recipe(recipe, settings)
    try:
        result = run(loaded, output)
    except KeyboardInterrupt:
        click.echo(f"\nStopped. The same command goes on from {output}.", err=True)
        sys.exit(130)
    click.echo(f"\n{result.bleu}\n{result.chrf}\n")
    for source, translation, reference in result.samples:
        click.echo(f"  source:      {source}")
        click.echo(f"  translation: {translation}")
        click.echo(f"  reference:   {reference}\n")
    click.echo(f"The model is in {output}.")


def _default_output(recipe):
    from aiayn_keras.training.run_folder import RunFolder

    folder = RunFolder(recipe.parent)
    of_training = recipe == folder.recipe and folder.inputs.is_file()
    return folder.path if of_training else Path("runs") / recipe.stem
