"""`aiayn-keras export preset`."""

import shutil

import click

from aiayn_keras.cli.export.destination import NAME, OUTPUT, destination
from aiayn_keras.cli.model_folder import MODEL_FOLDER, load_model
from aiayn_keras.cli.quiet_start import KerasCommand

NOTES = ("recipe.yaml", "evaluation.json", "history.json")
"""Files of a training that go with its model."""


@click.command(cls=KerasCommand)
@MODEL_FOLDER
@OUTPUT
@NAME
@click.option(
    "--weights",
    type=click.Choice(["float32", "float16"]),
    default="float16",
    show_default=True,
    help="Number format of a float32 model's matrices in the file; float16 halves them.",
)
def preset(model_folder, output, name, weights):
    """Write a model folder to pass on.

    It holds the model in DIR without checkpoints and logs: a KerasHub preset, as Keras reads it.
    """
    folder = destination(model_folder, output, name)
    if folder.exists():
        raise FileExistsError(f"{folder} exists already: choose another --name or --output.")
    load_model(model_folder).save_to_preset(str(folder), weights=weights)
    for note in NOTES:
        if (model_folder / note).is_file():
            shutil.copyfile(model_folder / note, folder / note)
    click.echo(folder)
