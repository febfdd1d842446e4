"""`aiayn-keras export litert`."""

import click

from aiayn_keras.cli.export.destination import NAME, OUTPUT, destination
from aiayn_keras.cli.keras_command import KerasCommand
from aiayn_keras.cli.model_folder import MODEL_FOLDER, load_model
from aiayn_keras.decoding.search_options import MAX_TOKENS


@click.command(cls=KerasCommand)
@MODEL_FOLDER
@OUTPUT
@NAME
@click.option(
    "--max-input-length",
    type=click.IntRange(min=1, max=MAX_TOKENS),
    help="Greatest number of wordpieces of a text. Default: 64, or the model's limit.",
)
@click.option(
    "--max-length",
    type=click.IntRange(min=1, max=MAX_TOKENS),
    help="Greatest number of wordpieces of a translation. Default: 50 more than of a text.",
)
@click.option(
    "--weights",
    type=click.Choice(["float32", "float16", "int8"]),
    default="float32",
    show_default=True,
    help="Number format of matrices in the file; with int8 the engine computes in integers.",
)
def litert(model_folder, output, name, **options):
    """Write a folder for LiteRT.

    LiteRT, once TensorFlow Lite, then runs the model in DIR on phones and small computers, one text
    at a time. The folder's README shows how.
    """
    from aiayn_keras.export import export_litert

    path = destination(model_folder, output, name)
    click.echo(export_litert(load_model(model_folder), path, **options))
