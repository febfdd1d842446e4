"""Files and folders that appear whole or not at all."""

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path

WRITING = ".writing-"
"""Prefix of temporary folders; a killed process leaves them behind."""


@contextlib.contextmanager
def atomic_path(path):
    """Gives a temporary file to write, which becomes `path` when the block ends without an error.

    Args:
        path: The file to write. Its folder must exist.

    Yields:
        A `pathlib.Path` with the same name in a temporary folder.
    """
    path = Path(path)
    with writing_folder(path.parent) as folder:
        temporary = folder / path.name
        yield temporary
        publish(temporary, path)


def check_is_new(path):
    """Raises a `FileExistsError` if there is a file or folder at `path`."""
    if Path(path).exists():
        raise FileExistsError(f"{path} exists already: choose another name, or delete it.")


@contextlib.contextmanager
def new_folder(path):
    """Gives a temporary folder to fill, which becomes `path` when the block ends without an error.

    Args:
        path: The folder to make. Folders above it are made too.

    Yields:
        A `pathlib.Path` with the same name. The folder that it stands in is temporary too, and
        holds nothing else.

    Raises:
        FileExistsError: If there is a file or folder at `path`.
    """
    path = Path(path)
    check_is_new(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with writing_folder(path.parent) as parent:
        folder = parent / path.name
        folder.mkdir()
        yield folder
        for written in folder.rglob("*"):
            _flush(written)
        _flush(folder)
        folder.rename(path)
        _flush(path.parent)


@contextlib.contextmanager
def writing_folder(parent):
    """Gives a temporary folder inside `parent`, which is deleted after the block."""
    with tempfile.TemporaryDirectory(prefix=WRITING, dir=parent) as folder:
        yield Path(folder)


def publish(temporary, path):
    """Moves a file from a `writing_folder` to its place, so that a crash cannot undo it."""
    _flush(temporary)
    temporary.replace(path)
    _flush(path.parent)


def _flush(path):
    """Waits until a file, or the list of a folder's files, is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_text(path, text):
    """Writes a UTF-8 file that appears whole or not at all."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def digest_of(path):
    """Computes the first 16 hexadecimal digits of a file's SHA-256."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]
