"""Checks of arguments, and of untrusted values through schemas."""

import numbers
from collections.abc import Sequence

import pydantic


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


def parse(schema, content, origin, remedy):
    """Makes an object of a schema from JSON, or from a dictionary of it.

    Args:
        schema: A `pydantic.BaseModel`.
        content: Bytes of JSON, or a dictionary.
        origin: Path of the file, for the error.
        remedy: Sentence that ends the error.

    Raises:
        ValueError: With the file and the first field that is wrong.
    """
    is_json = isinstance(content, bytes)
    try:
        return schema.model_validate_json(content) if is_json else schema.model_validate(content)
    except pydantic.ValidationError as error:
        problem = error.errors(include_url=False, include_context=False)[0]
        field = ".".join(map(str, problem["loc"]))
        where = f"{origin}, field `{field:.200}`" if field else f"{origin}"
        message = problem["msg"].removeprefix("Value error, ")
        raise ValueError(f"{where}: {message:.200}. {remedy}") from None


def check_sides(hypotheses, references):
    """Raises a ValueError unless there are as many hypotheses as references, at least one."""
    if len(hypotheses) != len(references) or not references:
        raise ValueError(
            "`hypotheses` and `references` must be of equal length, at least 1. "
            f"Received: {len(hypotheses)} hypotheses, {len(references)} references."
        )
