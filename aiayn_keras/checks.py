"""Checks of numbers that are given as arguments."""

import numbers


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
