"""Files that are whole or not there."""

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path

WRITING = ".writing-"
"""Begin of the names of folders for what is not whole yet; a killed process leaves them behind."""


@contextlib.contextmanager
def atomic_path(path):
    """Gives a temporary path to write to; when the block ends well, it becomes `path`.

    Args:
        path: The file to write. Its folder must exist.

    Yields:
        A `pathlib.Path` in the same folder that ends as `path` does.
    """
    path = Path(path)
    with writing_folder(path.parent) as folder:
        temporary = folder / path.name
        yield temporary
        publish(temporary, path)


@contextlib.contextmanager
def writing_folder(parent):
    """Gives a new folder inside `parent`, which is deleted after the block."""
    with tempfile.TemporaryDirectory(prefix=WRITING, dir=parent) as folder:
        yield Path(folder)


def publish(temporary, path):
    """Moves a whole file from a `writing_folder` to its place, so that a crash cannot undo it."""
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


def digest_of(path):
    """The first 16 hexadecimal digits of a file's SHA-256."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]
