"""`aiayn-keras convert`."""

from pathlib import Path

import click

from aiayn_keras.cli.quiet_start import KerasCommand


@click.command(cls=KerasCommand)
@click.argument("source", metavar="SOURCE")
@click.option("--output", type=click.Path(path_type=Path), required=True, help="Folder to make.")
def convert(source, output):
    """Make a model folder of another toolkit's model.

    SOURCE is a folder, or an address such as hf://Helsinki-NLP/opus-mt-en-de. Models of Hugging
    Face's Marian can be converted.
    """
    from aiayn_keras.convert import convert as convert_model
    from aiayn_keras.files import check_is_new, new_folder

    check_is_new(output)
    model = convert_model(source)
    with new_folder(output) as written:
        model.save_to_preset(str(written))
    click.echo(output)
