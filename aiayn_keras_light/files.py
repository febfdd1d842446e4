"""Files and folders: written completely or not at all, and verified when they are read.

Nothing is written through a link: a link where a file should be is replaced, and one where a folder
should be is refused.
"""

import contextlib
import errno
import fcntl
import hashlib
import os
import shutil
import stat
import tempfile
import time
from pathlib import Path, PurePosixPath

CHECKSUMS = "SHA256SUMS"
"""Name of the file with the checksums of a folder, in the format of `sha256sum --check`."""


_NO_SPACE, _TOO_LARGE, _BYTES_OF_A_FULL_DISK = "No space left on device", "File too large", 1 << 16

WRITING = ".writing-"
"""Prefix of temporary folders, which a killed process leaves behind."""
_LEFT_SECONDS = 86_400
"""Age from which on an unlocked temporary folder counts as left behind.

Not less, since the locks of other machines may be invisible on a network drive.
"""


_CACHE_VARIABLE = "AIAYN_KERAS_CACHE"


def user_cache():
    """Path of the folder for what can be made or downloaded again; it need not exist.

    It is that of the variable AIAYN_KERAS_CACHE, or `aiayn_keras` in the user's cache folder, on
    Linux `~/.cache` or XDG_CACHE_HOME.
    """
    import platformdirs

    chosen = os.environ.get(_CACHE_VARIABLE)
    return Path(chosen) if chosen else platformdirs.user_cache_path("aiayn_keras")


@contextlib.contextmanager
def atomic_path(path):
    """Provides a temporary file, which is moved to `path` if the block ends without an error.

    Args:
        path: File to write, in an existing folder.

    Yields:
        `pathlib.Path` with the same name in a temporary folder.

    Raises:
        OSError: If there is a folder, a pipe or a device where the file should be.
    """
    path = Path(path)
    _check_replaceable(path)
    with writing_folder(path.parent) as folder, errors_of(path):
        temporary = folder / path.name
        yield temporary
        publish(temporary, path)


@contextlib.contextmanager
def errors_of(path):
    """Adds the name of a file to errors of a block that name none, such as that of a full disk."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = os.fspath(path)
        raise


def check_is_new(path):
    """Raises a `FileExistsError` if `path` already exists, even as a broken link."""
    if os.path.lexists(path):
        raise FileExistsError(f"{path} exists already: choose a different name, or delete it.")


def check_is_utf8(path):
    """Raises a `ValueError` if a path has bytes that are not UTF-8, which some libraries refuse."""
    try:
        os.fspath(path).encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError(
            f"{os.fsencode(path)!r} has bytes that are not UTF-8, and the library for these files "
            "only takes names in UTF-8: choose a different name."
        ) from None


@contextlib.contextmanager
def new_folder(path):
    """Provides a temporary folder, which is moved to `path` if the block ends without an error.

    Temporary folders beside `path` that killed processes left behind a day ago are deleted.

    Args:
        path: Folder to create, along with any missing parent folders. After an error, parents that
            were created are removed unless something else is in them.

    Yields:
        `pathlib.Path` with the same name, alone in a temporary parent folder.

    Raises:
        FileExistsError: If `path` already exists.
    """
    path = Path(path)
    check_is_new(path)
    with _parents_of(path), writing_folder(path.parent) as parent:
        _delete_leftovers(path.parent)
        folder = parent / path.name
        folder.mkdir()
        yield folder
        for written in folder.rglob("*"):
            _flush(written)
        _flush(folder)
        try:
            folder.rename(path)
        except OSError:
            check_is_new(path)  # it may have been created in the meantime
            raise
        _flush(path.parent)


@contextlib.contextmanager
def _parents_of(path):
    """Creates the missing parents of a path, and deletes them after an error if they are empty."""
    missing = [parent for parent in path.parents if not parent.exists()]
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        for parent in missing:  # the deepest first
            with contextlib.suppress(OSError):
                parent.rmdir()
        raise


@contextlib.contextmanager
def locked_folder(folder, operation):
    """Holds a lock on a folder itself until the block or the process ends.

    On file systems without locks, such as some network drives, nothing is held.

    Args:
        folder: Path of the folder, which exists.
        operation: `fcntl.LOCK_SH` or `fcntl.LOCK_EX`, as in `fcntl.flock`.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, operation)
        yield
    finally:
        os.close(descriptor)


def _delete_leftovers(parent):
    """Deletes old temporary folders in a folder that no process has locked."""
    for folder in parent.glob(f"{WRITING}*"):
        # It is locked, no folder of this user's, or another process deletes it.
        with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            stack.callback(os.close, descriptor)
            if time.time() - os.fstat(descriptor).st_mtime > _LEFT_SECONDS:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder)


@contextlib.contextmanager
def writing_folder(parent):
    """Provides a temporary folder inside `parent`, which is deleted after the block.

    Raises:
        OSError: If the disk is full, or allows no file of this size; it names `parent`, unlike the
            errors of many libraries.
    """
    with (
        tempfile.TemporaryDirectory(prefix=WRITING, dir=parent) as folder,
        locked_folder(folder, fcntl.LOCK_SH),
    ):
        try:
            yield Path(folder)
        except Exception as error:
            if getattr(error, "errno", None) == errno.EFBIG or _TOO_LARGE in str(error):
                raise OSError(
                    errno.EFBIG,
                    f"A file would be larger than the disk of {parent} or `ulimit -f` allows, and "
                    "nothing was written. Raise the limit, or choose a folder on a different disk",
                ) from error
            if not _is_about_a_full_disk(error, folder):
                raise
            raise OSError(
                errno.ENOSPC,
                f"{_NO_SPACE}: the disk of {parent} is full, and nothing was written. "
                "Free some space, or choose a folder on a different disk",
            ) from error


def _is_about_a_full_disk(error, folder):
    """Returns whether an error, which a library may have raised, comes from the disk being full."""
    if isinstance(error, OSError) and error.errno is not None:
        is_said_already = f"{_NO_SPACE}: " in str(error)  # by `check_room`
        return error.errno in (errno.ENOSPC, errno.EDQUOT) and not is_said_already
    if _NO_SPACE in str(error):
        return True
    is_full = shutil.disk_usage(folder).free < _BYTES_OF_A_FULL_DISK
    return isinstance(error, RuntimeError) and is_full  # of C++, whose streams say no reason


def publish(temporary, path):
    """Moves a file out of a `writing_folder` to `path`; a crash cannot undo it."""
    _check_replaceable(path)
    _flush(temporary)
    temporary.replace(path)
    _flush(path.parent)


def check_places(folder, names):
    """Checks that files can be written into a folder without replacing or leaving anything else.

    Args:
        folder: `pathlib.Path` of the folder; it need not exist, and may be a link.
        names: Paths of the files in the folder; one that ends in `/` is a folder.

    Raises:
        OSError: If there is a folder, a pipe or a device where a file should be, or anything else,
            such as a link to a folder, where a folder should be.
    """
    for name in names:
        path = PurePosixPath(name)
        inside = [folder / each for each in path.parents if each.parts]
        for each in [*reversed(inside), *([folder / name] if name.endswith("/") else [])]:
            _check_folder_inside(each)
        if not name.endswith("/"):
            _check_replaceable(folder / name)


def _check_folder_inside(path):
    if os.path.islink(path):
        raise NotADirectoryError(
            f"{path} is a link, and nothing is written through links: put a folder in its place."
        )
    if os.path.lexists(path) and not path.is_dir():
        raise NotADirectoryError(f"{path} is not a folder: move it elsewhere.")


def _check_replaceable(path):
    """Raises an `OSError` unless `path` is a regular file, a link or nothing."""
    with contextlib.suppress(FileNotFoundError):
        mode = os.lstat(path).st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
            raise OSError(
                f"{path} is not a regular file, so it is not replaced: move it elsewhere."
            )


def _flush(path):
    """Waits until a file, or the directory entry of a folder, has been written to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_text(path, text):
    """Writes a UTF-8 file, which appears complete or not at all."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def check_room(folder, num_bytes):
    """Raises an `OSError` if there is too little room on a disk or in the user's quota.

    HDF5 may crash the process when the disk is full, so free space is checked before it writes.

    Args:
        folder: An existing folder on the disk.
        num_bytes: Number of bytes to be written.
    """
    free = shutil.disk_usage(folder).free
    if free < num_bytes:
        raise OSError(
            errno.ENOSPC,
            f"{_NO_SPACE}: {num_bytes / 1e6:.1f} MB are needed, but only "
            f"{free / 1e6:.1f} MB are free in {folder}",
        )
    if hasattr(os, "posix_fallocate"):  # not on macOS; only an allocation reveals a quota
        with tempfile.TemporaryFile(dir=folder) as file:
            os.posix_fallocate(file.fileno(), 0, num_bytes)


def check_regular_file(path):
    """Raises an `OSError` unless `path` is a regular file or a link to one."""
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"There is no file {path}.")
    if not path.is_file():
        raise OSError(f"{path} is not a regular file.")


def read_bytes(path, max_bytes):
    """Reads a regular file of at most `max_bytes` bytes.

    Raises:
        OSError: If the file does not exist, or is a pipe, a device or a folder.
        ValueError: If the file is larger.
    """
    check_regular_file(path)
    with Path(path).open("rb") as file:
        content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise ValueError(
            f"{path} has more than {max_bytes:,} bytes, too many for this kind of file."
        )
    return content


def write_checksums(folder):
    """Writes the SHA-256 checksums of all files in a folder and its subfolders."""
    files = sorted(path for path in Path(folder).rglob("*") if path.is_file())
    lines = [f"{digest_of_file(path)}  {path.relative_to(folder).as_posix()}\n" for path in files]
    (Path(folder) / CHECKSUMS).write_text("".join(lines), encoding="utf-8")


def check_checksums(folder):
    """Raises a `ValueError` that names the first file with a checksum mismatch.

    A folder without a list of checksums passes.
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
                f"{Path(folder) / name} is not what was written: its checksum differs from that in "
                f"{CHECKSUMS}. Copy it again or, if the change is intended, delete {CHECKSUMS}."
            )


def digest_of_file(path):
    """Returns the SHA-256 checksum of a file, in hexadecimal."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
