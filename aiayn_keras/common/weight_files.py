"""HDF5 files of weights: room for them, no tricks in them, and half the bytes if asked for."""

import math
from pathlib import Path

import h5py
import numpy as np

from aiayn_keras.common.files import check_regular_file, check_room

NUMBER_FORMATS = ("float32", "float16")
"""How the matrices of a float32 model may be kept in files."""

BYTES_PER_NUMBER = 4
BYTES_PER_VARIABLE = 4096
"""Bytes that HDF5 adds to a variable, at most."""

MAX_OBJECTS, MAX_DEPTH = 100_000, 30
"""Bounds on the groups and arrays of a file, and on how deep they lie in each other."""

MAX_EXPANSION = 64
"""Bound on the bytes of a file's arrays over the bytes of the file, which may be compressed."""


def check_room_for(variables, folder):
    """Raises an `OSError` if there is no room in a folder for a file of variables."""
    sizes = (BYTES_PER_NUMBER * math.prod(v.shape) + BYTES_PER_VARIABLE for v in variables)
    check_room(folder, BYTES_PER_VARIABLE + sum(sizes))


def check_weight_file(path):
    """Checks that an HDF5 file holds nothing but its own arrays of numbers.

    Links to other files and virtual arrays would read what the file's author chooses, compressed
    arrays may ask for more memory than there is.

    Args:
        path: The file.

    Raises:
        OSError: If there is no such regular file.
        ValueError: If it is no HDF5 file, is damaged, or holds anything else.
    """
    check_regular_file(path)
    try:
        with h5py.File(path) as file:
            num_bytes = sum(_sizes(file, path))
            room = MAX_EXPANSION * file.id.get_filesize() + (1 << 20)
    except (OSError, RuntimeError, KeyError) as error:  # h5py raises them for damaged files
        reason = " ".join(str(error).split())[:200]
        raise ValueError(
            f"{path} is no file of weights, or is damaged: {reason}. Copy it again."
        ) from error
    if num_bytes > room:
        raise ValueError(f"{path} asks for {num_bytes:,} bytes of memory, far more than it has.")


def _sizes(file, path):
    """Yields the number of bytes of every array of a file."""
    groups = [(file, 0)]
    num_objects = 0
    while groups:
        group, depth = groups.pop()
        for name in group:
            num_objects += 1
            if num_objects > MAX_OBJECTS or depth > MAX_DEPTH:
                raise ValueError(f"{path} has too many groups, or groups too deep in each other.")
            where = f"{path}, {group.name.rstrip('/')}/{name}"
            if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                raise ValueError(f"{where}: a link, but a file of weights holds its own arrays.")
            item = group[name]
            if isinstance(item, h5py.Group):
                groups.append((item, depth + 1))
            elif not isinstance(item, h5py.Dataset) or item.is_virtual or item.external:
                raise ValueError(f"{where}: no array that is in this file.")
            elif item.dtype.kind not in "biufV":
                raise ValueError(f"{where}: no numbers, but {item.dtype}.")
            else:
                yield item.size * item.dtype.itemsize


def check_number_format(weights):
    """Raises a `ValueError` unless the argument `weights` is one of `NUMBER_FORMATS`."""
    if weights not in NUMBER_FORMATS:
        raise ValueError(
            f'`weights` must be "float32" or "float16". Received: weights={weights!r:.60}.'
        )


def halve_weight_file(path):
    """Writes the float32 matrices of a file in float16, and leaves the rest as it is.

    Keras makes float32 variables of them when it loads the file.

    Args:
        path: The file.

    Raises:
        ValueError: If a matrix holds a number that float16 has not.
    """
    path = Path(path)
    halved = path.with_name(f"{path.name}.half")
    try:
        with h5py.File(path) as whole, h5py.File(halved, "w") as half:
            _copy(whole, half)
        halved.replace(path)
    finally:
        halved.unlink(missing_ok=True)


def _copy(group, into):
    """Copies a group of an HDF5 file into another, float32 matrices as float16."""
    into.attrs.update(group.attrs)
    for name, item in group.items():
        if isinstance(item, h5py.Group):
            _copy(item, into.create_group(name))
        elif item.ndim >= 2 and item.dtype == "float32":
            into.create_dataset(name, data=as_float16(item.name, item[()]))
        else:
            group.copy(item, into, name)


def as_float16(name, array):
    """Rounds an array to float16.

    Args:
        name: Name of the array, for the error.
        array: Numpy array.

    Raises:
        ValueError: If it holds a number that float16 has not.
    """
    with np.errstate(over="ignore"):
        half = array.astype("float16")
    if not np.isfinite(half).all():
        raise ValueError(
            f"The weights of {name} are not all within ±65,504, the range of float16: write them "
            "in float32."
        )
    return half
