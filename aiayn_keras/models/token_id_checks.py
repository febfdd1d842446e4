"""Checks of the token ids and labels that a model is given instead of texts.

Without them, JAX would look up and learn token ids that a model does not have, and PyTorch labels
below 0; all backends would count ids below 0 from the end of the vocabulary and cut off fractions.
"""

import copy
import functools
from collections.abc import Iterator

import keras
import numpy as np
from keras import ops

from aiayn_keras.backend import check_ids_in_graph
from aiayn_keras.models.batch_sources import (
    MappedDataset,
    gives_batches,
    is_grain,
    is_mapped,
)

_INPUTS = "encoder_token_ids", "decoder_token_ids"


def with_checked_ids(x, y, vocabulary_size, has_labels):
    """Returns data whose token ids are those of a model.

    Args:
        x: Dictionary of arrays or tensors in memory, which are checked at once; or data that gives
            batches, which are checked one by one as they are read. Other data is not checked.
        y: An array of labels, or None.
        vocabulary_size: Number of tokens V.
        has_labels: Whether `y`, or the second part of a batch, has token ids, too.

    Returns:
        `x`, or the batches of it.

    Raises:
        ValueError: For ids that are not integers, or not from 0 to V - 1; if a `tf.data.Dataset`
            gives it, TensorFlow raises a `tf.errors.InvalidArgumentError` with the same text.
    """
    checked = functools.partial(_checked, vocabulary_size, has_labels)
    if not gives_batches(x):
        checked((x, y))
        return x
    if is_grain(x):
        return x.map(checked)
    if is_mapped(x):
        return x.map(lambda *batch: checked(batch if len(batch) > 1 else batch[0]))
    if isinstance(x, keras.utils.PyDataset):
        return MappedDataset(x, checked, x.use_multiprocessing)
    if isinstance(x, Iterator):
        return (checked(batch) for batch in x)  # Keras takes generators alone
    return _checked_loader(x, checked)


def _checked(vocabulary_size, has_labels, batch):
    x, y, *_ = *(batch if isinstance(batch, (tuple, list)) else (batch,)), None
    parts = [(f'x["{name}"]', x.get(name)) for name in _INPUTS] if isinstance(x, dict) else []
    if has_labels:
        parts.append(("y", y))
    for name, ids in parts:
        if hasattr(ids, "dtype") and hasattr(ids, "shape"):
            _check_ids(name, ids, vocabulary_size)
    return batch


def _check_ids(name, ids, vocabulary_size):
    wanted = (
        f"`{name}` must have token ids from 0 to {vocabulary_size - 1}. Padding has the id 0 "
        "and the `sample_weight` 0. Received: "
    )
    if hasattr(ids, "row_splits"):
        raise ValueError(
            f"`{name}` must have rows of equal length: `to_tensor()` fills them up with 0, and "
            f"`sample_weight` must be 0 there. Received: a {type(ids).__name__}."
        )
    if hasattr(ids, "graph"):  # in a map of `tf.data`
        check_ids_in_graph(ids, vocabulary_size, wanted)
        return
    ids = ops.convert_to_numpy(ids) if ops.is_tensor(ids) else np.asarray(ids)
    if ids.dtype.kind not in "iuf":
        if "float" not in ids.dtype.name:  # such as bfloat16
            raise ValueError(f"{wanted}{ids.dtype.name}.")
        ids = ids.astype("float32")
    is_wrong = ~((ids >= 0) & (ids < vocabulary_size))  # NaN, too
    if ids.dtype.kind == "f":
        is_wrong |= np.floor(ids) != ids
    if is_wrong.any():
        raise ValueError(f"{wanted}{ids[is_wrong][0]}.")


def _checked_loader(loader, checked):
    """A copy of a `DataLoader` of PyTorch that checks its batches."""

    class Checked(type(loader)):
        def __iter__(self):
            return map(checked, super().__iter__())

    loader = copy.copy(loader)
    loader.__class__ = Checked
    return loader
