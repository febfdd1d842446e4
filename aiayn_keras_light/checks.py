"""Checks of arguments, and of data from files by means of schemas."""

import numbers
from collections.abc import Sequence

import numpy as np

MAX_SIZE = 1 << 20
"""Generous bound on a layer's widths, and on its number of positions."""


def check_integer(name, value, minimum, maximum):
    """Returns an argument as an `int` if it is an integer within bounds.

    Args:
        name: Name of the argument, for the error.
        value: Value of the argument; NumPy integers are accepted, booleans are not.
        minimum: Minimum value.
        maximum: Maximum value.

    Raises:
        TypeError: If the value is not an integer.
        ValueError: If the value is out of bounds.
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"`{name}` must be an integer. Received: {name}={value!r:.60}.")
    _check_bounds(name, value, minimum, maximum)
    return int(value)


def check_number(name, value, minimum, maximum):
    """Returns an argument as a `float` if it is a number within bounds; see `check_integer`."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"`{name}` must be a number. Received: {name}={value!r:.60}.")
    _check_bounds(name, value, minimum, maximum)
    return float(value)


def _check_bounds(name, value, minimum, maximum):
    if not minimum <= value <= maximum:  # also true for NaN
        raise ValueError(
            f"`{name}` must be at least {minimum} and at most {maximum}. "
            f"Received: {name}={value!r:.60}."
        )


def check_function(name, value):
    """Raises a `TypeError` if an argument is neither a function nor None."""
    if value is not None and not callable(value):
        raise TypeError(f"`{name}` must be a function. Received: {name}={value!r:.60}.")


def check_texts(name, texts):
    """Returns a copy of a list of texts.

    Args:
        name: Name of the argument, for the error.
        texts: List, tuple or one-dimensional array of strings.

    Raises:
        ValueError: If `texts` is anything else, or a string cannot be encoded in UTF-8.
    """
    texts = check_list(name, texts, "strings")
    for i, text in enumerate(texts):
        if not is_unicode(text):
            raise ValueError(
                f"`{name}[{i}]` must be a string of Unicode characters. Received: {text!r:.60}."
            )
    return texts


def check_list(name, values, content):
    """Returns a list, tuple or one-dimensional array as a list, or raises a `ValueError`."""
    if isinstance(values, np.ndarray) and values.ndim == 1:
        values = values.tolist()
    if not isinstance(values, Sequence) or isinstance(values, str | bytes | bytearray):
        raise ValueError(f"`{name}` must be a list of {content}. Received: {values!r:.60}.")
    return list(values)


def is_unicode(text):
    """Returns whether a value is a string that can be encoded in UTF-8."""
    try:
        return isinstance(text, str) and text.encode("utf-8") is not None
    except UnicodeEncodeError:
        return False


def parse(schema, content, origin, remedy):
    """Validates JSON, or a dictionary, against a schema.

    Args:
        schema: A subclass of `pydantic.BaseModel`.
        content: JSON as bytes, or a dictionary.
        origin: Path of the file, for the error.
        remedy: Sentence at the end of the error.

    Returns:
        An instance of `schema`.

    Raises:
        ValueError: If `content` is invalid; the message names the file and the first invalid field.
    """
    import pydantic

    is_json = isinstance(content, bytes)
    try:
        return schema.model_validate_json(content) if is_json else schema.model_validate(content)
    except pydantic.ValidationError as error:
        problem = error.errors(include_url=False, include_context=False)[0]
        field = ".".join(map(str, problem["loc"]))
        where = f"{origin}, field `{field:.200}`" if field else f"{origin}"
        message = problem["msg"].removeprefix("Value error, ").removesuffix(".")
        raise ValueError(f"{where}: {message:.200}. {remedy}") from None


def check_sides(hypotheses, references):
    """Raises a `ValueError` unless the two lists have the same length, at least 1."""
    if len(hypotheses) != len(references) or not references:
        raise ValueError(
            "`hypotheses` and `references` must be of equal length, at least 1. "
            f"Received: {len(hypotheses)} hypotheses, {len(references)} references."
        )
