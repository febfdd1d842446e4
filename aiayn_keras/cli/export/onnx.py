"""`aiayn-keras export onnx`."""

import click

from aiayn_keras.cli.export.destination import NAME, OUTPUT, destination
from aiayn_keras.cli.keras_command import KerasCommand
from aiayn_keras.cli.model_folder import MODEL_FOLDER, load_model


@click.command(cls=KerasCommand)
@MODEL_FOLDER
@OUTPUT
@NAME
@click.option(
    "--weights",
    type=click.Choice(["float32", "int8"]),
    default="float32",
    show_default=True,
    help="Number format of matrices; int8 makes a quarter of them, and sums of integers.",
)
def onnx(model_folder, output, name, weights):
    """Write a folder for ONNX Runtime and transformers.js.

    Encoder and decoder of the model in DIR become ONNX graphs. They run in Python and in
    browsers, and the program that runs them searches.
    """
    from aiayn_keras.export import export_onnx

    path = destination(model_folder, output, name)
    click.echo(export_onnx(load_model(model_folder), path, weights))
