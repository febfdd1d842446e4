"""A lock on the folder of a training or a job, so that one process at a time writes there."""

import contextlib
import fcntl
import logging
import os
import re
import socket
import stat

logger = logging.getLogger(__name__)

_HOLDER = re.compile(r"(\d{1,10}) on (\S{1,255})\n")


class FolderInUseError(OSError):
    """Raised for a folder in which another process works."""


@contextlib.contextmanager
def hold_lock(path):
    """Context manager in which this process alone holds the lock file `path`.

    Its folder and those above it are made if they are missing, and removed afterwards if nothing
    else has come into them.
    The system releases the lock of a process that is killed; the file that it leaves behind locks
    nothing.

    Args:
        path: A `pathlib.Path`.

    Raises:
        FolderInUseError: If another process holds it; the message names the process.
        OSError: If the file cannot be made.
    """
    made = [folder for folder in path.parents if not folder.exists()]
    path.parent.mkdir(parents=True, exist_ok=True)
    # Without waiting, in case that it is a pipe.
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK, 0o644)
    with open(descriptor, "r+b", buffering=0) as file:
        _lock(file, path)
        file.truncate(0)
        file.write(f"{os.getpid()} on {socket.gethostname()}\n".encode())
        try:
            yield
        finally:
            path.unlink(missing_ok=True)  # before the lock is released, since it may be taken then
            with contextlib.suppress(OSError):  # where something else has come into it
                for folder in made:
                    folder.rmdir()


def _lock(file, path):
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        raise OSError(f"{path} is no regular file. Delete it.")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise _in_use(file, path) from None
    except OSError as error:
        logger.warning("%s cannot be locked (%s): start nothing else there.", path, error)
        return
    if not path.exists() or not os.path.samestat(os.fstat(file.fileno()), path.stat()):
        # Its holder has ended, and deleted it, since it was opened.
        raise _in_use(file, path)


def _in_use(file, path):
    match = _HOLDER.fullmatch(file.read(300).decode("ascii", "replace"))
    holder = f"process {match[1]} on {match[2]}" if match else "another process"
    return FolderInUseError(
        f"{holder} works in {path.parent}: wait until it ends or stop it, or choose another folder."
    )
