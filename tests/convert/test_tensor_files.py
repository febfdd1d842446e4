"""Files of tensors, read without PyTorch and without running anything."""

import collections

import numpy as np
import pytest

from aiayn_keras.convert.tensor_files import read_tensors
from tests.helpers import assert_close

torch = pytest.importorskip("torch")
safetensors_torch = pytest.importorskip("safetensors.torch")

FORMATS = ("float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8")


@pytest.fixture
def tensors():
    """Tensors of every format, and views of other tensors."""
    generator = torch.Generator().manual_seed(1)
    table = torch.randn(7, 5, generator=generator)
    tensors = {name: (table * 20).to(getattr(torch, name)) for name in FORMATS}
    tensors["uint8"] = torch.arange(12, dtype=torch.uint8).reshape(3, 4)
    tensors["bool"] = table > 0
    tensors["number"] = torch.tensor(3.5)
    tensors["nothing"] = torch.zeros(0, 4)
    return tensors


def assert_same(arrays, tensors):
    assert list(arrays) == list(tensors)
    for name, tensor in tensors.items():
        assert arrays[name].dtype == np.float32
        assert_close(arrays[name], tensor.detach().float().numpy(), rtol=0, atol=0)


def test_safetensors_are_read(tensors, tmp_path):
    safetensors_torch.save_file(tensors, tmp_path / "model.safetensors", {"format": "pt"})
    arrays = read_tensors(tmp_path / "model.safetensors")
    assert_same({name: arrays[name] for name in tensors}, tensors)


@pytest.mark.parametrize("is_zip", [True, False])
def test_files_of_torch_are_read(tensors, is_zip, tmp_path):
    table = tensors["float32"]
    tensors["transposed"] = table.T
    tensors["rows"] = table[2:5]
    tensors["column"] = table[:, 3]
    tensors["steps"] = table[::3, ::2]
    tensors["tied"] = table
    tensors["parameter"] = torch.nn.Parameter(table * 2)
    path = tmp_path / "pytorch_model.bin"
    torch.save(tensors, path, _use_new_zipfile_serialization=is_zip)
    assert_same(read_tensors(path), tensors)


@pytest.mark.parametrize("is_zip", [True, False])
def test_the_weights_of_a_module_are_read(is_zip, tmp_path):
    weights = torch.nn.Linear(3, 5).state_dict()
    assert isinstance(weights, collections.OrderedDict)
    torch.save(weights, tmp_path / "a.pt", _use_new_zipfile_serialization=is_zip)
    assert_same(read_tensors(tmp_path / "a.pt"), weights)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_every_protocol_of_pickle_is_read(tensors, protocol, tmp_path):
    torch.save(tensors, tmp_path / "a.pt", pickle_protocol=protocol)
    assert_same(read_tensors(tmp_path / "a.pt"), tensors)


@pytest.mark.parametrize("content", [b"", b"P", b"PK", b"GGUF" * 9, b"\x80\x03}.", b"{" * 4])
def test_another_file_is_refused(content, tmp_path):
    path = tmp_path / "model.bin"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"model\.bin is no file of tensors"):
        read_tensors(path)


def test_what_is_no_tensor_is_refused_by_name(tmp_path):
    torch.save({"a": torch.zeros(2), "step": 7}, tmp_path / "model.bin")
    with pytest.raises(ValueError, match=r"model\.bin cannot be read: its entry `step` is no"):
        read_tensors(tmp_path / "model.bin")


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no file"):
        read_tensors(tmp_path / "none")
    with pytest.raises(OSError, match="no regular file"):
        read_tensors(tmp_path)
