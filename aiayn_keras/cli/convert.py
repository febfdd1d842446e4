"""`aiayn-keras convert`."""

from pathlib import Path

import click

from aiayn_keras.cli.keras_command import KerasCommand
from aiayn_keras.cli.license import license_or_warning

FILES = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.command(cls=KerasCommand)
@click.argument("source", metavar="SOURCE")
@click.option(
    "--dictionary",
    "dictionaries",
    type=FILES,
    multiple=True,
    help="Of a fairseq checkpoint: dict.LANGUAGE.txt of the source, and again of the target.",
)
@click.option(
    "--vocabulary",
    "vocabularies",
    type=FILES,
    multiple=True,
    help="Of an OpenNMT-tf or tensor2tensor checkpoint: that of the source, and again of the "
    "target unless it is the same.",
)
@click.option(
    "--num-heads",
    type=click.IntRange(min=1),
    help="Of an OpenNMT-tf checkpoint: attention heads, 8 in its base model and 16 in its big one.",
)
@click.option(
    "--source-end",
    is_flag=True,
    help="Of an OpenNMT-tf checkpoint: it was trained with an end token behind each source.",
)
@click.option(
    "--target-space",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Of a tensor2tensor checkpoint from before version 1.5: the SpaceID of its target.",
)
@click.option(
    "--license",
    help="For the README, such as apache-2.0. Default: that of SOURCE's README.",
)
@click.option("--output", type=click.Path(path_type=Path), required=True, help="Folder to make.")
def convert(
    source, dictionaries, vocabularies, num_heads, source_end, target_space, license, output
):
    """Convert a model of another toolkit.

    Beside the model is a README with its origin and license.

    SOURCE is a folder of Hugging Face's Marian or of CTranslate2, an address of a Marian model such
    as hf://Helsinki-NLP/opus-mt-en-de; with --dictionary, a checkpoint of fairseq; with
    --vocabulary, a checkpoint of tensor2tensor or OpenNMT-tf, or the folder of its training.
    """
    from aiayn_keras.common.files import check_is_new, new_folder
    from aiayn_keras.convert import convert as convert_model
    from aiayn_keras.convert import convert_fairseq
    from aiayn_keras.convert.model_card import write_model_card

    check_is_new(output)
    for name, files in (("--dictionary", dictionaries), ("--vocabulary", vocabularies)):
        if len(files) > 2:
            raise click.UsageError(f"{name} is given at most twice, for source and target.")
    if dictionaries and vocabularies:
        raise click.UsageError("--dictionary is for fairseq, --vocabulary for other checkpoints.")
    if not vocabularies and (num_heads or source_end or target_space):
        raise click.UsageError(
            "--num-heads, --source-end and --target-space are for checkpoints with a --vocabulary."
        )
    if dictionaries and Path(source).is_dir():
        raise click.UsageError(f"--dictionary is for checkpoints of fairseq; {source} is a folder.")
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
    """Converts a checkpoint of TensorFlow, of tensor2tensor if its settings are beside it."""
    from aiayn_keras.convert import convert_opennmt_tf, convert_tensor2tensor
    from aiayn_keras.convert.tensor2tensor import is_tensor2tensor

    if is_tensor2tensor(source):
        return convert_tensor2tensor(source, *vocabularies, target_space=target_space)
    if num_heads is None:
        raise click.UsageError(
            "A checkpoint of OpenNMT-tf does not say how many attention heads it has: give "
            "--num-heads. One of tensor2tensor has its file hparams.json beside it."
        )
    return convert_opennmt_tf(source, *vocabularies, num_heads=num_heads, source_end=source_end)
