"""`aiayn-keras convert`."""

from pathlib import Path

import click

from aiayn_keras.cli.license import find_license
from aiayn_keras.cli.quiet_start import KerasCommand


@click.command(cls=KerasCommand)
@click.argument("source", metavar="SOURCE")
@click.option(
    "--dictionary",
    "dictionaries",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    multiple=True,
    help="Of a fairseq checkpoint: dict.LANGUAGE.txt of the source, and again of the target.",
)
@click.option("--output", type=click.Path(path_type=Path), required=True, help="Folder to make.")
def convert(source, dictionaries, output):
    """Convert a model of another toolkit.

    Beside the model is a README with the license that the README of SOURCE names.

    SOURCE is a folder of Hugging Face's Marian or of CTranslate2, an address of a Marian model such
    as hf://Helsinki-NLP/opus-mt-en-de, or, with --dictionary, a checkpoint of fairseq.
    """
    from aiayn_keras.convert import convert as convert_model
    from aiayn_keras.convert import convert_fairseq
    from aiayn_keras.convert.model_card import write_model_card
    from aiayn_keras.files import check_is_new, new_folder

    check_is_new(output)
    if len(dictionaries) > 2:
        raise click.UsageError("There are at most two dictionaries, of source and target.")
    if dictionaries and Path(source).is_dir():
        raise click.UsageError(f"--dictionary is for checkpoints of fairseq; {source} is a folder.")
    license_name = find_license(source)
    model = convert_fairseq(source, *dictionaries) if dictionaries else convert_model(source)
    with new_folder(output) as written:
        model.save_to_preset(str(written))
        write_model_card(written, source, license_name)
    click.echo(output)
