"""Files and folders that appear whole or not at all, and are checked when they are read."""

import contextlib
import errno
import hashlib
import os
import shutil
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
        try:
            folder.rename(path)
        except OSError:
            check_is_new(path)  # it may have come meanwhile
            raise
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


def check_room(folder, num_bytes):
    """Raises an `OSError` if a folder's disk, or the user's quota on it, has no room.

    HDF5 may crash the process where the disk fills up, so room is looked for before it writes.

    Args:
        folder: An existing folder.
        num_bytes: Number of bytes that are going to be written.
    """
    free = shutil.disk_usage(folder).free
    if free < num_bytes:
        raise OSError(
            errno.ENOSPC,
            f"No space left on device: {num_bytes / 1e6:.1f} MB are needed, {free / 1e6:.1f} MB "
            f"are free in {folder}",
        )
    if hasattr(os, "posix_fallocate"):  # not on macOS; a quota is seen by asking for the room only
        with tempfile.TemporaryFile(dir=folder) as file:
            os.posix_fallocate(file.fileno(), 0, num_bytes)


def check_regular_file(path):
    """Raises an `OSError` unless `path` is a file, or a link to one: no pipe, device or folder."""
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"There is no file {path}.")
    if not path.is_file():
        raise OSError(f"{path} is no regular file.")


def read_bytes(path, max_bytes):
    """Reads a regular file of at most so many bytes.

    Raises:
        OSError: If there is no such file, or it is a pipe, a device or a folder.
        ValueError: If it is larger.
    """
    check_regular_file(path)
    with Path(path).open("rb") as file:
        content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise ValueError(f"{path} has more than {max_bytes:,} bytes, too many for such a file.")
    return content


CHECKSUMS = "SHA256SUMS"
"""Name of the file with the checksums of a folder's files, as `sha256sum --check` reads it."""


def write_checksums(folder):
    """Writes the SHA-256 of every file in a folder and its subfolders."""
    files = sorted(path for path in Path(folder).rglob("*") if path.is_file())
    lines = [f"{digest_of_file(path)}  {path.relative_to(folder).as_posix()}\n" for path in files]
    (Path(folder) / CHECKSUMS).write_text("".join(lines), encoding="utf-8")


def check_checksums(folder):
    """Raises a `ValueError` that names a file whose checksum is not the one in the folder's list.

    A folder without a list passes.
    """
    path = Path(folder) / CHECKSUMS
    if not path.exists():
        return
    for number, line in enumerate(read_bytes(path, 1 << 20).decode("utf-8").splitlines(), 1):
        digest, _, name = line.partition("  ")
        if len(digest) != 64 or name.startswith("/") or ".." in Path(name).parts:
            raise ValueError(f"{path}, line {number}: expected `checksum  file`, got {line!r:.90}.")
        check_regular_file(Path(folder) / name)
        if digest_of_file(Path(folder) / name) != digest:
            raise ValueError(
                f"{Path(folder) / name} is not what was written: its checksum is not that in "
                f"{CHECKSUMS}. Copy it again, or, if it was changed on purpose, delete {CHECKSUMS}."
            )


def digest_of_file(path):
    """The SHA-256 of a file, in hexadecimal."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
