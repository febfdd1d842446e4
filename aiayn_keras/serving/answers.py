"""Errors of a request, the outputs of each signature, and the check of a server's answer."""

import reprlib
from itertools import chain

import numpy as np

MAX_PARTS = 1_000_000
"""Maximum number of strings and lists in an answer: even an empty one takes memory."""

TEXT, _WORDPIECE, NUMBER = "Unicode strings", "wordpieces, padded with ''", "finite numbers"

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
        "source_tokens": (_WORDPIECE, "BS"),
        "target_tokens": (_WORDPIECE, "BT"),
        "alignment": (NUMBER, "BTS"),
    },
    "score": {"log_probability": (NUMBER, "B"), "normalized_score": (NUMBER, "B")},
    "translate_document": {
        "translation": (TEXT, "B"),
        "score": (NUMBER, "B"),
        "sentences": (NUMBER, "B"),
    },
}
"""Outputs of each signature that `export_saved_model` writes: their kind and their dims.

B is the number of texts, N of hypotheses, S and T of source and target wordpieces.
"""


class ServingError(RuntimeError):
    """A request that was not answered."""


class ServerUnavailableError(ServingError):
    """The server is down, still loading or overloaded, or the connection broke."""


class NotListeningError(ServerUnavailableError):
    """Nothing listens at the address: it is wrong, or the server is down or just starting."""


class DeadlineExceededError(ServingError):
    """The answer did not arrive in time."""


class RequestRefusedError(ServingError):
    """The server refuses the request and would refuse it again, e.g. for an unknown model."""


class BadAnswerError(ServingError):
    """The answer is too large or malformed, or its rows, types or values are wrong."""


def one_line(text, max_length=300):
    """Turns a server's words into one line without control characters, cut to a maximum length.

    Args:
        text: String, or the bytes of one.
        max_length: Maximum number of characters.
    """
    if isinstance(text, bytes):
        text = text[: 4 * max_length].decode("utf-8", errors="replace")
    words = "".join(c if c.isprintable() else " " for c in text[: 2 * max_length]).split()
    line = " ".join(words)
    return line if len(line) <= max_length else line[: max_length - 1] + "…"


def check_outputs(signature, outputs, num_rows):
    """Checks the outputs of a signature in `OUTPUTS`.

    Args:
        signature: Name of the signature.
        outputs: Dictionary of outputs, each an array or nested lists.
        num_rows: Number of texts that were sent, B.

    Returns:
        Dictionary of arrays of strings (dtype object) or float64.

    Raises:
        BadAnswerError: If an output is missing, or its rank, its size or an element is wrong.
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
            if kind == _WORDPIECE:
                _check_padding(arrays[name])
        except (ValueError, OverflowError) as error:
            raise BadAnswerError(
                f"output `{name}` must hold {kind} of shape ({', '.join(dims)}), B={num_rows}. "
                f"Received: {error}."
            ) from error
    return arrays


def _flatten(value, rank):
    """Returns the elements and the shape, which ends at the first empty dim."""
    if isinstance(value, np.ndarray):
        if value.ndim != rank:
            raise ValueError(f"shape {value.shape}")
        return value.ravel(), value.shape
    shape, level = [], [value]
    for _ in range(rank):
        if not all(type(each) is list for each in level):
            raise ValueError(f"not a list nested {rank} deep")
        lengths = {len(each) for each in level}
        if len(lengths) > 1:
            raise ValueError(f"rows of unequal lengths, {min(lengths)} to {max(lengths)}")
        if not lengths:
            break
        shape.append(lengths.pop())
        level = list(chain.from_iterable(level))
    return level, shape


def _check_sizes(dims, shape, sizes):
    """Compares a shape with the sizes known so far, and adds the new ones to them."""
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
    is_finite = np.abs(numbers) <= np.finfo("float32").max  # the model's dtype; False for NaN
    if not is_finite.all():
        raise ValueError(f"{numbers[~is_finite][0]}")
    return numbers


def _check_padding(wordpieces):
    is_padding = wordpieces == ""
    if (is_padding[:, :-1] & ~is_padding[:, 1:]).any():
        raise ValueError("padding before a wordpiece")


_CONVERSIONS = {TEXT: _as_texts, _WORDPIECE: _as_texts, NUMBER: _as_numbers}
