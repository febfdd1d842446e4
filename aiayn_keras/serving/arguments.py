"""Checks of the arguments of clients, before anything is sent."""

import math
from collections.abc import Sequence
from numbers import Integral, Real

LONGEST_DEADLINE = 86_400.0
"""Seconds of a day."""


def checked_texts(name, texts):
    """Copies a list of texts.

    Args:
        name: Name of the argument, for the error.
        texts: List or tuple of strings.

    Raises:
        ValueError: If it is anything else, or a string cannot be written in UTF-8.
    """
    texts = checked_list(name, texts, "strings")
    for i, text in enumerate(texts):
        if not _is_unicode(text):
            raise ValueError(
                f"`{name}[{i}]` must be a string of Unicode characters. Received: {text!r:.60}."
            )
    return texts


def checked_list(name, values, content):
    """Copies a list or tuple; raises `ValueError` for anything else, strings included."""
    if not isinstance(values, Sequence) or isinstance(values, str | bytes | bytearray):
        raise ValueError(f"`{name}` must be a list of {content}. Received: {values!r:.60}.")
    return list(values)


def checked_name(name, value):
    """Returns a name that can stand in a URL, or raises `ValueError`."""
    if not _is_unicode(value) or not value.strip("."):
        raise ValueError(
            f"`{name}` must be a string that names it. Received: {name}={value!r:.60}."
        )
    return value


def checked_integer(name, value, least, most):
    """Returns an integer of a range, or raises `ValueError`."""
    is_integer = isinstance(value, Integral) and not isinstance(value, bool)
    if not is_integer or not least <= value <= most:
        raise ValueError(
            f"`{name}` must be an integer from {least} to {most}. Received: {name}={value!r:.60}."
        )
    return int(value)


def checked_deadline(value):
    """Returns seconds, or raises `ValueError`."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or math.isnan(value) or not 0 < value <= LONGEST_DEADLINE:
        raise ValueError(
            "`deadline` must be a number of seconds that is positive and at most "
            f"{LONGEST_DEADLINE:g}. Received: deadline={value!r:.60}."
        )
    return float(value)


def _is_unicode(text):
    try:
        return isinstance(text, str) and text.encode("utf-8") is not None
    except UnicodeEncodeError:
        return False
