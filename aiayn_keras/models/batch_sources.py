"""Batches of texts from all data that Keras takes, preprocessed one by one.

KerasHub maps its preprocessors over `tf.data` and Grain, and reads texts in memory in one order
even with `shuffle=True`. All kinds of data but Grain's go to Keras' own `fit`, with the
preprocessor applied to each batch.
"""

import functools
from collections.abc import Iterator

import keras
import numpy as np
from keras import ops, tree

from aiayn_keras.backend import check_utf8
from aiayn_keras_light.checks import check_integer
from aiayn_keras_light.text_batches import MAX_TEXTS

_AUTOTUNE = -1
"""`tf.data.AUTOTUNE`, for which TensorFlow need not be imported."""
_KINDS_OF_TEXT = "OSTU"
"""NumPy's letters for objects, bytes and the two types of strings."""


def gives_batches(x):
    """True if data gives batches, and is not texts or arrays in memory."""
    return is_iterated(x) or is_mapped(x)


def is_iterated(x):
    """True if data is a `PyDataset`, a generator or a `DataLoader`."""
    is_loader = ("torch", "DataLoader") in _packages_and_names(x)
    return is_loader or isinstance(x, (keras.utils.PyDataset, Iterator))


def is_grain(x):
    """True if data is a data set of Grain, whose steps KerasHub counts."""
    return any(
        package == "grain" and name in ("MapDataset", "IterDataset")
        for package, name in _packages_and_names(x)
    )


def preprocessed_batches(data, preprocess, steps=None, batch_size=None, shuffle=False):
    """Returns batches as `keras.Model.fit` takes them.

    Args:
        data: A `PyDataset`, an iterator, a `DataLoader`, a `tf.data.Dataset` or a Grain data set,
            of `x`, `(x, y)` or `(x, y, sample_weight)`; or such a tuple of texts in memory.
        preprocess: Function of `x`, `y` and `sample_weight` that returns such a tuple.
        steps: Number of batches that make an epoch, if it is not all.
        batch_size: Number of texts in a batch, if they are in memory. Defaults to 32.
        shuffle: Whether texts in memory come in a new order each epoch.

    Returns:
        The batches. The second value is the `steps` that Keras is to be given.

    Raises:
        ValueError: For unequal numbers of texts in memory, data that is not text, batches of single
            texts, `batch_size` beside batches, a `batch_size` out of range, and a `DataLoader`
            without a length if `steps` is None.
    """
    if gives_batches(data):
        if batch_size is not None:
            raise ValueError(
                f"`batch_size` cannot be given beside a {type(data).__name__}, which gives "
                f"batches. Received: batch_size={batch_size}."
            )
    else:
        size = 32 if batch_size is None else check_integer("batch_size", batch_size, 1, MAX_TEXTS)
        data = TextBatches(data, size, shuffle)
    if is_grain(data):
        return data.map(lambda batch: _apply(preprocess, batch)), steps
    if is_mapped(data):
        refuse_single_texts(data.element_spec)
        data = data.map(
            lambda *batch: preprocess(*_unpack(tree.map_structure(_as_utf8, batch))),
            num_parallel_calls=_AUTOTUNE,
        )
        return data.prefetch(_AUTOTUNE), steps
    if isinstance(data, keras.utils.PyDataset):
        return MappedDataset(data, functools.partial(_apply, preprocess)), steps
    if isinstance(data, Iterator):
        return _generate(data, preprocess), steps
    return _preprocessed_loader(data, preprocess, steps), steps


def split_texts(data, validation_split):
    """Splits texts in memory as Keras splits arrays: the last are for validation.

    Args:
        data: Tuple `(x, y, sample_weight)`; the last two may be None.
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


def texts_of_batch(x, y=None, sample_weight=None):
    """Returns one batch of texts as lists of strings.

    Args:
        x: List or array of texts, or a dictionary of such.
        y: The targets, or None.
        sample_weight: Array of the weights of pairs, or None.

    Raises:
        ValueError: For no texts, different numbers of texts, or anything that is not text.
    """
    (x, y, sample_weight), _ = _as_arrays((x, y, sample_weight))
    return *tree.map_structure(_as_strings, (x, y)), sample_weight


class TextBatches(keras.utils.PyDataset):
    """Batches of texts in memory.

    Args:
        data: Tuple `(x, y, sample_weight)`; the last two may be None. All are lists or arrays of
            equal length, or dictionaries of them.
        batch_size: Number of texts in a batch; the last may have fewer.
        shuffle: Whether the texts come in a new order in each pass over them.
    """

    def __init__(self, data, batch_size, shuffle):
        super().__init__()
        self._data, size = _as_arrays(data)
        self._batch_size, self._shuffle = batch_size, shuffle
        self._order = np.arange(size)
        seed = keras.random.randint((), 0, 1 << 30, seed=keras.random.SeedGenerator())
        self._seed, self._num_passes = int(seed), 0

    @property
    def num_batches(self):
        return -(-len(self._order) // self._batch_size)

    def __getitem__(self, index):
        # Not at the end of an epoch, which may be in the middle of a pass: texts would come twice.
        if index == 0 and self._shuffle:
            random = np.random.default_rng((self._seed, self._num_passes))
            self._order = random.permutation(len(self._order))
        if index == self.num_batches - 1:
            self._num_passes += 1
        start = index * self._batch_size
        x, y, sample_weight = _rows(self._data, self._order[start : start + self._batch_size])
        return *tree.map_structure(_as_strings, (x, y)), sample_weight


class MappedDataset(keras.utils.PyDataset):
    """A `PyDataset` with a function applied to its batches when they are asked for.

    Args:
        batches: A `PyDataset`.
        function: Function of a batch.
        use_multiprocessing: See `keras.utils.PyDataset`.
    """

    def __init__(self, batches, function, use_multiprocessing=False):
        super().__init__(batches.workers, use_multiprocessing, batches.max_queue_size)
        self._batches, self._function = batches, function

    @property
    def num_batches(self):
        return self._batches.num_batches

    def __getitem__(self, index):
        return self._function(self._batches[index])

    def on_epoch_begin(self):
        self._batches.on_epoch_begin()

    def on_epoch_end(self):
        self._batches.on_epoch_end()


def _preprocessed_loader(loader, preprocess, steps):
    """A `DataLoader` of preprocessed batches, which Keras begins anew for each epoch.

    If `steps` are given, it has no end. A generator would not do: to validate again, Keras takes
    the first two batches once more, and then goes on with the next.
    """
    from torch import as_tensor
    from torch.utils.data import DataLoader, IterableDataset

    class Batches(IterableDataset):
        def __iter__(self):
            for batch in _generate(_repeat(loader) if steps else loader, preprocess):
                yield tree.map_structure(as_tensor, batch)

    class CountedBatches(Batches):
        def __len__(self):
            return number

    number = None if steps else _number_of_batches(loader)
    batches = Batches() if steps else CountedBatches()
    return DataLoader(batches, batch_size=None, collate_fn=lambda batch: batch)


def _number_of_batches(loader):
    try:
        return len(loader)
    except TypeError as error:  # of an `IterableDataset`
        raise ValueError(
            f"A {type(loader).__name__} without a length does not tell when an epoch ends: give "
            "`steps_per_epoch` (`validation_steps`, `steps`), the number of its batches. "
            f"Received: {type(getattr(loader, 'dataset', loader)).__name__}."
        ) from error


def _repeat(loader):
    while True:
        yield from loader


def _generate(batches, preprocess):
    for batch in batches:
        yield _apply(preprocess, batch)


def _apply(preprocess, batch):
    is_pair = isinstance(batch, tuple) or (isinstance(batch, list) and not _are_texts(batch[:1]))
    parts = tuple(batch) if is_pair else (batch,)
    x, y, sample_weight = _unpack(parts)
    x, y = _texts(x), _texts(y)
    sides = *(x.values() if isinstance(x, dict) else [x]), y
    sizes = {len(side) for side in sides if isinstance(side, list)}
    _check_lengths(sizes)
    if 0 in sizes:
        raise ValueError("A batch must have at least one pair of texts. Received: none.")
    return tree.map_structure(_as_array, preprocess(x, y, _as_weights(sample_weight)))


def _texts(part):
    """Returns a part of a batch with its texts as lists of strings, which preprocessors take."""
    if isinstance(part, dict):
        return {name: _texts(values) for name, values in part.items()}
    is_list = isinstance(part, (str, bytes, list, tuple, np.ndarray)) or hasattr(part, "to_numpy")
    return _as_strings(_as_rows(part)) if is_list else part


def _as_utf8(values):
    """Makes a graph of `tf.data` fail at texts that are not UTF-8."""
    return check_utf8(values) if values.dtype == "string" else values


def refuse_single_texts(element_spec):
    """Raises a ValueError for a `tf.data.Dataset` whose elements are not batches of texts."""
    for spec in tree.flatten(element_spec):
        shape = getattr(spec, "shape", None)
        if getattr(spec, "dtype", None) == "string" and shape.rank not in (None, 1):
            raise ValueError(
                "A data set must give batches of texts, shape `(B,)`: call its `batch(64)`, and "
                f"leave out further axes. Received: texts of shape {tuple(shape)}."
            )


def is_mapped(data):
    """True if data is of `tf.data` or Grain; a `datasets.Dataset` of Hugging Face is rows."""
    return is_grain(data) or (hasattr(data, "element_spec") and hasattr(data, "map"))


def _packages_and_names(x):
    return {(cls.__module__.partition(".")[0], cls.__name__) for cls in type(x).__mro__}


def _unpack(parts):
    """Returns `x`, `y` and `sample_weight` of a tuple of one to three of them."""
    if len(parts) == 1 and not isinstance(parts[0], tuple):
        return parts[0], None, None  # Keras would take a list of texts for `x` and `y`
    return keras.utils.unpack_x_y_sample_weight(parts if len(parts) > 1 else parts[0])


def _are_texts(values):
    return all(isinstance(each, (str, bytes)) for each in values)


def _as_array(values):
    return ops.convert_to_numpy(values) if ops.is_tensor(values) else np.asarray(values)


def _as_arrays(data):
    """Makes arrays of `x`, `y` and `sample_weight`; returns them with their common length."""
    *sides, sample_weight = data
    if sides[0] is None:
        raise ValueError("`x` must be texts, or data that gives batches of them. Received: None.")
    sides = [
        {name: _as_rows(values) for name, values in part.items()}
        if isinstance(part, dict)
        else None
        if part is None
        else _as_rows(part)
        for part in sides
    ]
    data = (*sides, _as_weights(sample_weight))
    sizes = {len(values) for values in tree.flatten(data) if values is not None}
    _check_lengths(sizes)
    size = sizes.pop()
    if not size:
        raise ValueError("There must be at least one pair of texts. Received: none.")
    return data, size


def _check_lengths(sizes):
    if len(sizes) > 1:
        raise ValueError(
            "Sources, targets and `sample_weight` must be of equal length. "
            f"Received: lengths {sorted(sizes)}."
        )


def _as_rows(values):
    """Makes an array of texts, in which every text is a string.

    Pandas writes None or NaN for a missing text, which would be trained on as the word "None".
    """
    if hasattr(values, "numpy"):  # a tensor of TensorFlow, on every backend
        values = values.numpy()
    # Not an array of strings of a fixed width: it would lose U+0000 at their ends, take the longest
    # text's memory for each, and hold a NaN before the first text as "nan".
    is_list = isinstance(values, (list, tuple))
    if is_list and (not values or any(isinstance(each, (str, bytes)) for each in values)):
        rows = np.array(values, dtype=object)
    else:
        rows = np.asarray(values)
    if not rows.ndim or (rows.ndim > 1 and rows.dtype.kind in _KINDS_OF_TEXT):
        raise ValueError(
            "Texts must be lists or arrays of strings. Received: "
            + (f"shape {rows.shape}, of {rows.flat[0]!r:.60}" if rows.ndim else f"{values!r:.60}")
            + ". Give one list of sources and one of targets, even for one text."
        )
    if rows.dtype.kind == "O":
        for i, text in enumerate(rows):
            if not isinstance(text, (str, bytes)):
                raise ValueError(
                    "Texts must be strings. "
                    f"Received: text {i} is {text!r:.60}, of type {type(text).__name__}. "
                    "Leave out pairs without a text, and write numbers as strings."
                )
    return rows


def _as_weights(sample_weight):
    """Makes an array of the weights of pairs."""
    if sample_weight is None:
        return None
    try:
        weights = _as_array(sample_weight).astype("float32")
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"`sample_weight` must be numbers. Received: {sample_weight!r:.100}."
        ) from error
    if not np.isfinite(weights).all():
        raise ValueError(
            "`sample_weight` must be finite numbers. "
            f"Received: weight {np.flatnonzero(~np.isfinite(weights))[0]} is not."
        )
    return weights


def _rows(data, index):
    return tree.map_structure(lambda values: None if values is None else values[index], data)


def _as_strings(values):
    """Returns a list of strings instead of an array of them."""
    if values is None or values.dtype.kind not in _KINDS_OF_TEXT:
        return values
    texts = []
    for i, text in enumerate(values.tolist()):
        try:
            text = text if isinstance(text, bytes) else text.encode()
            texts.append(text.decode())
        except UnicodeError as error:  # a half of a surrogate pair cannot be encoded
            raise ValueError(f"Texts must be UTF-8. Received: text {i} is {text!r:.60}.") from error
    return texts
