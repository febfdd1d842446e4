"""JSON: every string that is a value and not an identifier. All else stays, keys and spaces too."""

import json
import re

from aiayn_keras.documents.formats.interface_texts import Accelerators, is_identifier
from aiayn_keras.documents.formats.units import Unit, has_letters, protect, without_ending

_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"')
_KEY_FOLLOWS = re.compile(r"\s*:")
_CODE = re.compile(r"[A-Za-z]{2,3}")
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_KEY_OF_A_NAME = re.compile(
    r"(?:\A|_|-)(?:id|uuid|slug|icon|class|className|sku|hash|token|href|src|charset|encoding)\Z"
    r"|[a-z](?:Id|Uuid|Slug|Icon|Class|Sku|Hash|Token|Href|Src)\Z"
)
_KEY_OF_A_CODE = re.compile(r"(?i)(?:lang|language|locale|country|currency)s?(?:[_-]?code)?\Z")


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
        data = json.loads(document, parse_int=str)  # numbers of any length stay
    except json.JSONDecodeError as error:
        raise ValueError(f"line {error.lineno}: not valid JSON: {error.msg}") from None
    except RecursionError:
        raise ValueError("its objects are nested too deeply") from None
    escapes_unicode = document.isascii() and "\\u" in document
    values = list(_values(document, _attributes(data)))
    accelerators = Accelerators((text for _, text in values), markers=("&",))
    return [
        unit
        for match, text in values
        for unit in _unit(match, text, _ascii if escapes_unicode else _unicode, accelerators)
    ]


def _attributes(data):
    """Keys of what Flutter's .arb files say about a text: `@name` beside `name`."""
    keys = data if isinstance(data, dict) else {}
    return {key for key in keys if key.startswith("@") and key[1:] in keys}


def _values(document, attributes):
    """Pairs of a match and its text, for the strings that may be text."""
    key, done, depth, is_attribute = "", 0, 0, False
    for match in _STRING.finditer(document):
        between = document[done : match.start()]
        depth += sum(map(between.count, "{[")) - sum(map(between.count, "}]"))
        done = match.end()
        text = json.loads(match[0])
        if _KEY_FOLLOWS.match(document, match.end()):
            key = text
            if depth == 1:
                is_attribute = key in attributes
        elif is_attribute:
            continue
        elif not any("\ud800" <= character <= "\udfff" for character in text):  # a lone surrogate
            is_code = (_KEY_OF_A_CODE.search(key) and _CODE.fullmatch(text)) or (
                _KEY_OF_A_NAME.search(key) and _NAME.fullmatch(text)
            )
            # Keys such as $schema and @type are those of JSON Schema and JSON-LD.
            if not (is_code or is_identifier(text) or key.startswith(("$", "@"))):
                yield match, text


def _unit(match, text, encode, accelerators):
    accelerator = accelerators.find(text)
    text, ending = without_ending(text if accelerator is None else accelerator.text)
    parts = protect(text, encode)
    if not has_letters(parts):
        return []

    def finish(text):
        return (text if accelerator is None else accelerator.put_into(text)) + encode(ending)

    return [Unit(match.start() + 1, match.end() - 1, tuple(parts), encode, finish)]


def _ascii(text):
    return json.dumps(text)[1:-1]


def _unicode(text):
    return json.dumps(text, ensure_ascii=False)[1:-1]
