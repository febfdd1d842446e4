"""`aiayn-keras export openvino`."""

import click

from aiayn_keras.cli.export.destination import NAME, OUTPUT, destination
from aiayn_keras.cli.export.weights_option import weights_option
from aiayn_keras.cli.keras_command import KerasCommand
from aiayn_keras.cli.model_folder import MODEL_FOLDER, load_model


@click.command(cls=KerasCommand)
@MODEL_FOLDER
@OUTPUT
@NAME
@weights_option("float32")
def openvino(model_folder, output, name, weights):
    """Write a folder for OpenVINO.

    Encoder and decoder of the model in DIR become OpenVINO graphs. The program that runs them
    searches.
    """
    from aiayn_keras.export import export_openvino

    path = destination(model_folder, output, name)
    click.echo(export_openvino(load_model(model_folder), path, weights))
