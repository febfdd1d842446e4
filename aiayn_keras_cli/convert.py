"""`aiayn-keras convert`: models of other toolkits."""

from pathlib import Path

import click

from aiayn_keras_cli.license import license_or_warning
from aiayn_keras_cli.options import LocalPath
from aiayn_keras_cli.running import KerasCommand

_FILES = LocalPath(exists=True, dir_okay=False)


@click.command(cls=KerasCommand)
@click.argument("source", metavar="SOURCE")
@click.option(
    "--dictionary",
    "dictionaries",
    type=_FILES,
    multiple=True,
    help="For a fairseq checkpoint: dict.LANGUAGE.txt of the source; repeat it for the target.",
)
@click.option(
    "--vocabulary",
    "vocabularies",
    type=_FILES,
    multiple=True,
    help="For an OpenNMT-tf or tensor2tensor checkpoint: the source's vocabulary; repeat it for "
    "the target's if they differ.",
)
@click.option(
    "--num-heads",
    type=click.IntRange(min=1),
    help="For an OpenNMT-tf checkpoint: attention heads, 8 in its base model, 16 in its big one.",
)
@click.option(
    "--source-end",
    is_flag=True,
    help="For an OpenNMT-tf checkpoint trained with an end token after each source.",
)
@click.option(
    "--target-space",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="For a tensor2tensor checkpoint older than version 1.5: the SpaceID of its target.",
)
@click.option(
    "--license",
    help="License for the README, such as apache-2.0. Default: that in SOURCE's README.",
)
@click.option("--output", type=LocalPath(), required=True, help="Folder to create.")
def convert(
    source, dictionaries, vocabularies, num_heads, source_end, target_space, license, output
):
    """Convert a model of another toolkit.

    A README with its origin and license is written beside the model.

    SOURCE is the folder of a Marian model (Hugging Face) or of a CTranslate2 model, or the address
    of a Marian model, such as hf://Helsinki-NLP/opus-mt-en-de; with --dictionary, a fairseq
    checkpoint; with --vocabulary, a tensor2tensor or OpenNMT-tf checkpoint, or its training's
    folder.
    """
    from aiayn_keras.convert import convert as convert_model
    from aiayn_keras.convert import convert_fairseq
    from aiayn_keras.convert.foreign_models import write_model_card
    from aiayn_keras_light.files import check_is_new, new_folder

    check_is_new(output)
    for name, files in (("--dictionary", dictionaries), ("--vocabulary", vocabularies)):
        if len(files) > 2:
            raise click.UsageError(f"{name} may be given at most twice, for source and target.")
    if dictionaries and vocabularies:
        raise click.UsageError("--dictionary is for fairseq, --vocabulary for other checkpoints.")
    if not vocabularies and (num_heads or source_end or target_space):
        raise click.UsageError("--num-heads, --source-end and --target-space need --vocabulary.")
    if dictionaries and Path(source).is_dir():
        raise click.UsageError(
            f"--dictionary is for fairseq checkpoints, which are files; {source} is a folder."
        )
    license_name = license_or_warning(source) if license is None else license
    if vocabularies:
        model = _convert_checkpoint(source, vocabularies, num_heads, source_end, target_space)
    else:
        model = convert_fairseq(source, *dictionaries) if dictionaries else convert_model(source)
    with new_folder(output) as written:
        model.save_to_preset(str(written))
        write_model_card(written, source, license_name)
    click.echo(output)


def _convert_checkpoint(source, vocabularies, num_heads, source_end, target_space):
    """Converts a TensorFlow checkpoint: tensor2tensor's if its settings are beside it."""
    from aiayn_keras.convert import convert_opennmt_tf, convert_tensor2tensor
    from aiayn_keras.convert.tensor2tensor import is_tensor2tensor

    if is_tensor2tensor(source):
        return convert_tensor2tensor(source, *vocabularies, target_space=target_space)
    if num_heads is None:
        raise click.UsageError(
            "An OpenNMT-tf checkpoint does not contain the number of its attention heads: give "
            "--num-heads. A tensor2tensor checkpoint has the file hparams.json beside it."
        )
    return convert_opennmt_tf(source, *vocabularies, num_heads=num_heads, source_end=source_end)
