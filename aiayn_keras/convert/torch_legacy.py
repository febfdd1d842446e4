"""The files that `torch.save` wrote before PyTorch 1.6: five pickles, then the storages."""

import contextlib
import io

from aiayn_keras.convert.inert_pickle import read_pickle
from aiayn_keras.convert.torch_tensors import make_storage, make_tensor

MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001
MAX_PICKLE_BYTES = 1 << 26
COUNT_BYTES = 8


@contextlib.contextmanager
def open_torch_legacy(path):
    """Opens such a file; yields what `open_torch_zip` yields.

    Raises:
        ValueError: If it is damaged, or is no such file.
    """
    with open(path, "rb") as file:
        pickles = io.BytesIO(file.read(MAX_PICKLE_BYTES))
        if read_pickle(pickles) != MAGIC_NUMBER:
            raise ValueError("it is a pickle, but not from `torch.save`")
        version, system = read_pickle(pickles), read_pickle(pickles)
        if version != PROTOCOL_VERSION or not isinstance(system, dict):
            found = version if isinstance(version, int) else type(version).__name__
            raise ValueError(f"its version is {found}, not {PROTOCOL_VERSION}")
        if system.get("little_endian") is not True:
            raise ValueError("its numbers are big-endian, which is not read")
        storages = {}
        content = read_pickle(
            pickles, make=make_tensor, load=lambda identifier: _note(identifier, storages)
        )
        keys = read_pickle(pickles)
        places = _places(file, pickles.tell(), keys, storages)
        yield content, lambda storage: _read_storage(file, places, storage)


def _note(identifier, storages):
    """Makes a storage and keeps it by its key, to know later how long it is in the file."""
    storage = make_storage(identifier)
    if storages.setdefault(storage.key, storage) != storage:
        raise ValueError(f"the storage {storage.key:.60} is described in two ways")
    return storage


def _places(file, start, keys, storages):
    """Positions in the file that the storages begin at, by their keys."""
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        raise ValueError("its list of storages is no list of names")
    if len(set(keys)) != len(keys) or set(keys) != storages.keys():
        raise ValueError("its list of storages is not that of its tensors")
    end = file.seek(0, io.SEEK_END)
    places = {}
    for key in keys:
        file.seek(start)
        count = int.from_bytes(file.read(COUNT_BYTES), "little")
        if count != storages[key].count:
            raise ValueError(f"the storage {key:.60} has {count:,} numbers, not as its tensors say")
        places[key] = start + COUNT_BYTES
        start = places[key] + storages[key].num_bytes
        if start > end:
            raise ValueError(f"the storage {key:.60} ends behind the end of the file")
    return places


def _read_storage(file, places, storage):
    file.seek(places[storage.key])
    return file.read(storage.num_bytes)
