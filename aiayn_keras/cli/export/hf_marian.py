"""`aiayn-keras export hf-marian`."""

import click

from aiayn_keras.cli.export.destination import NAME, OUTPUT, destination
from aiayn_keras.cli.keras_command import KerasCommand
from aiayn_keras.cli.license import license_or_warning
from aiayn_keras.cli.model_folder import MODEL_FOLDER, load_model


@click.command("hf-marian", cls=KerasCommand)
@MODEL_FOLDER
@OUTPUT
@NAME
@click.option(
    "--license", help="For the README, such as apache-2.0. Default: that of DIR's README."
)
def hf_marian(model_folder, output, name, license):
    """Write a folder for Hugging Face's transformers.

    MarianMTModel and MarianTokenizer load the model in DIR from it.
    """
    from aiayn_keras.export import export_hf_marian

    path = destination(model_folder, output, name)
    card = license_or_warning(model_folder) if license is None else license
    click.echo(export_hf_marian(load_model(model_folder), path, card))
