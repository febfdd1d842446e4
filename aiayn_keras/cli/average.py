"""`aiayn-keras average`."""

from pathlib import Path

import click

from aiayn_keras.cli.keras_command import KerasCommand


@click.command(cls=KerasCommand)
@click.argument("run_folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--last",
    type=click.IntRange(min=1),
    help="Number of checkpoints. Default: the recipe's `average_checkpoints`.",
)
@click.option("--output", type=click.Path(path_type=Path), required=True, help="Folder to make.")
def average(run_folder, last, output):
    """Average the last checkpoints of a training.

    The mean of the checkpoints of the training in DIR becomes a model folder.
    """
    from aiayn_keras.training import write_average

    paths = write_average(run_folder, output, last)
    click.echo(f"The mean of {len(paths)} checkpoints, up to {paths[-1].name}, is in {output}.")
