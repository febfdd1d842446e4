"""HDF5 weight files: free space, checks of untrusted files, and conversion to float16."""

import contextlib
import json
import math
import zipfile
from pathlib import Path

import h5py
import keras
import numpy as np

from aiayn_keras_light.files import atomic_path, check_regular_file, check_room

NUMBER_FORMATS = ("float32", "float16")
"""Number formats in which the matrices of a float32 model can be saved."""

_BYTES_PER_NUMBER = 4
_BYTES_PER_VARIABLE = 4096
"""Maximum overhead of HDF5 per variable."""

_MAX_OBJECTS, _MAX_DEPTH = 100_000, 30
"""Limits on the number of groups and arrays in a file, and on the depth of nesting."""

_MAX_EXPANSION = 64
"""Maximum ratio of the size of all arrays to the size of the file, which may be compressed."""


def check_room_for(variables, folder):
    """Raises an `OSError` if there is too little room in a folder for a file of variables."""
    check_room(folder, bytes_of_file(variables))


def bytes_of_file(variables):
    """Returns the maximum size of an HDF5 file of variables or arrays."""
    sizes = (_BYTES_PER_NUMBER * math.prod(v.shape) + _BYTES_PER_VARIABLE for v in variables)
    return _BYTES_PER_VARIABLE + sum(sizes)


@contextlib.contextmanager
def new_weight_file(path, num_bytes):
    """Opens a new HDF5 file for writing, once there is room for it.

    HDF5 crashes the process when the disk gets full, so nothing else writes HDF5.

    Args:
        path: Path of the file. Nothing may exist there yet, not even a broken link.
        num_bytes: Maximum size of the file.

    Yields:
        `h5py.File`.

    Raises:
        OSError: If there is too little room, or the file cannot be written.
    """
    check_room(Path(path).parent, num_bytes)
    with h5py.File(path, "x") as file:
        yield file


def check_weight_file(path):
    """Checks that an HDF5 file contains only its own arrays of numbers.

    Links to other files and virtual arrays could read any file that the author chooses, and
    compressed arrays could require more memory than is available.

    Args:
        path: The file.

    Raises:
        OSError: If the file does not exist or is not a regular file.
        ValueError: If it is not an HDF5 file, is corrupt, or contains anything else.
    """
    check_regular_file(path)
    try:
        with h5py.File(path) as file:
            num_bytes = sum(_sizes(file, path))
            room = _MAX_EXPANSION * file.id.get_filesize() + (1 << 20)
    except (OSError, RuntimeError, KeyError) as error:  # h5py raises them for damaged files
        reason = " ".join(str(error).split())[:200]
        raise ValueError(
            f"{path} is not a weight file, or is damaged: {reason}. Copy it again."
        ) from error
    if num_bytes > room:
        raise ValueError(
            f"{path} would require {num_bytes:,} bytes of memory, far more than its size."
        )


def _sizes(file, path):
    """Yields the size of every array in a file, in bytes."""
    groups = [(file, 0)]
    num_objects = 0
    while groups:
        group, depth = groups.pop()
        for name in group:
            num_objects += 1
            if num_objects > _MAX_OBJECTS or depth > _MAX_DEPTH:
                raise ValueError(f"{path} has too many groups, or groups nested too deeply.")
            where = f"{path}, {group.name.rstrip('/')}/{name}"
            if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                raise ValueError(f"{where}: a link, but a weight file must contain its own arrays.")
            item = group[name]
            if isinstance(item, h5py.Group):
                groups.append((item, depth + 1))
            elif not isinstance(item, h5py.Dataset) or item.is_virtual or item.external:
                raise ValueError(f"{where}: not an array stored in this file.")
            elif item.dtype.kind not in "biufV":
                raise ValueError(f"{where}: not numbers, but {item.dtype}.")
            else:
                yield item.size * item.dtype.itemsize


def check_file_of_model(path):
    """Checks a file that `load_weights` takes.

    Args:
        path: A file of weights; or a model's `.keras` file, or the index `.weights.json` of weights
            in several files, which Keras reads with checks of its own.

    Raises:
        OSError: If the file does not exist or is not a regular file.
        ValueError: See `check_weight_file`.
    """
    if str(path).endswith((".keras", ".weights.json")):
        check_regular_file(path)
    else:
        check_weight_file(path)


def check_depth(path, backbone, is_inner=False):
    """Checks that a weight file is not from a deeper model, whose extra layers Keras would ignore.

    Args:
        path: The file, as Keras writes it, see `check_file_of_model`.
        backbone: The functional model whose numbers are in the file.
        is_inner: Whether the file is that of a model which contains `backbone` as its only
            functional model.

    Raises:
        ValueError: If the file holds the numbers of more layers than the backbone has, or cannot be
            read.
    """
    layers = {}  # of each functional model in the file
    for place in _places_of_arrays(path):
        parts = place.strip("/").split("/")
        outer, parts = (parts[:2], parts[2:]) if is_inner else ([], parts)
        if parts[:1] == ["layers"]:  # layers/NAME/…
            layers.setdefault("/".join(outer), set()).add(parts[1])
    num_stored = len(layers[min(layers)]) if layers else 0
    num_layers = sum(bool(layer.weights) for layer in backbone.layers)
    if num_stored > num_layers:
        raise ValueError(
            f"{path} holds a deeper model (blocks and final normalizations: "
            f"{num_stored - num_layers} more): build this one with the same depth. To make a "
            "trained model shallower, copy its blocks, see docs/change_a_part.md."
        )


def _places_of_arrays(path):
    """Returns the names of a model's arrays, or of the groups that hold them, in its file."""
    places = []

    def note(name, item):
        if isinstance(item, h5py.Dataset):
            places.append(name)

    try:
        if str(path).endswith(".weights.json"):
            return list(json.loads(Path(path).read_text("utf-8"))["weight_map"])
        with contextlib.ExitStack() as stack:
            if str(path).endswith(".keras"):
                archive = stack.enter_context(zipfile.ZipFile(path))
                path = stack.enter_context(archive.open("model.weights.h5"))
            stack.enter_context(h5py.File(path)).visititems(note)
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} holds no weights, or is damaged: {error}.") from error
    return places


@contextlib.contextmanager
def keeping_adapters_alive(model):
    """A context in which a file of weights is loaded, after which LoRA adapters can still learn.

    A file has adapters merged into the matrices beside them. Keras then sets both factors of an
    adapter to 0, where neither has a gradient. Here, the first keeps its values.

    Args:
        model: A `keras.Model`.
    """
    factors = [v for v in model.variables if v.name in ("lora_kernel_a", "lora_embeddings_a")]
    values = list(map(keras.ops.convert_to_numpy, factors))
    yield
    for factor, value in zip(factors, values, strict=True):
        factor.assign(value)


def first_not_finite(variables):
    """Returns the first Keras variable that holds a number that is not finite, or None."""
    for variable in variables:
        if not np.isfinite(keras.ops.convert_to_numpy(variable)).all():
            return variable
    return None


def check_number_format(weights):
    """Raises a `ValueError` unless the argument `weights` is one of `NUMBER_FORMATS`."""
    if weights not in NUMBER_FORMATS:
        raise ValueError(
            f'`weights` must be "float32" or "float16". Received: weights={weights!r:.60}.'
        )


def halve_weight_file(path):
    """Converts the float32 matrices of a file to float16, and leaves everything else unchanged.

    Keras converts them back to float32 when it loads the file.

    Args:
        path: The file.

    Raises:
        OSError: If there is too little room; the file stays as it was.
        ValueError: If a matrix contains a number outside the range of float16.
    """
    path = Path(path)
    num_bytes = path.stat().st_size  # more than is needed
    with (
        atomic_path(path) as halved,
        h5py.File(path) as whole,
        new_weight_file(halved, num_bytes) as half,
    ):
        _copy(whole, half)


def _copy(group, into):
    """Copies a group to a different HDF5 file, with float32 matrices as float16."""
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
        array: NumPy array.

    Raises:
        ValueError: If the array contains a number outside the range of float16.
    """
    with np.errstate(over="ignore"):
        half = array.astype("float16")
    if not np.isfinite(half).all():
        raise ValueError(
            f"The weights of {name} are not all within ±65,504, the range of float16: use float32 "
            "instead."
        )
    return half
