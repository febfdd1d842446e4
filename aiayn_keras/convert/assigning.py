"""Weights that came from somewhere else, put into a backbone: every one, and no other."""

import numpy as np


def assign_weights(backbone, arrays, origin):
    """Gives a backbone its weights; nothing is assigned unless everything fits.

    Args:
        backbone: A `TransformerBackbone`.
        arrays: Dictionary from the `path` of every one of `backbone.weights`, such as
            `"encoder_block_0/self_attention/query/kernel"`, to an array of floating-point
            numbers.
        origin: Path of the file that the arrays come from, for the error.

    Raises:
        ValueError: If an array is missing, belongs to no weight, has another shape, or holds
            something else than finite numbers; with the origin and the weight's path.
    """
    weights = {weight.path: weight for weight in backbone.weights}
    _check_names(weights, arrays, origin)
    for path, weight in weights.items():
        _as_float32(arrays[path], weight.shape, f"{origin}, `{path}`")
    for path, weight in weights.items():  # a copy each: one in memory at a time
        weight.assign(_as_float32(arrays[path], weight.shape, origin))


def _check_names(weights, arrays, origin):
    for names, message in (
        (weights.keys() - arrays.keys(), "is missing"),
        (arrays.keys() - weights.keys(), "is no weight of the model"),
    ):
        if names:
            others = f", and {len(names) - 1} more" if len(names) > 1 else ""
            raise ValueError(f"{origin}: `{min(names):.200}` {message}{others}.")


def _as_float32(array, shape, where):
    array = np.asarray(array)
    if array.dtype.kind != "f":
        raise ValueError(f"{where}: no floating-point numbers, but {array.dtype}.")
    if array.shape != tuple(shape):
        raise ValueError(f"{where}: expected the shape {tuple(shape)}, got {array.shape}.")
    with np.errstate(over="ignore"):
        array = array.astype("float32")
    if not np.isfinite(array).all():
        raise ValueError(f"{where}: it holds numbers that are not finite.")
    return array
