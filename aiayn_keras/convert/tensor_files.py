"""Tensors by their names, from the files in which models are shared.

The files are read in a child process with limits (`common.child_process`), so none of them can run
anything, crash the caller or take its memory.
"""

import pickle
import re
from pathlib import Path, PurePosixPath
from typing import Annotated

import pydantic

from aiayn_keras.common.child_process import read_in_child
from aiayn_keras_light.checks import parse
from aiayn_keras_light.files import check_regular_file, read_bytes

READERS = Path(__file__).with_name("child_readers.py")

_ZIP, _PICKLE = b"PK\3\4", b"\x80\2"
"""First bytes of the two formats of `torch.save`, whose pickles have protocol 2."""

_LEGACY_START = pickle.dumps(0x1950A86A20F9469CFC6C, 2)
"""First bytes of files that `torch.save` wrote before PyTorch 1.6: a magic number."""

_TORCH = "torch>=2.10"
"""What reads the older format safely; earlier versions have known security holes."""

SHARD_INDEX = "model.safetensors.index.json"
MAX_INDEX_BYTES = 1 << 24
_MAX_SHARDS = 1 << 10

INDEX = ".index"
STATE = "checkpoint"
"""File in a folder of TensorFlow checkpoints that names the newest."""

_MAX_STATE_BYTES = 1 << 20


def read_tensors(path):
    """Reads all tensors of a file: safetensors, an index of its shards, or from `torch.save`.

    The format is known by the file's first bytes. Nothing in the file is run; numbers of every
    format become float32.

    Args:
        path: The file, such as `model.safetensors`, `model.safetensors.index.json` or
            `pytorch_model.bin`.

    Returns:
        Dictionary from names to float32 arrays.

    Raises:
        OSError: If the file is missing or not a regular file.
        ValueError: If it is damaged, or holds anything but tensors; one line with the file's name
            and, as far as it is known, the tensor's.
    """
    path = Path(path)
    if path.name == SHARD_INDEX:
        return _read_shards(path)
    start = _first_bytes(path)
    if start.startswith((_ZIP, _PICKLE)):
        return _read_torch("read_tensors", path, start)[1]
    if start[8:9] == b"{":
        return read_in_child(READERS, "read_safetensors", path)[1]
    raise ValueError(f"{path} is not a file of tensors: neither safetensors nor from `torch.save`.")


def read_fairseq_file(path, fields):
    """Reads a checkpoint of fairseq.

    Args:
        path: The file, such as `model.pt`.
        fields: List of the names of wanted settings.

    Returns:
        Dictionary of the wanted settings that the file has, and dictionary of float32 arrays.

    Raises:
        OSError: If the file is missing or not a regular file.
        ValueError: If it is damaged, or is not a checkpoint of fairseq; with its name.
    """
    start = _first_bytes(path)
    if not start.startswith((_ZIP, _PICKLE)):
        raise ValueError(f"{path} is not a file from `torch.save`.")
    return _read_torch("read_fairseq", path, start, fields=list(fields))


def shards_of(path):
    """Reads an index of shards.

    Args:
        path: The file `model.safetensors.index.json`.

    Returns:
        Dictionary from the names of tensors to the names of files in the same folder.

    Raises:
        OSError: If the file is missing or not a regular file.
        ValueError: If it is damaged, or names a file outside its folder.
    """
    path = Path(path)
    remedy = "It is not an index of shards."
    weight_map = parse(_ShardIndex, read_bytes(path, MAX_INDEX_BYTES), path, remedy).weight_map
    files = set(weight_map.values())
    for name in files:
        if PurePosixPath(name).name != name or "\\" in name or not name.endswith(".safetensors"):
            raise ValueError(
                f"{path}: the shard {name!r:.100} is not a safetensors file in the same folder."
            )
    if not 1 <= len(files) <= _MAX_SHARDS:
        raise ValueError(f"{path} names {len(files):,} shards, expected 1 to {_MAX_SHARDS:,}.")
    return weight_map


def find_checkpoint(path):
    """Finds a TensorFlow checkpoint's prefix, with which the names of its files begin.

    Args:
        path: The prefix, such as `run/ckpt-5000`; its file `*.index`; or a folder, whose newest
            checkpoint is meant.

    Returns:
        A `pathlib.Path`.

    Raises:
        OSError: If there is none, or the newest is missing.
        ValueError: If a folder has several and does not say which is the newest.
    """
    path = Path(path)
    if not path.is_dir():
        prefix = path.with_name(path.name.removesuffix(INDEX))
        check_regular_file(_index_of(prefix))
        return prefix
    names = sorted(file.name.removesuffix(INDEX) for file in path.glob(f"*{INDEX}"))
    if not names:
        raise FileNotFoundError(
            f"{path} has no checkpoint of TensorFlow: it has no file whose name ends in {INDEX}."
        )
    if len(names) == 1:
        return path / names[0]
    newest = _newest(path / STATE)
    if newest is None:
        raise ValueError(
            f"{path} has several checkpoints, and no file `{STATE}` says which is the newest: name "
            f"one, such as {path / names[-1]}."
        )
    if newest not in names:
        raise FileNotFoundError(
            f"{path / newest}{INDEX} is missing, which {path / STATE} calls the newest: copy it, "
            f"or name another one, such as {path / names[-1]}."
        )
    return path / newest


def read_checkpoint(prefix, pattern):
    """Reads variables of a TensorFlow checkpoint, without those of the optimizer.

    Args:
        prefix: As `find_checkpoint` returns it.
        pattern: Regular expression that the names of the wanted variables match.

    Returns:
        List of the names of all variables, and a dictionary from the names of wanted ones to
        float32 arrays.

    Raises:
        OSError: If a file is missing.
        ValueError: If the checkpoint is damaged, or a wanted variable does not hold floating-point
            numbers; with the file and the variable.
    """
    files = [_index_of(prefix), *sorted(prefix.parent.glob(f"{_escaped(prefix.name)}.data-*-of-*"))]
    if len(files) == 1:
        raise FileNotFoundError(f"There is no file {prefix}.data-*: copy it to {prefix.parent}.")
    for file in files:
        check_regular_file(file)
    return read_in_child(
        READERS, "read_checkpoint", prefix, files, library="tensorflow>=2.16", pattern=pattern
    )


class _ShardIndex(pydantic.BaseModel, strict=True):
    weight_map: dict[str, Annotated[str, pydantic.Field(max_length=255)]]


def _read_shards(path):
    weight_map, arrays = shards_of(path), {}
    for shard in sorted(set(weight_map.values())):
        file = path.with_name(shard)
        if not file.exists():
            raise FileNotFoundError(f"{file} is missing, which {path} names: copy it.")
        found = read_tensors(file)
        wanted = {name for name, place in weight_map.items() if place == shard}
        for names, message in ((wanted - found.keys(), "lacks"), (found.keys() - wanted, "adds")):
            if names:
                raise ValueError(
                    f"{file} {message} the tensor `{min(names):.200}`, contrary to {path.name}: "
                    "copy both again."
                )
        arrays |= found
    return arrays


def _read_torch(function, path, start, **arguments):
    is_pickle = start.startswith(_PICKLE)
    if is_pickle and start != _LEGACY_START:
        raise ValueError(f"{path} cannot be read: it is a pickle, but not from `torch.save`.")
    library = _TORCH if is_pickle else None
    return read_in_child(READERS, function, path, library=library, **arguments)


def _first_bytes(path):
    check_regular_file(path)
    with Path(path).open("rb") as file:
        return file.read(len(_LEGACY_START))


def _newest(path):
    """Name of the checkpoint that a file `checkpoint` calls the newest, or None."""
    if not path.is_file():
        return None
    content = read_bytes(path, _MAX_STATE_BYTES).decode("utf-8", errors="replace")
    match = re.search(r'^model_checkpoint_path: "(.*)"', content, re.MULTILINE)
    return Path(match[1]).name or None if match else None


def _index_of(prefix):
    return prefix.with_name(prefix.name + INDEX)


def _escaped(name):
    return re.sub(r"([*?[])", r"[\1]", name)
