"""The license of a model, from the YAML at the beginning of its README, as Hugging Face has it."""

import re
from pathlib import Path

import click

from aiayn_keras.cli.error_line import one_line

README = "README.md"
MAX_BYTES = 1 << 20
MAX_NAME = 200
MAX_NAMES = 20
FENCE = "---"
FIELD = re.compile(r"""["']?license["']?\s*:""")


def license_or_warning(source):
    """`find_license`, or None and a line on stderr: a README keeps no model back."""
    try:
        return find_license(source)
    except (OSError, ValueError) as error:
        click.echo(f"The license is not known: {one_line(str(error))}", err=True)
        return None


def find_license(source):
    """Reads the license of a model's folder or address.

    Args:
        source: Path, or address on a hub such as Hugging Face's.

    Returns:
        The name as `read_license` gives it; None for a file, and where there is no README.
    """
    from aiayn_keras.hub import download, is_address

    if is_address(source):
        try:
            return read_license(download(str(source), [README]))
        except FileNotFoundError:  # not every model has one
            return None
    return read_license(Path(source)) if Path(source).is_dir() else None


def read_license(folder):
    """Reads the field `license` of a folder's README.

    Args:
        folder: `pathlib.Path` of the folder.

    Returns:
        The name, such as `"apache-2.0"`, or the list of several; None where the folder has no
        README, or the README no such field.

    Raises:
        OSError: If the README is no regular file.
        ValueError: If the README is too large, or the field is not YAML, or no name.
    """
    from aiayn_keras.common.files import read_bytes
    from aiayn_keras.untrusted_yaml import parse_yaml

    path = folder / README
    if not path.exists():
        return None
    lines = read_bytes(path, MAX_BYTES).decode("utf-8", "replace").splitlines()
    if lines[:1] != [FENCE] or FENCE not in lines[1:]:
        return None
    # Others may be too many to be read: some models have results by the thousand.
    field = _lines_of_field(lines[1 : lines.index(FENCE, 1)])
    fields = parse_yaml("\n".join(["", *field]), str(path))
    names = fields.get("license") if isinstance(fields, dict) else None
    if names is None:
        return None
    listed = names if isinstance(names, list) else [names]
    if not 1 <= len(listed) <= MAX_NAMES or not all(map(_is_name, listed)):
        raise ValueError(
            f"{path}: `license` must be a short name, or a list of some. Received: {names!r:.60}."
        )
    return listed[0] if len(listed) == 1 else listed


def _lines_of_field(lines):
    """The lines of a mapping that are of the license; the others empty, so that errors count."""
    kept, is_inside = [], False
    for line in lines:
        if line and line[0] not in " \t-#":  # a key of the mapping
            is_inside = FIELD.match(line) is not None
        kept.append(line if is_inside else "")
    return kept


def _is_name(name):
    return isinstance(name, str) and name.isprintable() and 1 <= len(name) <= MAX_NAME
