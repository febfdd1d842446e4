"""Checks of the arguments of clients, before anything is sent."""

import math
from numbers import Integral, Real

from aiayn_keras.common.checks import is_unicode

MAX_DEADLINE = 86_400.0
"""Seconds of a day."""


def checked_name(name, value):
    """Returns a name that can stand in a URL, or raises `ValueError`."""
    if not is_unicode(value) or not value.strip("."):
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
    if not is_number or math.isnan(value) or not 0 < value <= MAX_DEADLINE:
        raise ValueError(
            "`deadline` must be a number of seconds that is positive and at most "
            f"{MAX_DEADLINE:g}. Received: deadline={value!r:.60}."
        )
    return float(value)
