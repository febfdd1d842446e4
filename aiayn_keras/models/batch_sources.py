"""Batches of texts from whatever Keras takes, preprocessed one by one.

KerasHub maps its preprocessors over `tf.data` and Grain, and reads texts in memory in one order
whatever `shuffle` says. All kinds of data but Grain's go to Keras' own `fit`, with the preprocessor
applied to each batch.
"""

from collections.abc import Iterator

import keras
import numpy as np
from keras import ops, tree

AUTOTUNE = -1
"""`tf.data.AUTOTUNE`, for which TensorFlow need not be imported."""


def gives_batches(x):
    """Whether data gives batches, and is not texts or arrays in memory."""
    return is_iterated(x) or _is_mapped(x)


def is_iterated(x):
    """Whether data is a `PyDataset`, a generator or a `DataLoader`."""
    is_loader = any(
        (cls.__module__.partition(".")[0], cls.__name__) == ("torch", "DataLoader")
        for cls in type(x).__mro__
    )
    return is_loader or isinstance(x, (keras.utils.PyDataset, Iterator))


def is_grain(x):
    """Whether data is a data set of Grain, whose steps KerasHub counts."""
    return _is_mapped(x) and not hasattr(x, "element_spec")


def preprocessed_batches(data, preprocess, batch_size=None, shuffle=False):
    """Returns batches as `keras.Model.fit` takes them.

    Args:
        data: A `PyDataset`, an iterator, a `DataLoader`, a `tf.data.Dataset` or a Grain data set,
            of `x`, `(x, y)` or `(x, y, sample_weight)`; or such a tuple of texts in memory.
        preprocess: Function of these three that returns such a tuple.
        batch_size: Number of texts in a batch, if they are in memory. Defaults to 32.
        shuffle: Whether texts in memory come in a new order each epoch.

    Returns:
        The batches. The second value is the number of batches if Keras cannot know it, else None.

    Raises:
        ValueError: For texts in memory of unequal numbers, and `batch_size` beside batches.
    """
    if gives_batches(data):
        if batch_size is not None:
            raise ValueError(
                f"`batch_size` cannot be given beside a {type(data).__name__}, which gives "
                f"batches. Received: batch_size={batch_size}."
            )
    else:
        data = TextBatches(data, batch_size or 32, shuffle)
    if is_grain(data):
        return data.map(lambda batch: _apply(preprocess, batch)), None
    if _is_mapped(data):
        data = data.map(lambda *batch: preprocess(*_unpack(batch)), num_parallel_calls=AUTOTUNE)
        return data.prefetch(AUTOTUNE), None
    if isinstance(data, keras.utils.PyDataset):
        return _PreprocessedDataset(data, preprocess), None
    if isinstance(data, Iterator):
        return _generate(data, preprocess), None
    return _generate(_repeat(data), preprocess), len(data)


def split_texts(data, validation_split):
    """Splits texts in memory as Keras splits arrays: the last are for validation.

    Args:
        data: Tuple `(x, y, sample_weight)`, where the latter may be None.
        validation_split: Share of the texts for validation, between 0 and 1.

    Returns:
        Two such tuples.
    """
    data, size = _as_arrays(data)
    start = int(size * (1.0 - validation_split))
    if not 0 < start < size:
        raise ValueError(
            f"`validation_split`={validation_split} leaves nothing to train on or to validate on. "
            f"Received: {size} texts."
        )
    return _rows(data, slice(start)), _rows(data, slice(start, None))


class TextBatches(keras.utils.PyDataset):
    """Batches of texts in memory.

    Args:
        data: Tuple `(x, y, sample_weight)`, where the latter may be None and each is a list or
            array of equal length, or a dictionary of such.
        batch_size: Number of texts in a batch; the last may have fewer.
        shuffle: Whether the texts come in a new order each epoch.
    """

    def __init__(self, data, batch_size, shuffle):
        super().__init__()
        self._data, size = _as_arrays(data)
        self._batch_size, self._shuffle = batch_size, shuffle
        self._random = keras.random.SeedGenerator()
        self._order = np.arange(size)
        self._reorder()

    @property
    def num_batches(self):
        return -(-len(self._order) // self._batch_size)

    def __getitem__(self, index):
        start = index * self._batch_size
        batch = _rows(self._data, self._order[start : start + self._batch_size])
        return tree.map_structure(_as_strings, batch)

    def on_epoch_end(self):
        self._reorder()

    def _reorder(self):
        if self._shuffle:
            order = keras.random.shuffle(ops.arange(len(self._order)), seed=self._random)
            self._order = ops.convert_to_numpy(order)


class _PreprocessedDataset(keras.utils.PyDataset):
    """A `PyDataset` whose batches are preprocessed when they are asked for."""

    def __init__(self, batches, preprocess):
        super().__init__(workers=batches.workers, max_queue_size=batches.max_queue_size)
        self._batches, self._preprocess = batches, preprocess

    @property
    def num_batches(self):
        return self._batches.num_batches

    def __getitem__(self, index):
        return _apply(self._preprocess, self._batches[index])

    def on_epoch_begin(self):
        self._batches.on_epoch_begin()

    def on_epoch_end(self):
        self._batches.on_epoch_end()


def _repeat(loader):
    while True:
        yield from loader


def _generate(batches, preprocess):
    for batch in batches:
        yield _apply(preprocess, batch)


def _apply(preprocess, batch):
    is_list_of_texts = isinstance(batch, list) and isinstance(batch[0], (str, bytes))
    parts = (batch,) if is_list_of_texts or not isinstance(batch, (list, tuple)) else tuple(batch)
    return tree.map_structure(_as_array, preprocess(*map(_texts, _unpack(parts))))


def _texts(part):
    """Returns a part of a batch with lists of strings, which preprocessors take, in it."""
    if isinstance(part, dict):
        return {name: _texts(values) for name, values in part.items()}
    if isinstance(part, tuple):
        return list(part)
    return _as_strings(part) if isinstance(part, np.ndarray) else part


def _is_mapped(data):
    """Whether data is of `tf.data` or Grain."""
    return hasattr(data, "map") and hasattr(data, "batch")


def _unpack(parts):
    """Returns `x`, `y` and `sample_weight` of a tuple of one to three of them."""
    return keras.utils.unpack_x_y_sample_weight(parts if len(parts) > 1 else parts[0])


def _as_array(values):
    return values if isinstance(values, np.ndarray) else ops.convert_to_numpy(values)


def _as_arrays(data):
    """Makes arrays of lists, and returns them with their common length."""
    data = tuple(
        {name: _as_rows(values) for name, values in part.items()}
        if isinstance(part, dict)
        else None
        if part is None
        else _as_rows(part)
        for part in data
    )
    sizes = {len(values) for values in tree.flatten(data) if values is not None}
    if len(sizes) != 1:
        raise ValueError(
            "Sources, targets and `sample_weight` must be of equal length. "
            f"Received: lengths {sorted(sizes)}."
        )
    return data, sizes.pop()


def _as_rows(values):
    if isinstance(values, (str, bytes)):
        raise ValueError(
            f"Texts must be lists or arrays of strings. Received: {values!r}. "
            "Give a list of one text."
        )
    if hasattr(values, "numpy"):  # a tensor of TensorFlow, on every backend
        values = values.numpy()
    is_text = isinstance(values, (list, tuple)) and values and isinstance(values[0], (str, bytes))
    # No array of strings of a fixed width, which would lose U+0000 at their ends and take the
    # longest text's memory for each.
    return np.array(values, dtype=object) if is_text else np.asarray(values)


def _rows(data, index):
    return tree.map_structure(lambda values: None if values is None else values[index], data)


def _as_strings(values):
    """Returns a list of strings in place of an array of them."""
    if values is None or values.dtype.kind not in "OSU":
        return values
    return [text.decode() if isinstance(text, bytes) else str(text) for text in values.tolist()]
