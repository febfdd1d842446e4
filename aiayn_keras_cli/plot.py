"""`aiayn-keras plot`: trainings compared in one figure."""

import math

import click

from aiayn_keras_cli.options import LocalPath
from aiayn_keras_cli.running import KerasCommand


@click.command(cls=KerasCommand)
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=LocalPath())
@click.option(
    "--output",
    type=LocalPath(dir_okay=False),
    default="trainings.png",
    show_default=True,
    help="PNG file to write.",
)
def plot(runs, output):
    """Compare trainings in one figure.

    Each RUN is the folder of a training, finished or not. The figure shows the loss, BLEU, chrF2,
    learning rate, gradient norm and tokens per second of its history over the updates.
    """
    from aiayn_keras.plotting import plot_trainings
    from aiayn_keras.training.run_folder import RunFolder, as_columns, read_history

    if output.suffix != ".png":
        raise click.UsageError(f"--output must end in .png. Received: {output}.")
    histories = {}
    for run in runs:
        folder = RunFolder(run)
        if not folder.history.is_file():
            raise FileNotFoundError(
                f"{run} has no {folder.history.name}: give the folder of a training that has "
                "reached its first checkpoint."
            )
        rows = read_history(folder.history, math.inf)
        if not rows:
            raise ValueError(f"{folder.history} is empty: the training has no checkpoint yet.")
        histories[str(run)] = as_columns(rows)
    plot_trainings(histories, output)
    click.echo(f"{output} shows {', '.join(histories)}.")
