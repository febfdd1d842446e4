"""`aiayn-keras prepare`."""

import click

from aiayn_keras.cli.engine_options import engine_options
from aiayn_keras.cli.keras_command import KerasCommand
from aiayn_keras.cli.recipe_settings import SETTINGS


@click.command(cls=KerasCommand)
@click.argument("recipe")
@SETTINGS
@click.option("--output", metavar="FOLDER|URL", required=True, help="Folder to make.")
@engine_options
def prepare(recipe, settings, output, ray, workers):
    """Tokenize the training text of RECIPE once.

    `aiayn-keras train RECIPE --set corpus.shards=DIR` then trains without reading the text. Files
    may be patterns and URLs; a preparation that was stopped goes on.
    """
    from aiayn_keras.scale.engines import Engine
    from aiayn_keras.scale.preparation import prepare as run
    from aiayn_keras.training import load_recipe

    done = run(load_recipe(recipe, settings), output, Engine(workers, ray))
    click.echo(f"{done.lines - done.bad_lines:,} pairs are in {output}.")
    if done.bad_lines:
        click.echo(f"{done.bad_lines:,} lines are bad: see {output}/*.bad.jsonl.", err=True)
