"""The license of a model, from the YAML at the beginning of its README, as Hugging Face has it."""

from pathlib import Path

README = "README.md"
MOST_BYTES = 1 << 20
LONGEST_NAME = 200
FENCE = "---"


def find_license(source):
    """Reads the license of a model's folder or address.

    Args:
        source: Path, or address on Hugging Face's hub.

    Returns:
        The name as `read_license` gives it; None for a file, and where there is no README.
    """
    from aiayn_keras.convert.hub import ADDRESS, download

    if str(source).startswith(ADDRESS):
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
        The name, such as `"apache-2.0"`; None where the folder has no README, or the README no such
        field.

    Raises:
        OSError: If the README is no regular file.
        ValueError: If what stands at its beginning is not YAML, or the field is no name.
    """
    from aiayn_keras.files import read_bytes
    from aiayn_keras.untrusted_yaml import parse_yaml

    path = folder / README
    if not path.exists():
        return None
    lines = read_bytes(path, MOST_BYTES).decode("utf-8", "replace").splitlines()
    if lines[:1] != [FENCE] or FENCE not in lines[1:]:
        return None
    fields = parse_yaml("\n".join(["", *lines[1 : lines.index(FENCE, 1)]]), str(path))
    if not isinstance(fields, dict) or fields.get("license") is None:
        return None
    name = fields["license"]
    if not isinstance(name, str) or not name.isprintable() or len(name) > LONGEST_NAME:
        raise ValueError(f"{path}: `license` must be a short name. Received: {name!r:.60}.")
    return name
