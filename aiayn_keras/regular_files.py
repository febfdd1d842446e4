"""Files from outside: opened only if they are regular, read only up to a number of bytes."""

import os
import stat

_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def open_regular_file(path, kind="file"):
    """Opens a regular file to read its bytes.

    A named pipe without a writer would wait for ever, and a device such as `/dev/zero` has no end.

    Args:
        path: The file, or a link to it.
        kind: Description of the file in errors, such as `"corpus file"`.

    Returns:
        A buffered binary file.

    Raises:
        FileNotFoundError: If there is no such file.
        OSError: If it is no regular file, or cannot be opened.
    """
    try:
        # Without O_NONBLOCK, opening a named pipe waits for its writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    except (FileNotFoundError, NotADirectoryError, ValueError):  # a ValueError for a NUL
        raise FileNotFoundError(f"There is no {kind} {str(path)!r}.") from None
    except OSError as error:
        raise OSError(f"The {kind} {str(path)!r} cannot be opened: {error.strerror}.") from None
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        found = _KINDS.get(stat.S_IFMT(mode), "something else")
        raise OSError(f"The {kind} {str(path)!r} must be a regular file. It is {found}.")
    return os.fdopen(descriptor, "rb")


def read_regular_file(path, kind="file", *, max_bytes):
    """Reads a regular file whole.

    Args:
        path: The file, or a link to it.
        kind: Description of the file in errors.
        max_bytes: Greatest size of the file.

    Returns:
        Its bytes.

    Raises:
        FileNotFoundError: If there is no such file.
        OSError: If it is no regular file, or cannot be opened.
        ValueError: If it is larger than `max_bytes`.
    """
    with open_regular_file(path, kind) as file:
        data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise ValueError(
            f"The {kind} {str(path)!r} must have at most {max_bytes:,} bytes. It has more."
        )
    return data
