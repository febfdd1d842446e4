import h5py
import numpy as np
import pytest

from aiayn_keras.common.weight_files import check_weight_file, halve_weight_file


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


def test_a_weight_beyond_float16_is_refused(path):
    with h5py.File(path, "r+") as file:
        file["layers/dense/vars/0"][1, 1] = 1e5
    with pytest.raises(ValueError, match=r"layers/dense/vars/0 are not all within ±65,504"):
        halve_weight_file(path)
