"""A lock on the folder of a training or a job: one process at a time writes there."""

import contextlib
import errno
import logging
import os
import re
import socket
import stat

import filelock

logger = logging.getLogger(__name__)

_HOLDER = re.compile(r"(\d{1,10}) on (\S{1,255})\n")
_MAX_HOLDER_BYTES = 300
_NO_LOCKS_HERE = errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP


def lock_files(path):
    """The lock file at `path`, and the file beside it that names the process holding the lock."""
    return path, path.with_name(f"{path.name}.holder")


class FolderInUseError(OSError):
    """Raised for a folder that another process is using."""


@contextlib.contextmanager
def hold_lock(path):
    """Context manager that holds the lock file `path` for this process alone.

    Missing folders are created, and removed afterwards if nothing else was put into them. The
    operating system releases the lock when its holder is killed; the two files left behind do not
    lock anything. If either file is a link, it is refused: it is never followed, written to or
    removed.

    Args:
        path: A `pathlib.Path`.

    Raises:
        FolderInUseError: If another process holds the lock; the message names that process.
        OSError: If a file cannot be created, or is a link, a pipe or a folder.
    """
    created = [folder for folder in path.parents if not folder.exists()]
    path.parent.mkdir(parents=True, exist_ok=True)
    path, holder = lock_files(path)
    _check_regular(path)
    _check_regular(holder)
    lock = filelock.FileLock(path, blocking=False, fallback_to_soft=False)
    is_locked = _acquire(lock, path, holder)
    try:
        if is_locked:
            _write_holder(holder)
        yield
    finally:
        # Both are removed before the lock is released: afterwards they may belong to somebody else.
        holder.unlink(missing_ok=True)
        path.unlink(missing_ok=True)
        lock.release()
        with contextlib.suppress(OSError):  # a folder is not empty
            for folder in created:
                folder.rmdir()


def _acquire(lock, path, holder):
    """Takes the lock; returns whether this file system has locks at all."""
    try:
        lock.acquire()
    except filelock.Timeout:
        raise FolderInUseError(
            f"{_read_holder(holder)} works in {path.parent}: wait until it ends, stop it, or "
            "choose a different folder."
        ) from None
    except OSError as error:
        _check_regular(path)  # a link may have appeared since the first check
        if error.errno not in _NO_LOCKS_HERE:
            raise
        logger.warning(
            "%s cannot be locked (%s): do not start anything else there.", path, error.strerror
        )
        return False
    return True


def _check_regular(path):
    """Raises an `OSError` unless `path` is a regular file or does not exist."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISREG(mode):
        kind = "a link" if stat.S_ISLNK(mode) else "not a regular file"
        raise OSError(f"{path} is {kind}, so it cannot serve as a lock. Delete it.")


def _write_holder(path):
    path.unlink(missing_ok=True)  # left behind by a killed process
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    with open(descriptor, "wb") as file:
        file.write(f"{os.getpid()} on {socket.gethostname()}\n".encode())


def _read_holder(path):
    """Description of the process that the holder's file names."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(descriptor, "rb") as file:
            match = _HOLDER.fullmatch(file.read(_MAX_HOLDER_BYTES).decode("ascii", "replace"))
    except OSError:  # its holder has just ended, or not written it yet
        match = None
    return f"process {match[1]} on {match[2]}" if match else "another process"
