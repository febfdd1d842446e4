"""The outputs of the signatures that `export_saved_model` writes, and the check of an answer."""

import reprlib
from itertools import chain

import numpy as np

from aiayn_keras.serving.errors import BadAnswerError

MAX_PARTS = 1_000_000
"""Greatest number of strings and lists in an answer; each takes memory, however short it is."""

TEXT, WORDPIECE, NUMBER = "Unicode strings", "wordpieces, padded by ''", "finite numbers"

OUTPUTS = {
    "serving_default": {
        "translation": (TEXT, "B"),
        "score": (NUMBER, "B"),
        "normalized_score": (NUMBER, "B"),
    },
    "translate_nbest": {
        "translations": (TEXT, "BN"),
        "scores": (NUMBER, "BN"),
        "normalized_scores": (NUMBER, "BN"),
    },
    "align": {
        "translation": (TEXT, "B"),
        "score": (NUMBER, "B"),
        "source_tokens": (WORDPIECE, "BS"),
        "target_tokens": (WORDPIECE, "BT"),
        "alignment": (NUMBER, "BTS"),
    },
    "score": {"log_probability": (NUMBER, "B"), "normalized_score": (NUMBER, "B")},
    "translate_document": {
        "translation": (TEXT, "B"),
        "score": (NUMBER, "B"),
        "sentences": (NUMBER, "B"),
    },
}
"""Kind and dims of every output: B texts, N hypotheses, S and T wordpieces."""


def check_outputs(signature, outputs, num_rows):
    """Checks the answer of a signature of `OUTPUTS`.

    Args:
        signature: Name of the signature.
        outputs: Dictionary of the outputs, each in nested lists or an array.
        num_rows: Number of texts that were sent, B.

    Returns:
        Dictionary of arrays: objects (strings) or float64.

    Raises:
        BadAnswerError: If an output is missing, or its rank, its size, or an element is wrong.
    """
    wanted = OUTPUTS[signature]
    if not isinstance(outputs, dict) or not wanted.keys() <= outputs.keys():
        raise BadAnswerError(
            f"the outputs must be {', '.join(wanted)}. Received: {reprlib.repr(outputs)}."
        )
    sizes, arrays = {"B": num_rows}, {}
    for name, (kind, dims) in wanted.items():
        try:
            elements, shape = _flatten(outputs[name], len(dims))
            _check_sizes(dims, shape, sizes)
            arrays[name] = _CONVERSIONS[kind](elements).reshape([sizes.get(dim, 0) for dim in dims])
            if kind == WORDPIECE:
                _check_padding(arrays[name])
        except (ValueError, OverflowError) as error:
            raise BadAnswerError(
                f"output `{name}` must hold {kind} of shape ({', '.join(dims)}), B={num_rows}. "
                f"Received: {error}."
            ) from error
    return arrays


def _flatten(value, rank):
    """Elements and shape of nested lists or an array; the shape ends at an empty dim."""
    if isinstance(value, np.ndarray):
        if value.ndim != rank:
            raise ValueError(f"shape {value.shape}")
        return value.ravel(), value.shape
    shape, level = [], [value]
    for _ in range(rank):
        if not all(type(each) is list for each in level):
            raise ValueError(f"not {rank} levels of lists")
        lengths = {len(each) for each in level}
        if len(lengths) > 1:
            raise ValueError(f"rows of unequal lengths, {min(lengths)} to {max(lengths)}")
        if not lengths:
            break
        shape.append(lengths.pop())
        level = list(chain.from_iterable(level))
    return level, shape


def _check_sizes(dims, shape, sizes):
    """Compares a shape with the sizes that are known, and adds those that are not."""
    for dim, size in zip(dims, shape, strict=False):
        if sizes.setdefault(dim, size) != size:
            raise ValueError(f"{dim}={size} instead of {sizes[dim]}")
        if dim == "N" and size == 0:
            raise ValueError("no hypotheses")


def _as_texts(elements):
    for element in elements:
        if type(element) is not str:
            raise ValueError(reprlib.repr(element))
    "".join(elements).encode("utf-8")
    return np.array(elements, dtype=object)


def _as_numbers(elements):
    if isinstance(elements, np.ndarray):
        if elements.dtype.kind not in "iuf":
            raise ValueError(f"elements of type {elements.dtype}")
        numbers = elements.astype("float64")
    else:
        for element in elements:
            if type(element) is not float and type(element) is not int:
                raise ValueError(reprlib.repr(element))
        numbers = np.array(elements, dtype="float64")
    is_finite = np.abs(numbers) <= np.finfo("float32").max  # as those of the model are; not NaN
    if not is_finite.all():
        raise ValueError(f"{numbers[~is_finite][0]}")
    return numbers


def _check_padding(wordpieces):
    is_padding = wordpieces == ""
    if (is_padding[:, :-1] & ~is_padding[:, 1:]).any():
        raise ValueError("padding before a wordpiece")


_CONVERSIONS = {TEXT: _as_texts, WORDPIECE: _as_texts, NUMBER: _as_numbers}
