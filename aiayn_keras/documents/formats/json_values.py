"""JSON: every string that is a value. Keys, numbers, spaces and the order of all stay."""

import json
import re

from aiayn_keras.documents.formats.units import Unit, has_letters, protect

_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"')
_KEY_FOLLOWS = re.compile(r"\s*:")


def find_units(document, _columns=None):
    """Finds the values of a JSON document that have letters.

    Args:
        document: A string.

    Returns:
        List of `Unit`s.

    Raises:
        ValueError: If it is not JSON, or is nested too deeply.
    """
    try:
        json.loads(document, parse_int=str)  # numbers of any length stay
    except json.JSONDecodeError as error:
        raise ValueError(f"line {error.lineno}: not valid JSON: {error.msg}") from None
    except RecursionError:
        raise ValueError("its objects are nested too deeply") from None
    escapes_unicode = document.isascii() and "\\u" in document
    units = []
    for match in _STRING.finditer(document):
        if _KEY_FOLLOWS.match(document, match.end()):
            continue
        text = json.loads(match[0])
        if any("\ud800" <= character <= "\udfff" for character in text):
            continue  # not Unicode, so it is no text
        encode = _ascii if escapes_unicode else _unicode
        parts = protect(text, encode)
        if has_letters(parts):
            units.append(Unit(match.start() + 1, match.end() - 1, tuple(parts), encode))
    return units


def _ascii(text):
    return json.dumps(text)[1:-1]


def _unicode(text):
    return json.dumps(text, ensure_ascii=False)[1:-1]
