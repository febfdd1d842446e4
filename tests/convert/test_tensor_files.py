"""Files of tensors: PyTorch's numbers are read, and nothing is run."""

import collections
import json

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
def test_a_view_with_another_sign_never_comes_in_with_the_wrong_one(is_zip, tmp_path):
    negated = torch._neg_view(torch.arange(3.0))
    path = tmp_path / "pytorch_model.bin"
    torch.save({"a": negated}, path, _use_new_zipfile_serialization=is_zip)
    if is_zip:
        with pytest.raises(ValueError, match=r"pytorch_model.bin .*resolve_neg"):
            read_tensors(path)
    else:
        assert_close(read_tensors(path)["a"], [0.0, -1.0, -2.0], rtol=0, atol=0)


@pytest.mark.parametrize("is_zip", [True, False])
def test_the_weights_of_a_module_are_read(is_zip, tmp_path):
    weights = torch.nn.Linear(3, 5).state_dict()
    assert isinstance(weights, collections.OrderedDict)
    torch.save(weights, tmp_path / "a.pt", _use_new_zipfile_serialization=is_zip)
    assert_same(read_tensors(tmp_path / "a.pt"), weights)


@pytest.mark.parametrize("name", ["model.safetensors", "pytorch_model.bin"])
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8"])
def test_many_numbers_of_one_byte_are_refused(name, dtype, tmp_path):
    path = tmp_path / name
    tensors = {part: torch.zeros(2**25 + 1, dtype=getattr(torch, dtype)) for part in "ab"}
    save = safetensors_torch.save_file if name == "model.safetensors" else torch.save
    save(tensors, path)
    with pytest.raises(ValueError, match=f"{name} cannot be read: it has more than 67,108,864 boo"):
        read_tensors(path)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_every_protocol_of_pickle_is_read(tensors, protocol, tmp_path):
    torch.save(tensors, tmp_path / "a.pt", pickle_protocol=protocol)
    assert_same(read_tensors(tmp_path / "a.pt"), tensors)


@pytest.mark.parametrize("content", [b"", b"P", b"PK", b"GGUF" * 9, b"\x80\x03}.", b"{" * 4])
def test_a_file_of_a_different_format_is_refused(content, tmp_path):
    path = tmp_path / "model.bin"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"model\.bin is not a file of tensors"):
        read_tensors(path)


def test_an_entry_that_is_not_a_tensor_is_refused_by_name(tmp_path):
    torch.save({"a": torch.zeros(2), "step": 7}, tmp_path / "model.bin")
    with pytest.raises(
        ValueError,
        match=r"model\.bin cannot be read: its entry `step` is not a tensor.*own `state_dict\(\)`",
    ):
        read_tensors(tmp_path / "model.bin")


@pytest.mark.parametrize("is_zip", [True, False])
@pytest.mark.parametrize("kind", ["sparse", "meta"])
def test_a_tensor_without_its_numbers_side_by_side_is_refused_by_name(kind, is_zip, tmp_path):
    tensor = torch.zeros(2, 3)
    tensor = tensor.to_sparse() if kind == "sparse" else tensor.to("meta")
    path = tmp_path / "model.bin"
    torch.save({"a": tensor}, path, _use_new_zipfile_serialization=is_zip)
    with pytest.raises(ValueError, match=r"model\.bin cannot be read: its entry `a` is not a tens"):
        read_tensors(path)


# === Shards ===
@pytest.fixture
def shards(tensors, tmp_path):
    """Writes two shards; gives a function that writes their index with changes."""
    names = list(tensors)
    weight_map = {
        name: f"model-0000{1 + i % 2}-of-00002.safetensors" for i, name in enumerate(names)
    }
    for shard in set(weight_map.values()):
        part = {name: tensors[name] for name in names if weight_map[name] == shard}
        safetensors_torch.save_file(part, tmp_path / shard)
    path = tmp_path / "model.safetensors.index.json"

    def write(**changes):
        merged = {name: place for name, place in (weight_map | changes).items() if place}
        path.write_text(json.dumps({"metadata": {"total_size": 9}, "weight_map": merged}))
        return path

    return write


def test_shards_are_read_together(shards, tensors):
    arrays = read_tensors(shards())
    assert_same({name: arrays[name] for name in tensors}, tensors)
    assert len(arrays) == len(tensors)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"more": "model-00001-of-00002.safetensors"}, "00001-of.* lacks the tensor `more`"),
        ({"float64": None}, "00001-of.* adds the tensor `float64`"),
        ({"float64": "../model-00001-of-00002.safetensors"}, "the shard '../model.* same folder"),
        ({"float64": "/etc/passwd"}, "the shard '/etc/passwd' is not a safetensors file"),
        ({"float64": "a\\model.safetensors"}, "is not a safetensors file in the same folder"),
        ({"float64": "model.bin"}, "the shard 'model.bin' is not a safetensors file"),
        ({"float64": 3}, "field `weight_map.float64`"),
        ({f"t{i}": f"{i}.safetensors" for i in range(1025)}, "1,027 shards, expected 1 to 1,024"),
    ],
)
def test_an_index_that_lies_is_refused_by_name(shards, changes, message):
    with pytest.raises(ValueError, match=rf"model.*{message}"):
        read_tensors(shards(**changes))


def test_a_missing_shard_is_named(shards, tmp_path):
    path = shards()
    (tmp_path / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(
        FileNotFoundError, match=r"00002-of-00002\.safetensors is missing, which .*"
    ):
        read_tensors(path)


def test_a_damaged_shard_is_named(shards, tmp_path):
    path, shard = shards(), tmp_path / "model-00002-of-00002.safetensors"
    shard.write_bytes(shard.read_bytes()[:-1])
    with pytest.raises(
        ValueError, match=r"00002-of-00002\.safetensors cannot be read: it is not a"
    ):
        read_tensors(path)


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no file"):
        read_tensors(tmp_path / "none")
    with pytest.raises(OSError, match="regular file"):
        read_tensors(tmp_path)
