"""`aiayn-keras prepare`."""

from pathlib import Path

import click

from aiayn_keras.cli.quiet_start import KerasCommand
from aiayn_keras.cli.recipe_settings import SETTINGS


@click.command(cls=KerasCommand)
@click.argument("recipe")
@SETTINGS
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="Folder to make.",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1, max=1_000),
    help="Number of processes, each of which writes a shard. Default: one for each core.",
)
def prepare(recipe, settings, output, workers):
    """Tokenize the training text of RECIPE once.

    `aiayn-keras train RECIPE --set corpus.shards=DIR` then trains without reading the text.
    """
    from aiayn_keras.training import load_recipe
    from aiayn_keras.training import prepare as run

    count = run(load_recipe(recipe, settings), output, workers)
    click.echo(f"{count:,} pairs are in {output}.")
