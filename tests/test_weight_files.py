import h5py
import numpy as np
import pytest

from aiayn_keras.weight_files import check_weight_file


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
        (virtual_array, "layers/other: no array that is in this file"),
        (external_array, "layers/other: no array that is in this file"),
        (objects, "layers/other: no numbers"),
        (circle, "too deep"),
        (bomb, "asks for 4,000,000,000,048 bytes"),
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
