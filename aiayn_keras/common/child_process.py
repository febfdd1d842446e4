"""Foreign files are read in a child process with limits of memory and time.

A library that reads a damaged or hostile file may crash, hang or ask for all the memory there is.
In a child process that costs one clear error. The child runs this file as a script and does not
import this package: a reader is a function in a file that imports only NumPy and the library it
needs, and is found by its path. Numbers come back through a pipe as float32, everything else as
JSON; nothing that the child sends is ever run.

The limit of memory is `RLIMIT_DATA`, which Linux enforces; macOS does not enforce it, so there only
the limit of time holds. Only Linux ends the child when the caller is killed, too.
"""

import contextlib
import ctypes
import errno
import importlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np

MAX_BYTES = 3 << 29
"""Memory that a child may use, in addition to the size of the files that it reads."""

MAX_SECONDS = 10.0
"""Time for reading, in addition to one second for each `_BYTES_PER_SECOND` of the files."""

_MAX_START_SECONDS = 120.0
"""Time for starting Python and importing the reader's library, which may be on a slow disk."""

_BYTES_PER_SECOND = 20e6
MAX_GROWTH = 16
"""Maximum size of the arrays as a multiple of the size of the files."""

MAX_HEADER_BYTES = 1 << 26
_MAX_LOG_BYTES = 1 << 20
_MAX_REASON = 300
"""Maximum number of characters of a reader's own message."""

_PR_SET_PDEATHSIG = 1
"""Number of an operation of Linux' `prctl`."""

REFUSED, _OUT_OF_MEMORY = 3, 4
"""Exit codes of the child."""

REMEDY = "it is damaged or hostile: copy it again, or get it from a source that you trust"


def read_in_child(reader, function, path, files=None, library=None, **arguments):
    """Calls a reader in a child process.

    Args:
        reader: Path of the Python file that defines the reader.
        function: Name of the reader: a function of `path` and `**arguments` that returns plain data
            and a dictionary from names to pairs of a shape and a function that returns the array.
            It raises a `ValueError` to refuse the file.
        path: Path of the file to read, which errors name.
        files: Paths of all files that are read; defaults to `path` alone. Their sizes widen the
            limits.
        library: Requirement for the library that the reader needs beside NumPy, such as
            `"torch>=2.10"`; the time of importing it does not count as time of reading.
        **arguments: Further arguments, as JSON can hold them.

    Returns:
        The plain data, and a dictionary from names to float32 arrays.

    Raises:
        ValueError: If the reader refuses the file, crashes, hangs or needs too much memory; one
            line with the path.
    """
    num_bytes = sum(map(bytes_on_disk, [path] if files is None else files))
    max_bytes, seconds = MAX_BYTES + num_bytes, MAX_SECONDS + num_bytes / _BYTES_PER_SECOND
    call = {
        "caller": os.getpid(),
        "reader": str(reader),
        "function": function,
        "library": library,
        "max_bytes": max_bytes,
        "arguments": {"path": os.path.abspath(path), **arguments},
    }
    found = problem = None
    with tempfile.TemporaryFile() as log:
        with _start(call, log) as process, _Deadline(process) as deadline:
            deadline.set(_MAX_START_SECONDS)
            if process.stdout.read(1):  # the library is imported
                deadline.set(seconds)
                try:
                    found = _receive(process.stdout, MAX_GROWTH * num_bytes)
                except EOFError:  # the exit code says why
                    pass
                except (ValueError, KeyError, TypeError) as error:
                    problem = str(error)
                    process.kill()
            code = process.wait()
        log.seek(0)
        reason = log.read(_MAX_LOG_BYTES).decode("utf-8", "backslashreplace").split("\n")[-1]
    if found is not None and code == 0:
        return found
    if problem is not None:
        pass  # the answer itself is wrong
    elif code == REFUSED:
        problem = reason.rstrip(" .,")
    elif deadline.has_passed:
        problem = f"it takes more than {deadline.seconds:.0f} seconds; {REMEDY}"
    elif code == _OUT_OF_MEMORY:
        problem = f"it takes more than {max_bytes >> 20:,} MB of memory; {REMEDY}"
    elif code in (-signal.SIGKILL, -signal.SIGTERM):
        problem = (
            f"its reader was killed ({signal.Signals(-code).name}), maybe by the system for lack "
            "of memory: close other programs and try again"
        )
    else:
        problem = f"its reader {_end_of(code)}; {REMEDY}"
    raise ValueError(f"{path} cannot be read: {problem:.{_MAX_REASON}}.")


def _start(call, log):
    return subprocess.Popen(
        [sys.executable, "-P", __file__, json.dumps(call)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=log,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2", "CUDA_VISIBLE_DEVICES": ""},
    )


class _Deadline:
    """Kills a process that has not ended in time, or when the block is left."""

    def __init__(self, process):
        self._process = process
        self._timer = None
        self.seconds = None
        self.has_passed = False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._timer.cancel()
        self._process.kill()

    def set(self, seconds):
        """Sets the time that is left, from now on."""
        if self._timer is not None:
            self._timer.cancel()
        self.seconds = seconds
        self._timer = threading.Timer(seconds, self._stop)
        self._timer.daemon = True
        self._timer.start()

    def _stop(self):
        self.has_passed = True
        self._process.kill()


def _receive(pipe, max_bytes):
    """Plain data and arrays; the first line states the shapes of the arrays."""
    line = pipe.readline(MAX_HEADER_BYTES)
    if not line.endswith(b"\n"):
        raise EOFError
    header = json.loads(line)
    num_bytes = sum(4 * _size(shape) for _, shape in header["arrays"])
    if num_bytes > max_bytes:
        raise ValueError(
            f"its tensors would take {num_bytes:,} bytes, more than {MAX_GROWTH} times the size of "
            "the file"
        )
    arrays = {}
    for name, shape in header["arrays"]:
        array = np.empty(shape, "<f4")
        buffer = memoryview(array.reshape(-1)).cast("B") if array.size else b""
        if array.size and pipe.readinto(buffer) != array.nbytes:
            raise EOFError
        arrays[name] = array
    return header["plain"], arrays


def _size(shape):
    size = 1
    for n in shape:
        if type(n) is not int or n < 0:
            raise ValueError(f"a tensor has the shape {shape!s:.100}")
        size *= n
    return size


def bytes_on_disk(path):
    """Size of a file without its holes, which take no space on the disk."""
    count, position = 0, 0
    with open(path, "rb", buffering=0) as file:
        try:
            while True:
                start = file.seek(position, os.SEEK_DATA)
                position = file.seek(start, os.SEEK_HOLE)
                count += position - start
        except OSError as error:
            if error.errno != errno.ENXIO:  # no further data
                raise
    return count


def _end_of(code):
    if code >= 0:
        return f"ended with exit code {code}"
    with contextlib.suppress(ValueError):
        return f"crashed ({signal.Signals(-code).name})"
    return f"crashed (signal {-code})"


def _main(call):
    """The child: limits itself, then reads and sends."""
    _end_with(call["caller"])
    pipe = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print is not the answer
    _limit(call["max_bytes"])
    try:
        if call["library"]:
            _import(call["library"])
        pipe.write(b"\n")
        pipe.flush()
        _send(_load(Path(call["reader"]), call["function"])(**call["arguments"]), pipe)
    except MemoryError:
        return _OUT_OF_MEMORY
    except (ValueError, OSError) as error:
        os.write(2, b"\n" + " ".join(str(error).split()).encode("utf-8", "backslashreplace"))
        return REFUSED
    return 0


def _end_with(caller):
    """Has the system kill this process when its caller ends, even if that is killed itself."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != caller:  # it ended before
            os._exit(1)


def _limit(max_bytes):
    import resource

    for name, limit in (("CORE", 0), ("FSIZE", _MAX_LOG_BYTES), ("DATA", max_bytes)):
        kind = getattr(resource, f"RLIMIT_{name}")
        _, hard = resource.getrlimit(kind)
        if hard != resource.RLIM_INFINITY:
            limit = min(limit, hard)
        resource.setrlimit(kind, (limit, limit))


def _import(requirement):
    name, _, version = requirement.partition(">=")
    try:
        module = importlib.import_module(name)
    except ImportError:
        raise ValueError(f"that needs {name}: `pip install '{requirement}'`") from None
    if _numbers(module.__version__) < _numbers(version):
        raise ValueError(
            f"that needs {requirement}, and {name} is {module.__version__}: "
            f"`pip install '{requirement}'`"
        )


def _numbers(version):
    """The first two numbers of a version such as `"2.10.1+cpu"`."""
    return [int(number) for number in version.split("+")[0].split(".")[:2] if number.isdigit()]


def _load(path, function):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, function)


def _send(answer, pipe):
    plain, arrays = answer
    shapes = [[name, list(shape)] for name, (shape, _) in arrays.items()]
    pipe.write(json.dumps({"plain": plain, "arrays": shapes}).encode() + b"\n")
    for shape, load in arrays.values():
        array = np.ascontiguousarray(load(), "<f4").reshape(shape)
        pipe.write(array.tobytes())
    pipe.flush()


if __name__ == "__main__":
    code = _main(json.loads(sys.argv[1]))
    sys.stderr.flush()
    os._exit(code)  # no library's cleanup after the answer
