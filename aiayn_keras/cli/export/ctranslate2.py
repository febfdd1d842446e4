"""`aiayn-keras export ctranslate2`."""

import click

from aiayn_keras.cli.export.destination import NAME, OUTPUT, destination
from aiayn_keras.cli.keras_command import KerasCommand
from aiayn_keras.cli.model_folder import MODEL_FOLDER, load_model


@click.command(cls=KerasCommand)
@MODEL_FOLDER
@OUTPUT
@NAME
@click.option(
    "--quantization",
    help="How weights are stored, such as int8 or float16. Default: float32.",
)
def ctranslate2(model_folder, output, name, quantization):
    """Write a folder for CTranslate2.

    The engine CTranslate2 then runs the model in DIR, on wordpieces.
    """
    from aiayn_keras.export import export_ctranslate2

    path = destination(model_folder, output, name)
    click.echo(export_ctranslate2(load_model(model_folder), path, quantization))
