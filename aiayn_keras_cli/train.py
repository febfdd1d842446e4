"""`aiayn-keras prepare`, `train` and `average`: from a recipe to a model folder."""

import sys
from pathlib import Path

import click

from aiayn_keras_cli.options import LocalPath, pool_options, quiet_pool
from aiayn_keras_cli.running import KerasCommand

_SETTINGS = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="SECTION.FIELD=VALUE",
    help="Replace a value of the recipe. May be repeated.",
)


@click.command(cls=KerasCommand)
@click.argument("recipe")
@_SETTINGS
@click.option("--output", metavar="FOLDER|URL", required=True, help="Folder to create.")
@pool_options
def prepare(recipe, settings, output, ray, workers):
    """Tokenize the training text of RECIPE once.

    `aiayn-keras train RECIPE --set corpus.shards=DIR` then trains without reading the text. Files
    may be patterns and URLs. To resume a preparation that was stopped, run the same command again.
    """
    from aiayn_keras.scale.preparation import prepare as run
    from aiayn_keras.training import load_recipe

    done = run(load_recipe(recipe, settings), output, quiet_pool(workers, ray))
    click.echo(f"{done.lines - done.bad_lines:,} pairs are in {output}.")
    if done.bad_lines:
        click.echo(f"{done.bad_lines:,} lines are bad: see {output}/*bad*.jsonl.", err=True)


@click.command(cls=KerasCommand)
@click.argument("recipe")
@_SETTINGS
@click.option(
    "--output",
    type=LocalPath(file_okay=False),
    help="Folder to fill. Default: runs/RECIPE, or the folder of the training that RECIPE is from.",
)
def train(recipe, settings, output):
    """Train a model by RECIPE.

    RECIPE is the name of a recipe that comes with the package (such as demo), or a YAML file. To
    resume a training that was stopped, run the same command again. With a different --set, such as
    training.updates=NUMBER, the training continues with that change, before or after its end.
    Ctrl-C and SIGTERM stop it after the update in progress, with a checkpoint.
    """
    from aiayn_keras.training import load_recipe
    from aiayn_keras.training import train as run
    from aiayn_keras.training.run_folder import format_domains

    output = output or _default_output(Path(recipe))
    loaded = load_recipe(recipe, settings)
    try:
        result = run(loaded, output)
    except KeyboardInterrupt:
        click.echo(f"\nStopped. To resume from {output}, run the same command again.", err=True)
        sys.exit(130)
    click.echo(f"\n{result.delivery}\n\nOn the test text:\n{result.bleu}\n{result.chrf}\n")
    if result.domains:
        click.echo(f"{format_domains(result.domains)}\n")
    for source, translation, reference in result.samples:
        click.echo(f"  source:      {source}")
        click.echo(f"  translation: {translation}")
        click.echo(f"  reference:   {reference}\n")
    click.echo(f"The model is in {output}.")


@click.command(cls=KerasCommand)
@click.argument("run_folder", metavar="DIR", type=LocalPath())
@click.option(
    "--last",
    type=click.IntRange(min=1),
    help="Number of checkpoints. Default: the recipe's `average_checkpoints`.",
)
@click.option("--output", type=LocalPath(), required=True, help="Folder to create.")
def average(run_folder, last, output):
    """Average the last checkpoints of a training.

    The mean of the checkpoints of the training in DIR becomes a model folder.
    """
    from aiayn_keras.training import write_average

    paths = write_average(run_folder, output, last)
    click.echo(f"The mean of {len(paths)} checkpoints, up to {paths[-1].name}, is in {output}.")


def _default_output(recipe):
    from aiayn_keras.training.run_folder import RunFolder

    folder = RunFolder(recipe.parent)
    is_of_a_training = recipe == folder.recipe and folder.inputs.is_file()
    return folder.path if is_of_a_training else Path("runs") / recipe.stem
