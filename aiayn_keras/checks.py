"""Checks of arguments: numbers within bounds, lists of texts."""

import numbers
from collections.abc import Sequence


def check_integer(name, value, minimum, maximum):
    """Gives an argument back as an `int`, if it is an integer within bounds.

    Args:
        name: Name of the argument, for the error.
        value: Its value; NumPy's integers are taken, booleans are not.
        minimum: Least value.
        maximum: Greatest value.

    Raises:
        TypeError: If it is no integer.
        ValueError: If it is out of bounds.
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"`{name}` must be an integer. Received: {name}={value!r:.60}.")
    _check_bounds(name, value, minimum, maximum)
    return int(value)


def check_number(name, value, minimum, maximum):
    """Gives an argument back as a `float`, if it is a number within bounds; see `check_integer`."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"`{name}` must be a number. Received: {name}={value!r:.60}.")
    _check_bounds(name, value, minimum, maximum)
    return float(value)


def _check_bounds(name, value, minimum, maximum):
    if not minimum <= value <= maximum:  # NaN is in no bounds
        raise ValueError(
            f"`{name}` must be at least {minimum} and at most {maximum}. "
            f"Received: {name}={value!r:.60}."
        )


def check_texts(name, texts):
    """Copies a list of texts.

    Args:
        name: Name of the argument, for the error.
        texts: List or tuple of strings.

    Raises:
        ValueError: If it is anything else, or a string cannot be written in UTF-8.
    """
    texts = check_list(name, texts, "strings")
    for i, text in enumerate(texts):
        if not is_unicode(text):
            raise ValueError(
                f"`{name}[{i}]` must be a string of Unicode characters. Received: {text!r:.60}."
            )
    return texts


def check_list(name, values, content):
    """Copies a list or tuple; raises `ValueError` for anything else, strings included."""
    if not isinstance(values, Sequence) or isinstance(values, str | bytes | bytearray):
        raise ValueError(f"`{name}` must be a list of {content}. Received: {values!r:.60}.")
    return list(values)


def is_unicode(text):
    """Whether something is a string that can be written in UTF-8."""
    try:
        return isinstance(text, str) and text.encode("utf-8") is not None
    except UnicodeEncodeError:
        return False
