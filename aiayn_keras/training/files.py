"""Files that are whole or not there."""

import contextlib
import os
import tempfile
from pathlib import Path


@contextlib.contextmanager
def atomic_path(path):
    """Gives a temporary path to write to; when the block ends well, it becomes `path`.

    Args:
        path: The file to write. Its folder must exist.

    Yields:
        A `pathlib.Path` in the same folder that ends as `path` does.
    """
    path = Path(path)
    with tempfile.TemporaryDirectory(prefix=".writing-", dir=path.parent) as folder:
        temporary = Path(folder) / path.name
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
        folder_descriptor = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder_descriptor)
        finally:
            os.close(folder_descriptor)


def write_text(path, text):
    """Writes a UTF-8 file, all or nothing."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
