"""The license of a model, read from the YAML at the top of its README (Hugging Face's format)."""

import re
from pathlib import Path

import click

from aiayn_keras_cli.running import one_line

_README = "README.md"
_MAX_LICENSE_BYTES = 1 << 20
_MAX_NAME_LENGTH = 200
_MAX_NAMES = 20
_FENCE = "---"
_FIELD = re.compile(r"""["']?license["']?\s*:""")


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
        What `read_license` returns; None for a file, and if there is no README.
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
    lines = read_bytes(path, _MAX_LICENSE_BYTES).decode("utf-8", "replace").splitlines()
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
