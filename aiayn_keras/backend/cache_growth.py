"""Growth of a decoding cache: by concatenation, in a fixed size, or in place."""

import keras
from keras import ops


def initial_length(length, token_ids):
    """The length of an empty cache: 0 where it grows by concatenation, else `length`.

    Args:
        length: Number of positions there must be room for at the end.
        token_ids: Any integer tensor of the computation.
    """
    if keras.config.backend() == "tensorflow":
        # A number that is known only when the graph runs, so that shapes may change.
        return ops.min(token_ids) * 0
    return length


def append_position(cached, new, index):
    """Adds the slots of position `index` to axis 2, in the fastest way of the backend.

    TensorFlow lets the cache grow, JAX updates one of fixed size, PyTorch writes into it and looks
    at the part written.

    Returns:
        What to keep, and what to attend to.
    """
    return {
        "tensorflow": _append_by_growing,
        "jax": _append_by_update,
        "torch": _append_in_place,
    }[keras.config.backend()](cached, new, index)


def _append_by_growing(cached, new, index):
    cached = ops.concatenate([cached, new], axis=2)
    return cached, cached


def _append_by_update(cached, new, index):
    start = [0] * cached.ndim
    start[2] = index * new.shape[2]
    cached = ops.slice_update(cached, start, new)
    return cached, cached


def _append_in_place(cached, new, index):
    end = (int(index) + 1) * new.shape[2]
    cached[:, :, end - new.shape[2] : end] = new
    return cached, cached[:, :, :end]
