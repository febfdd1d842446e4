"""Readers in a child process: numbers come back, and every bad end is one clear line."""

import contextlib
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from aiayn_keras.common import child_process
from aiayn_keras.common.child_process import bytes_on_disk, read_in_child

READERS = """
import os, sys, time
import numpy as np

def good(path, text):
    values = {"a": np.arange(6).reshape(2, 3), "scalar": np.float64(2.5), "none": np.zeros((0, 4))}
    print("something else on stdout")
    modules = [name for name in sys.modules if name.split(".")[0] in ("aiayn_keras", "keras")]
    plain = {"text": text, "file": open(path).read(), "modules": modules}
    return plain, {name: (np.shape(a), lambda a=a: a) for name, a in values.items()}

def refuses(path):
    raise ValueError("line 3 is\\n wrong")

def refuses_late(path):
    def load():
        raise ValueError("the checksum of `a` is wrong")
    return None, {"a": ((2,), load)}

def crashes(path):
    os.abort()

def is_killed(path):
    os.kill(os.getpid(), 9)

def fails(path):
    raise KeyError("a")

def hangs(path):
    while True:
        pass

def tells_and_sleeps(path):
    with open(path, "w") as file:
        file.write(f"{os.getpid()}.")
    time.sleep(60)

def sleeps_late(path):
    return None, {"a": ((2,), lambda: time.sleep(60))}

def eats(path):
    return None, {"a": ((2,), lambda: [b"1" * 10**8 for _ in range(100)])}

def grows(path):
    return None, {str(i): ((1000, 1000), lambda: np.zeros((1000, 1000))) for i in range(10)}

def lies(path):
    return None, {"a": ((-1, 3), lambda: np.zeros(3))}

def talks(path):
    while True:
        os.write(2, b"x" * 10000)
"""


@pytest.fixture
def read(tmp_path):
    (tmp_path / "readers.py").write_text(READERS)
    (tmp_path / "model.bin").write_text("content")

    def call(function, **arguments):
        return read_in_child(tmp_path / "readers.py", function, tmp_path / "model.bin", **arguments)

    return call


def test_arrays_and_plain_data_come_back_without_an_import_of_the_package(read, monkeypatch):
    monkeypatch.setattr(child_process, "MAX_GROWTH", 100)
    plain, arrays = read("good", text="ä")
    assert plain == {"text": "ä", "file": "content", "modules": []}
    assert {name: array.dtype for name, array in arrays.items()} == dict.fromkeys(
        ("a", "scalar", "none"), np.float32
    )
    np.testing.assert_array_equal(arrays["a"], [[0, 1, 2], [3, 4, 5]])
    assert (arrays["scalar"].shape, arrays["scalar"].item()) == ((), 2.5)
    assert arrays["none"].shape == (0, 4)
    arrays["a"][0] = 7  # the caller's own


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("refuses", r"line 3 is wrong\.$"),
        ("refuses_late", r"the checksum of `a` is wrong\.$"),
        ("crashes", "its reader crashed .SIGABRT.; it is damaged or hostile"),
        ("is_killed", "its reader was killed .SIGKILL., maybe by the system for lack of memory"),
        ("fails", "its reader ended with exit code 1; it is damaged"),
        ("hangs", "it takes more than 1 seconds; it is damaged"),
        ("sleeps_late", "it takes more than 1 seconds; it is damaged"),
        ("eats", "it takes more than 512 MB of memory; it is damaged"),
        ("grows", "its tensors would take 40,000,000 bytes, more than 16 times"),
        ("lies", r"a tensor has the shape \[-1, 3\]"),
        ("talks", "damaged"),
    ],
)
def test_every_bad_end_is_one_line_with_the_file(read, function, message, monkeypatch):
    if function == "eats" and sys.platform == "darwin":
        pytest.skip("macOS does not limit memory")
    seconds = 1.0 if "1 seconds" in message else 60.0
    monkeypatch.setattr(child_process, "MAX_SECONDS", seconds)
    monkeypatch.setattr(child_process, "MAX_BYTES", 1 << 29)
    with pytest.raises(ValueError, match=rf"model\.bin cannot be read: .*{message}") as caught:
        read(function)
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends the child with its caller")
def test_a_child_ends_when_its_caller_is_killed(read, tmp_path):
    call = (
        "from aiayn_keras.common.child_process import read_in_child\n"
        "read_in_child('readers.py', 'tells_and_sleeps', 'model.bin')"
    )
    caller = subprocess.Popen([sys.executable, "-c", call], cwd=tmp_path)
    try:
        child = _wait_for(lambda: _pid_in(tmp_path / "model.bin"))
    finally:
        caller.kill()
        caller.wait()
    _wait_for(lambda: not _is_running(child))


def _wait_for(find, seconds=30):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := find():
            return found
        time.sleep(0.02)
    raise AssertionError(f"nothing after {seconds} seconds")


def _pid_in(path):
    """The digits before the dot that a reader has written into its file, or an empty string."""
    text = path.read_text()
    return text[:-1] if text.endswith(".") else ""


def _is_running(pid):
    """Returns whether a process runs, which one that nobody has waited for does not."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def test_holes_do_not_widen_the_limits(tmp_path):
    path = tmp_path / "model.bin"
    with path.open("wb") as file:
        file.write(b"x" * 5000)
        file.truncate(1 << 40)
        file.seek(1 << 30)
        file.write(b"y")
    assert 5001 <= bytes_on_disk(path) <= 1 << 20
    path.write_bytes(b"x" * 7)
    assert bytes_on_disk(path) == 7
    path.write_bytes(b"")
    assert bytes_on_disk(path) == 0


@pytest.mark.parametrize(
    ("library", "message"),
    [
        ("no_such_library>=2", r"that needs no_such_library: `pip install 'no_such_library>=2'`"),
        ("numpy>=99.1", r"that needs numpy>=99\.1, and numpy is \d.*`pip install 'numpy>=99\.1'`"),
    ],
)
def test_a_library_that_is_missing_or_too_old_is_named(read, library, message):
    with pytest.raises(ValueError, match=message):
        read("good", library=library, text="")
