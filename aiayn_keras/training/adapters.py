"""Adapters (LoRA, https://arxiv.org/abs/2106.09685): two thin matrices beside an adapted one.

The kernel `W` of a projection stays as it is, and `W + A·B` is computed instead, where `A (D, r)`
and `B (r, units)` are trained and `B` starts at zero. As in that paper, and through KerasHub's
`enable_lora`, the queries and values of all attention layers are adapted. Biases are not trained.

A file of adapters holds `A` and `B` under the names of their variables, and a fingerprint of the
kernels that they belong to: adapters for a different model are refused.
"""

import hashlib

import h5py
import keras
import numpy as np

from aiayn_keras.common.weight_files import bytes_of_file, check_weight_file, new_weight_file
from aiayn_keras_light.files import atomic_path

A, B = "/lora_kernel_a", "/lora_kernel_b"
"""Endings of the names of adapters' variables."""
_FINGERPRINT = "kernels_sha256"


def add_adapters(backbone, rank):
    """Freezes a `TransformerBackbone` and gives it adapters, which change nothing yet.

    Args:
        backbone: The `TransformerBackbone`.
        rank: Number of columns of `A` and of rows of `B` (r).
    """
    backbone.enable_lora(rank)
    for variable in backbone.trainable_variables:
        variable.trainable = variable.path.endswith((A, B))


def has_adapters(model):
    """Tells if layers of a `keras.Model` have adapters."""
    return any(variable.path.endswith(A) for variable in model.trainable_variables)


def save_adapters(model, path):
    """Writes the adapters of a model to a file for `merge_adapters`.

    Raises:
        OSError: If there is too little room.
    """
    num_bytes = bytes_of_file(_adapter_arrays(model).values())
    with atomic_path(path) as temporary, new_weight_file(temporary, num_bytes) as file:
        write_adapters(model, file)


def write_adapters(model, group):
    """Writes the adapters of a model into a group of an HDF5 file."""
    arrays = _adapter_arrays(model)
    group.attrs[_FINGERPRINT] = _fingerprint(_kernels(model, arrays))
    for name, array in arrays.items():
        group[name] = array


def _adapter_arrays(model):
    return {v.path: _array(v) for v in model.weights if v.path.endswith((A, B))}


def read_adapters(model, group):
    """Reads what `write_adapters` wrote into a model whose adapters have the same shapes."""
    variables = {v.path: v for v in model.weights if v.path.endswith((A, B))}
    _check_fingerprint(group, _kernels(model, variables))
    for name, variable in variables.items():
        variable.assign(group[name][()])


def merge_adapters(model, path):
    """Adds adapters to the weights of the model that they were trained for.

    Args:
        model: A `TransformerSeq2SeqLM` or its backbone, without adapters.
        path: The file `adapters.h5` in the folder of a fine-tuning.

    Raises:
        OSError: If the file is missing or not a regular file.
        ValueError: If it does not hold adapters for this model, which stays as it was.

    Example:
        >>> model = TransformerSeq2SeqLM.from_preset("runs/general")  # doctest: +SKIP
        >>> merge_adapters(model, "runs/special/adapters.h5")  # doctest: +SKIP
    """
    check_weight_file(path)
    try:
        with h5py.File(path) as file:
            kernels = _kernels(model, _names(file))
            _check_fingerprint(file, kernels)
            merged = [
                _array(kernel) + _product(file, name, tuple(kernel.shape))
                for name, kernel in kernels.items()
            ]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"{path} does not hold adapters for this model: {error.args[0]:.200}."
        ) from error
    for kernel, array in zip(kernels.values(), merged, strict=True):
        kernel.assign(array)


def merged_weights(backbone):
    """Merges a backbone's adapters into arrays for `set_weights` of one without adapters."""
    arrays = {variable.path: _array(variable) for variable in backbone.weights}
    for name in [name.removesuffix(A) for name in arrays if name.endswith(A)]:
        arrays[f"{name}/kernel"] += arrays.pop(name + A) @ arrays.pop(name + B)
    return list(arrays.values())


def _array(variable):
    """Copies a variable to a NumPy array."""
    return np.array(keras.ops.convert_to_numpy(variable))


def _names(group):
    """Lists the names of all arrays in a group."""
    names = []
    group.visititems(lambda name, item: names.append(name) if hasattr(item, "shape") else None)
    return names


def _kernels(model, names):
    """Finds the kernels that adapters belong to: a dictionary from a layer's name to its kernel."""
    variables = {variable.path: variable for variable in model.weights}
    layers = sorted(name.removesuffix(A) for name in names if name.endswith(A))
    if 2 * len(layers) != len(names) or not layers:
        raise ValueError("it has no pairs of matrices")
    missing = [name for name in layers if f"{name}/kernel" not in variables]
    if missing:
        raise ValueError(f"there is no `{missing[0]}`")
    return {name: variables[f"{name}/kernel"] for name in layers}


def _fingerprint(kernels):
    """Computes the SHA-256 of kernels."""
    digest = hashlib.sha256()
    for name, kernel in kernels.items():
        digest.update(f"{name} {tuple(kernel.shape)}\n".encode())
        digest.update(_array(kernel).astype("<f4").tobytes())
    return digest.hexdigest()


def _check_fingerprint(group, kernels):
    if group.attrs.get(_FINGERPRINT) != _fingerprint(kernels):
        raise ValueError("its adapters were trained beside other weights")


def _product(group, name, shape):
    """Reads `A` and `B` of a layer and multiplies them to the shape of its kernel."""
    a, b = (group[name + end][()] for end in (A, B))
    if (*a.shape, *b.shape) != (shape[0], len(b), len(b), shape[1]):
        raise ValueError(
            f"`{name}` has the shapes {a.shape} and {b.shape}, but its kernel has {shape}"
        )
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise ValueError(f"`{name}` has numbers that are not finite")
    return a @ b
