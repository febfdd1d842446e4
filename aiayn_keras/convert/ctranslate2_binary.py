"""The file `model.bin` of CTranslate2, versions 2 to 6 of its layout.

The layout is that of `_serialize` in CTranslate2's `ctranslate2/specs/model_spec.py`: the name of a
specification and its revision, then every variable with its name, shape, format and bytes, then
aliases, which are second names. Before version 4 a variable has the size of a number instead of its
format; before version 3 there are no aliases. All numbers are little-endian.
"""

import math
from dataclasses import dataclass
from pathlib import Path

import ml_dtypes  # comes with Keras
import numpy as np

from aiayn_keras.common.child_process import MAX_GROWTH, bytes_on_disk
from aiayn_keras_light.files import check_regular_file

_VERSIONS = range(2, 7)
FORMATS = {
    "float32": np.dtype("<f4"),
    "int8": np.dtype("i1"),
    "int16": np.dtype("<i2"),
    "int32": np.dtype("<i4"),
    "float16": np.dtype("<f2"),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
}
"""Formats of numbers, in the order of their codes."""

_FORMAT_OF_SIZE = {1: "int8", 2: "int16", 4: "float32"}
_QUANTIZED = ("int8", "int16")

_OLD_INT16_SCALE = 1000.0
"""Factor of 16-bit weights in old files that have no scale."""

_MAX_VARIABLES = 100_000
MAX_AXES = 8


@dataclass(frozen=True)
class ModelBin:
    """A file `model.bin`.

    Attributes:
        path: Path of the file.
        version: Version of its layout.
        specification: Name of the kind of model, such as `"TransformerSpec"`.
        revision: Revision of the specification.
        variables: Dictionary from names to arrays: float32 for weights, which are dequantized, and
            the file's integers for other numbers.
    """

    path: Path
    version: int
    specification: str
    revision: int
    variables: dict[str, np.ndarray]


def read_model_bin(path):
    """Reads a file `model.bin`.

    Args:
        path: The file.

    Returns:
        `ModelBin`.

    Raises:
        OSError: If the file is missing or not a regular file.
        ValueError: If it is damaged, or of an unknown version; with the variable's name.
    """
    path = Path(path)
    check_regular_file(path)
    num_bytes, max_bytes = path.stat().st_size, MAX_GROWTH * bytes_on_disk(path)
    if num_bytes > max_bytes:
        raise ValueError(
            f"{path} consists of holes: {num_bytes:,} bytes, but only {max_bytes // MAX_GROWTH:,} "
            "are on the disk. Copy it again."
        )
    with path.open("rb") as file:
        reader = _Reader(file, path)
        version = reader.number(4)
        if version not in _VERSIONS:
            raise ValueError(
                f"{path}: version {version:,} of the layout cannot be read, only {_VERSIONS[0]} to "
                f"{_VERSIONS[-1]}. If it is a model of CTranslate2, convert it again."
            )
        specification, revision = reader.text(), reader.number(4)
        variables = _read_variables(reader, version)
        if version >= 3:
            _read_aliases(reader, variables)
        reader.check_end()
    return ModelBin(
        path, version, specification, revision, _dequantized(variables, path, max_bytes)
    )


class _Reader:
    """Reads parts of a file, none longer than the rest of the file."""

    def __init__(self, file, path):
        self.file, self.path = file, path
        self.left = path.stat().st_size

    def take(self, num_bytes, what):
        if num_bytes > self.left:
            raise ValueError(
                f"{self.path}: {what} has {num_bytes:,} bytes, and only {self.left:,} are left: "
                "the file is cut off or damaged, copy it again."
            )
        self.left -= num_bytes
        return self.file.read(num_bytes)

    def number(self, num_bytes, what="a number"):
        return int.from_bytes(self.take(num_bytes, what), "little")

    def count(self, what):
        count = self.number(4)
        if count > _MAX_VARIABLES:
            raise ValueError(f"{self.path}: {count:,} {what} are too many: it is damaged.")
        return count

    def text(self):
        data = self.take(self.number(2), "a name")
        try:
            return data.removesuffix(b"\0").decode("utf-8")
        except UnicodeDecodeError:
            raise ValueError(f"{self.path}: {data!r:.60} is not a name: it is damaged.") from None

    def check_end(self):
        if self.left:
            raise ValueError(
                f"{self.path}: {self.left:,} bytes too many at its end: it is damaged."
            )


def _read_variables(reader, version):
    """Variables by their names: format and array, the array in the file's own numbers."""
    variables = {}
    for _ in range(reader.count("variables")):
        name = reader.text()
        where = f"`{name:.200}`"
        if name in variables:
            raise ValueError(f"{reader.path}: {where} occurs twice.")
        shape = tuple(reader.number(4, where) for _ in range(reader.number(1, where)))
        number_format = _number_format(reader, version, where)
        num_bytes = reader.number(4, where)
        num_bytes *= 1 if version >= 4 else FORMATS[number_format].itemsize
        if len(shape) > MAX_AXES or math.prod(shape) * FORMATS[number_format].itemsize != num_bytes:
            raise ValueError(
                f"{reader.path}: {where} of the shape {shape[:MAX_AXES]} and the format "
                f"{number_format} cannot have {num_bytes:,} bytes: it is damaged."
            )
        data = reader.take(num_bytes, where)
        variables[name] = number_format, _array(data, number_format).reshape(shape)
    return variables


def _number_format(reader, version, where):
    code = reader.number(1, where)
    formats = dict(enumerate(FORMATS)) if version >= 4 else _FORMAT_OF_SIZE
    if code not in formats:
        raise ValueError(f"{reader.path}: {where} has the unknown format {code}: it is damaged.")
    return formats[code]


def _array(data, number_format):
    array = np.frombuffer(data, FORMATS[number_format])
    return array if number_format.startswith("int") else array.astype("float32")


def _read_aliases(reader, variables):
    for _ in range(reader.count("aliases")):
        alias, name = reader.text(), reader.text()
        if name not in variables or alias in variables:
            raise ValueError(
                f"{reader.path}: `{alias:.200}` cannot be another name of `{name:.200}`: it is "
                "damaged."
            )
        variables[alias] = variables[name]
        if f"{name}_scale" in variables:
            variables.setdefault(f"{alias}_scale", variables[f"{name}_scale"])


def _dequantized(variables, path, max_bytes):
    """Arrays by their names, without the scales of weights; aliases share theirs."""
    arrays, divided, num_bytes = {}, {}, 0
    for name, (number_format, array) in variables.items():
        if name.endswith("_scale") and name.removesuffix("_scale") in variables:
            continue
        if name.endswith("weight") and number_format in _QUANTIZED:
            scale = variables.get(f"{name}_scale", (None, None))[1]
            key = id(array), id(scale)
            if key not in divided:
                num_bytes += 4 * array.size
                if num_bytes > max_bytes:
                    raise ValueError(
                        f"{path}: its weights take more than {max_bytes:,} bytes, {MAX_GROWTH} "
                        "times the size of the file: it is damaged."
                    )
                divided[key] = _divided(array, number_format, scale, f"{path}: `{name:.200}`")
            array = divided[key]
        arrays[name] = array
    return arrays


def _divided(array, number_format, scale, where):
    if scale is None and number_format == "int16":
        scale = np.float32(_OLD_INT16_SCALE)
    if scale is None or array.ndim == 0 or scale.shape not in ((), array.shape[:1]):
        raise ValueError(
            f"{where} is {number_format}, but does not have a scale for each of its rows."
        )
    if not (np.isfinite(scale).all() and (scale != 0).all()):
        raise ValueError(f"{where} has a scale that is 0 or not finite.")
    scale = scale.astype("float32").reshape(-1, *[1] * (array.ndim - 1))
    return array.astype("float32") / scale
