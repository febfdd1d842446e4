"""`aiayn-keras convert`: models of other toolkits, and the license that they come with.

The license is read from the YAML at the top of a model's README (Hugging Face's format).
"""

import re
from pathlib import Path

import click

from aiayn_keras_cli.options import LocalPath
from aiayn_keras_cli.running import KerasCommand, one_line

_README = "README.md"
_MAX_LICENSE_BYTES = 1 << 20
_MAX_NAME_LENGTH = 200
_MAX_NAMES = 20
_FENCE = "---"
_FIELD = re.compile(r"""["']?license["']?\s*:""")
_FILES = LocalPath(exists=True, dir_okay=False)


def license_or_warning(source):
    """Reads as `find_license` does; if the README is bad, returns None and prints a warning."""
    try:
        return find_license(source)
    except (OSError, ValueError) as error:
        click.echo(f"Cannot read the license: {one_line(str(error))}", err=True)
        return None


def find_license(source):
    """Reads the license of a model's folder or address.

    Args:
        source: Path, or address on a hub such as Hugging Face's.

    Returns:
        What `read_license` returns; None for a file, or for a folder without a README.
    """
    from aiayn_keras.common.file_addresses import download, is_hub_address

    if is_hub_address(source):
        try:
            return read_license(download(str(source), [_README]))
        except FileNotFoundError:  # not every model has a README
            return None
    return read_license(Path(source)) if Path(source).is_dir() else None


def read_license(folder):
    """Reads the field `license` of a folder's README.

    Args:
        folder: `pathlib.Path` of the folder.

    Returns:
        The name, such as `"apache-2.0"`, or a list of several; None if the folder has no README,
        or the README no such field.

    Raises:
        OSError: If the README is not a regular file.
        ValueError: If the README is too large, or the field is invalid YAML or not a name.
    """
    from aiayn_keras.common.untrusted_yaml import parse_yaml
    from aiayn_keras_light.files import read_bytes

    path = folder / _README
    if not path.exists():
        return None
    lines = read_bytes(path, _MAX_LICENSE_BYTES).decode("utf-8-sig", "replace").splitlines()
    if lines[:1] != [_FENCE] or _FENCE not in lines[1:]:
        return None
    # The rest may be too long to parse: some models list thousands of results.
    field = _lines_of_field(lines[1 : lines.index(_FENCE, 1)])
    fields = parse_yaml("\n".join(["", *field]), str(path))
    names = fields.get("license") if isinstance(fields, dict) else None
    if names is None:
        return None
    listed = names if isinstance(names, list) else [names]
    if not 1 <= len(listed) <= _MAX_NAMES or not all(map(_is_name, listed)):
        raise ValueError(
            f"{path}: `license` must be a short name, or a list of short names. "
            f"Received: {names!r:.60}."
        )
    return listed[0] if len(listed) == 1 else listed


def _lines_of_field(lines):
    """Empties all lines of a mapping but the license's, so that errors name the right line."""
    kept, is_inside = [], False
    for line in lines:
        if line and line[0] not in " \t-#":  # a key of the mapping
            is_inside = _FIELD.match(line) is not None
        kept.append(line if is_inside else "")
    return kept


def _is_name(name):
    return isinstance(name, str) and name.isprintable() and 1 <= len(name) <= _MAX_NAME_LENGTH


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
