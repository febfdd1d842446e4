"""Readers of foreign files: functions that run in the child process of `common.child_process`.

They import nothing of this package. Each returns plain data and a dictionary from names to pairs of
a shape and a function that returns the array, and raises a `ValueError` without the file's name.
"""

import contextlib
import functools
import io
import math
import pickle
import re
import stat
import zipfile
from pathlib import PurePosixPath
from typing import NamedTuple

import ml_dtypes  # comes with Keras
import numpy as np

_SAFETENSORS_FORMATS = "F64", "F32", "F16", "BF16", "I64", "I32", "I16", "I8", "U8", "BOOL"
_BYTE_FORMATS = _SAFETENSORS_FORMATS[-3:]

_STORAGES = {
    "DoubleStorage": np.float64,
    "FloatStorage": np.float32,
    "HalfStorage": np.float16,
    "BFloat16Storage": ml_dtypes.bfloat16,
    "LongStorage": np.int64,
    "IntStorage": np.int32,
    "ShortStorage": np.int16,
    "CharStorage": np.int8,
    "ByteStorage": np.uint8,
    "BoolStorage": np.bool_,
}
"""PyTorch's names of storages, and the numbers in them."""

_REBUILDS = "torch._utils._rebuild_tensor_v2", "torch._utils._rebuild_tensor"
_REBUILDS_PARAMETER = (
    "torch._utils._rebuild_parameter",
    "torch._utils._rebuild_parameter_with_state",
)
"""Functions that pickles call to make tensors."""

_DICTIONARIES = "collections.OrderedDict", "collections.defaultdict", "builtins.dict"
DAMAGED = "it is damaged, or was not written by `torch.save`"

_SAVE_WEIGHTS = "save only the model's own `state_dict()`"
_LEGACY_VERSION = 1001
MAX_AXES = 8
_MAX_PICKLE_BYTES = 1 << 26
_MAX_BYTE_NUMBERS = 1 << 26
"""Maximum number of one-byte numbers in a file; as float32, each takes four bytes."""
_ARCHIVE_END_BYTES = 22


def read_tensors(path):
    """Reads a file of `torch.save` that holds a dictionary of tensors."""
    content, load = _read_torch(path)
    return None, _tensors_of(content, load)


def read_fairseq(path, fields):
    """Reads a checkpoint of fairseq; the plain data are the settings that `fields` names."""
    content, load = _read_torch(path)
    if not isinstance(content, dict) or "model" not in content:
        raise ValueError("it has no `model`: it is not a checkpoint of fairseq")
    settings = _attributes(content.get("args"))
    if settings is None:  # newer versions
        settings = _attributes((_attributes(content.get("cfg")) or {}).get("model"))
    if settings is None:
        raise ValueError("it has neither `args` nor `cfg`: it is not a checkpoint of fairseq")
    plain = {name: _plain(settings[name]) for name in fields if name in settings}
    return plain, _tensors_of(content["model"], load)


def read_safetensors(path):
    """Reads a file of the format safetensors."""
    import safetensors

    with _refusing("it is not a safetensors file, or is damaged"):
        file = safetensors.safe_open(path, "numpy")
        slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
    arrays, count_bytes = {}, _byte_counter()
    for name, part in slices.items():
        shape = part.get_shape()
        if part.get_dtype() not in _SAFETENSORS_FORMATS or len(shape) > MAX_AXES:
            raise ValueError(
                f"the tensor `{name:.100}` has the format {part.get_dtype()} and the shape {shape}"
            )
        if part.get_dtype() in _BYTE_FORMATS:
            count_bytes(math.prod(shape))
        arrays[name] = shape, lambda name=name: file.get_tensor(name)
    return None, arrays


def _byte_counter():
    """Makes a function that counts one-byte numbers, and raises a `ValueError` for too many."""
    total = 0

    def count(size):
        nonlocal total
        total += size
        if total > _MAX_BYTE_NUMBERS:
            raise ValueError(
                f"it has more than {_MAX_BYTE_NUMBERS:,} booleans or numbers of 8 bits, which are "
                "not a model's weights"
            )

    return count


def read_checkpoint(path, pattern):
    """Reads a checkpoint of TensorFlow; the plain data are the names of all variables.

    The arrays are those of variables whose names match the regular expression `pattern`. A variable
    whose name begins with that of another one belongs to the optimizer and is left out.
    """
    import tensorflow as tf

    with _refusing("it is not a checkpoint, or is damaged"):
        reader = tf.train.load_checkpoint(path)
        shapes, formats = reader.get_variable_to_shape_map(), reader.get_variable_to_dtype_map()
    arrays = {}
    for name in sorted(shapes):
        if re.fullmatch(pattern, name) and name.rpartition("/")[0] not in shapes:
            if not formats[name].is_floating:
                raise ValueError(f"`{name:.200}` holds no floating-point numbers")
            arrays[name] = shapes[name], lambda name=name: _tensor_of(reader, name)
    return sorted(filter(None, shapes)), arrays  # TensorFlow's names include the header's, ""


def _tensor_of(reader, name):
    with _refusing(f"`{name:.200}` is damaged"):
        return np.asarray(reader.get_tensor(name))


@contextlib.contextmanager
def _refusing(reason):
    """Turns any exception of a library into a `ValueError`; libraries raise many kinds."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        raise ValueError(f"{reason}: {str(error)[:200]}") from error


# === Files of torch.save ===
class _StandIn:
    """Stands for an object that a pickle describes and that is never made; subclassed by name."""

    name = ""

    def __new__(cls, *args, **kwargs):
        self = object.__new__(cls)
        self.args, self.state = args, None
        return self

    def __init__(self, *args, **kwargs):
        pass

    def __setstate__(self, state):
        self.state = state

    def _ignore(self, *args):
        pass

    append = extend = add = __setitem__ = _ignore


class _Dictionary(dict):
    """Stands for dictionaries of other classes; their attributes are dropped."""

    def __init__(self, *args, **kwargs):
        pass

    def __setstate__(self, state):
        pass


class _Storage(NamedTuple):
    """Numbers of a file, side by side."""

    key: str
    dtype: np.dtype
    count: int


class _InertUnpickler(pickle.Unpickler):
    """Reads a pickle without importing or calling anything that it names."""

    def __init__(self, file):
        super().__init__(file, encoding="latin-1")
        self.classes, self.storages = {}, set()

    def find_class(self, module, name):
        name = f"{module}.{name}"
        if name in _DICTIONARIES:
            return _Dictionary
        return self.classes.setdefault(name, _stand_in(name))

    def persistent_load(self, pid):
        if not isinstance(pid, tuple) or len(pid) < 5 or pid[0] != "storage" or any(pid[5:]):
            raise ValueError("it refers to something that is not a whole storage")
        _, kind, key, _, count = pid[:5]
        name = getattr(kind, "name", "") if isinstance(kind, type) else ""
        dtype = _STORAGES.get(name.removeprefix("torch.").removeprefix("storage."))
        if dtype is None or not isinstance(key, str) or not _are_counts((count,)):
            raise ValueError(f"it has a storage of an unknown type, {name:.60}")
        self.storages.add(key)
        return _Storage(key, np.dtype(dtype), count)


def _stand_in(name):
    return type("StandIn", (_StandIn,), {"name": name})


def _read_torch(path):
    """Reads an object; returns it, and a function that gives a tensor's shape and its reader."""
    with open(path, "rb") as file:
        is_archive = file.read(2) == b"PK"
    return _read_torch_zip(path) if is_archive else _read_torch_legacy(path)


def _read_torch_zip(path):
    _check_end(path)
    with _refusing(DAMAGED):
        archive = zipfile.ZipFile(path)
    root = _root_of(archive)
    pickled = _read_member(archive, f"{root}/data.pkl", _MAX_PICKLE_BYTES)
    with _refusing(DAMAGED):
        content = _InertUnpickler(io.BytesIO(pickled)).load()

    @functools.lru_cache(1)
    def numbers_of(storage):
        name, size = f"{root}/data/{storage.key}", storage.count * storage.dtype.itemsize
        data = _read_member(archive, name, size)
        if len(data) != size:
            raise ValueError(f"the storage {name:.100} has {len(data):,} bytes, expected {size:,}")
        return np.frombuffer(data, storage.dtype)

    count_bytes = _byte_counter()
    return content, lambda value: _view(value, numbers_of, count_bytes)


def _check_end(path):
    with open(path, "rb") as file:
        file.seek(-min(_ARCHIVE_END_BYTES, file.seek(0, io.SEEK_END)), io.SEEK_END)
        if file.read(4) != b"PK\5\6":
            raise ValueError("its archive is cut off, or something follows its end")


def _root_of(archive):
    """Name of the folder that all files of an archive are in."""
    names = archive.namelist()
    if len(names) > len(archive.NameToInfo):
        raise ValueError("two files in it have the same name")
    for member in archive.infolist():
        name = member.filename
        if name.startswith("/") or "\\" in name or ".." in PurePosixPath(name).parts:
            raise ValueError(f"the file {name!r:.100} is outside its archive")
        if stat.S_ISLNK(member.external_attr >> 16):
            raise ValueError(f"the file {name!r:.100} in it is a link")
        if member.compress_type != zipfile.ZIP_STORED:
            raise ValueError(f"the file {name!r:.100} in it is compressed")
    roots = [name.split("/")[0] for name in names if name.count("/") == 1]
    found = {root for root in roots if f"{root}/data.pkl" in names}
    if len(found) != 1:
        raise ValueError("it has no `data.pkl`: it is not from `torch.save`")
    root = found.pop()
    if f"{root}/constants.pkl" in names:
        raise ValueError("it is a program of TorchScript, not a file of tensors")
    order = f"{root}/byteorder"
    if order in names and _read_member(archive, order, 10) != b"little":
        raise ValueError("its numbers are big-endian, which cannot be read")
    return root


def _read_member(archive, name, max_bytes):
    if name not in archive.NameToInfo:
        raise ValueError(f"the file {name:.100} in it is missing")
    if archive.getinfo(name).file_size > max_bytes:
        raise ValueError(f"the file {name:.100} in it has more than {max_bytes:,} bytes")
    with _refusing(DAMAGED):
        return archive.read(name)


def _read_torch_legacy(path):
    """Reads the format from before PyTorch 1.6 with PyTorch's own reader, restricted to tensors."""
    import torch

    with _refusing(DAMAGED):
        stand_ins = [(_stand_in(name), name) for name in _names_in_legacy(path)]
    try:
        with torch.serialization.safe_globals(stand_ins):
            content = torch.load(path, map_location="cpu", weights_only=True)
    except MemoryError:
        raise
    except Exception as error:  # its text advises to switch the safety off
        raise ValueError(f"PyTorch refuses it: {DAMAGED}") from error

    def view(value):
        if not isinstance(value, torch.Tensor) or value.layout != torch.strided or value.is_meta:
            return None
        return tuple(value.shape), lambda: value.detach().resolve_neg().float().numpy()

    return content, view


def _names_in_legacy(path):
    """Names of classes in a file that are neither PyTorch's nor dictionaries.

    Checks what PyTorch does not: the byte order, and that no tensor lacks numbers.
    """
    with open(path, "rb") as file:
        _, version, system = (_InertUnpickler(file).load() for _ in range(3))
        if version != _LEGACY_VERSION or system.get("little_endian") is not True:
            raise ValueError("its version is unknown, or its numbers are big-endian")
        unpickler = _InertUnpickler(file)
        unpickler.load()
        if sorted(_InertUnpickler(file).load()) != sorted(unpickler.storages):
            raise ValueError("its list of storages is not that of its tensors")
    return [name for name in unpickler.classes if not name.startswith("torch.")]


def _view(value, numbers_of, count_bytes):
    """The shape of a tensor that a pickle describes, and a function that reads it; or None."""
    if getattr(value, "name", None) in _REBUILDS_PARAMETER and getattr(value, "args", None):
        value = value.args[0]
    if not isinstance(value, _StandIn) or value.name not in _REBUILDS or len(value.args) < 4:
        return None
    storage, offset, shape, strides = value.args[:4]
    if any(value.args[6:]):
        raise ValueError(
            "a tensor is a view that changes its numbers: save it with `tensor.resolve_neg()`"
        )
    if not isinstance(storage, _Storage) or not _are_counts((offset,), shape, strides):
        raise ValueError("a tensor is described in an unknown way")
    if not len(shape) == len(strides) <= MAX_AXES:
        raise ValueError(f"a tensor has {len(shape)} axes and {len(strides)} strides")
    size = math.prod(shape)
    end = offset + (sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) + 1) * bool(size)
    if max(size, end) > storage.count:
        raise ValueError(
            f"a tensor of the shape {shape} at {offset:,} is not within its storage of "
            f"{storage.count:,} numbers"
        )

    if storage.dtype.itemsize == 1:
        count_bytes(size)

    def read():
        numbers = numbers_of(storage)[offset:end]
        steps = [numbers.itemsize * stride for stride in strides]
        return np.lib.stride_tricks.as_strided(numbers, shape, steps, writeable=False)

    return shape, read


def _are_counts(*groups):
    return all(
        isinstance(group, tuple) and all(type(n) is int and 0 <= n < 1 << 62 for n in group)
        for group in groups
    )


def _tensors_of(content, view):
    """Pairs of shape and function for a dictionary that holds only tensors."""
    if not isinstance(content, dict) or not content:
        raise ValueError(f"it does not hold a dictionary of tensors: {_SAVE_WEIGHTS}")
    arrays = {}
    for name, value in content.items():
        found = view(value) if isinstance(name, str) else None
        if found is None:
            name = name if isinstance(name, str) else type(name).__name__
            raise ValueError(f"its entry `{name:.100}` is not a tensor of numbers: {_SAVE_WEIGHTS}")
        arrays[name] = found
    return arrays


def _attributes(value):
    """A dictionary, or the attributes of an `argparse.Namespace`; None for anything else."""
    if isinstance(value, _StandIn) and value.name == "argparse.Namespace":
        value = value.state
    return value if isinstance(value, dict) else None


def _plain(value):
    is_plain = value is None or isinstance(value, str | int | float)
    return value if is_plain else f"an object of the type {type(value).__name__}"
