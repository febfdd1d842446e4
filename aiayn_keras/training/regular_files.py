"""Reading files that somebody else may have put there."""

import os
from pathlib import Path


def read_regular(path, most_bytes):
    """Reads a whole file, which must be a regular one of bounded size: no pipe, no device.

    Args:
        path: The file.
        most_bytes: Its greatest size.

    Returns:
        Its bytes.

    Raises:
        FileNotFoundError: If there is nothing.
        OSError: If it is something else than a file, or too large.
    """
    path = Path(path)
    if os.path.lexists(path) and not path.is_file():
        raise OSError(f"{path} is no regular file. Put the file there that was there before.")
    with path.open("rb") as file:
        content = file.read(most_bytes + 1)
    if len(content) > most_bytes:
        raise OSError(f"{path} is larger than {most_bytes:,} bytes, which no file of its kind is.")
    return content
