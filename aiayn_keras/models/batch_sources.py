"""Batches from a `PyDataset`, a generator or a PyTorch `DataLoader`, preprocessed one by one.

KerasHub maps its preprocessors over `tf.data` and Grain only. These kinds of data go to Keras'
own `fit`, with the preprocessor applied to each batch.
"""

from collections.abc import Iterator

import keras
import numpy as np
from keras import ops, tree


def is_batch_source(x):
    """Whether data is a `PyDataset`, a generator or a `DataLoader`, which give batches."""
    is_loader = any(
        (cls.__module__.partition(".")[0], cls.__name__) == ("torch", "DataLoader")
        for cls in type(x).__mro__
    )
    return is_loader or isinstance(x, (keras.utils.PyDataset, Iterator))


def preprocessed_batches(batches, preprocess):
    """Returns batches as `keras.Model.fit` takes them.

    Args:
        batches: A `PyDataset`, an iterator or a `DataLoader` of `x`, `(x, y)` or
            `(x, y, sample_weight)`.
        preprocess: Function of these three that returns such a tuple.

    Returns:
        A `PyDataset`; of an iterator a generator. The second value is the number of batches if
        Keras cannot know it, else None.
    """
    if isinstance(batches, keras.utils.PyDataset):
        return _PreprocessedDataset(batches, preprocess), None
    if isinstance(batches, Iterator):
        return _generate(batches, preprocess), None
    return _generate(_repeat(batches), preprocess), len(batches)


def preprocessed_arrays(data, preprocess):
    """Preprocesses validation data that is in memory: `x`, `(x, y)` or `(x, y, sample_weight)`."""
    return _apply(preprocess, data)


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
    if isinstance(batch, list):  # as a `DataLoader` gives pairs
        batch = tuple(batch)
    batch = preprocess(*keras.utils.unpack_x_y_sample_weight(batch))
    return tree.map_structure(_as_array, batch)


def _as_array(values):
    return values if isinstance(values, np.ndarray) else ops.convert_to_numpy(values)
