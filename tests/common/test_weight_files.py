import re
import shutil
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

from aiayn_keras.common import weight_files
from aiayn_keras.common.weight_files import check_weight_file, halve_weight_file, new_weight_file


@pytest.fixture
def path(tmp_path):
    with h5py.File(tmp_path / "a.weights.h5", "w") as file:
        file["layers/dense/vars/0"] = np.ones((3, 4), "float32")
    return tmp_path / "a.weights.h5"


def test_arrays_of_numbers_are_taken(path):
    check_weight_file(path)


def external_link(file):
    file["layers/other"] = h5py.ExternalLink("/etc/hostname", "/")


def soft_link(file):
    file["layers/other"] = h5py.SoftLink("/layers/dense")


def virtual_array(file):
    layout = h5py.VirtualLayout((3,), "float32")
    layout[:] = h5py.VirtualSource("/etc/hostname", "x", (3,))
    file.create_virtual_dataset("layers/other", layout)


def external_array(file):
    file.create_dataset("layers/other", (8,), "uint8", external=[("/etc/hostname", 0, 8)])


def objects(file):
    file.create_dataset("layers/other", (2,), h5py.string_dtype())


def circle(file):
    file["layers/dense/again"] = file["layers"]


def bomb(file):
    file.create_dataset("layers/other", (10**6, 10**6), "float32", chunks=True, compression="gzip")


@pytest.mark.parametrize(
    ("add", "message"),
    [
        (external_link, "layers/other: a link"),
        (soft_link, "layers/other: a link"),
        (virtual_array, "layers/other: not an array stored in this file"),
        (external_array, "layers/other: not an array stored in this file"),
        (objects, "layers/other: not numbers"),
        (circle, "too deep"),
        (bomb, "would require 4,000,000,000,048 bytes"),
    ],
)
def test_what_is_no_array_of_numbers_is_refused(path, add, message):
    with h5py.File(path, "r+") as file:
        add(file)
    with pytest.raises(ValueError, match=message):
        check_weight_file(path)


def test_a_file_that_is_cut_short_is_refused(path):
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ValueError, match="is damaged"):
        check_weight_file(path)


def test_halved_matrices_are_rounded_and_all_else_stays(tmp_path):
    path = tmp_path / "a.weights.h5"
    matrix = np.linspace(-3, 3, 12, dtype="float32").reshape(3, 4)
    others = {
        "bias": matrix[0],
        "count": np.arange(6).reshape(2, 3),
        "bytes": matrix.astype("int8"),
    }
    with h5py.File(path, "w") as file:
        file["layers/dense/vars/0"] = matrix
        file["layers/dense"].attrs["name"] = "dense"
        for name, array in others.items():
            file[f"others/{name}"] = array
    halve_weight_file(path)
    with h5py.File(path) as file:
        half = file["layers/dense/vars/0"]
        assert half.dtype == "float16"
        np.testing.assert_array_equal(half, matrix.astype("float16"))
        assert file["layers/dense"].attrs["name"] == "dense"
        for name, array in others.items():
            assert file[f"others/{name}"].dtype == array.dtype
            np.testing.assert_array_equal(file[f"others/{name}"], array)
    assert [file.name for file in tmp_path.iterdir()] == ["a.weights.h5"]


def test_without_room_a_file_is_not_halved_and_stays(path, monkeypatch):
    before = path.read_bytes()
    full = shutil._ntuple_diskusage(10**6, 10**6, 0)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: full)
    with pytest.raises(OSError, match="No space left on device"):
        halve_weight_file(path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_a_new_file_takes_the_place_of_nothing(path, tmp_path):
    (tmp_path / "link.h5").symlink_to("victim")
    for there in (path, tmp_path / "link.h5"):
        with pytest.raises(OSError, match="exist"), new_weight_file(there, 10_000):
            pass
    assert not (tmp_path / "victim").exists()


@pytest.mark.slow
def test_a_full_disk_is_an_error_and_no_crash(path):
    """A limit on the size of files stands for the disk: HDF5 crashes where it cannot write."""
    program = (
        "import resource, signal, sys; from aiayn_keras.common.weight_files import *\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))\n"
        "halve_weight_file(sys.argv[1])"
    )
    with h5py.File(path, "w") as file:
        for number in range(40):
            file[f"layers/{number}/vars/0"] = np.ones((100, 100), "float32")
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True)
    assert done.returncode == 1
    assert "OSError: [Errno 27] File too large" in done.stderr
    assert list(path.parent.iterdir()) == [path]


def test_one_function_writes_hdf5():
    package = Path(weight_files.__file__).parents[1]
    places = {
        path.name
        for path in package.rglob("*.py")
        if re.search(r'h5py\.File\([^)]*"(w|x|a|r\+)-?"', path.read_text("utf-8"))
    }
    assert places == {"weight_files.py"}


def test_a_weight_beyond_float16_is_refused(path):
    with h5py.File(path, "r+") as file:
        file["layers/dense/vars/0"][1, 1] = 1e5
    with pytest.raises(ValueError, match=r"layers/dense/vars/0 are not all within ±65,504"):
        halve_weight_file(path)
