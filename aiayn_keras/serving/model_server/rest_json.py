"""The server's JSON: requests as its own code reads them, with its errors, and its answers.

TensorFlow Serving parses with RapidJSON: the first of two equal names counts, and what follows the
value is not read. Where it says at which byte it failed, this says something else.
"""

import base64
import binascii
import json

import numpy as np

_TYPES = {type(None): "Null", int: "Number", float: "Number", str: "String"}
_TYPES |= {list: "Array", dict: "Object"}


def read_request(body):
    """Reads a request's body into a dictionary.

    Args:
        body: Bytes. Those that are not UTF-8 come through in strings, as in the server.

    Raises:
        ValueError: If it is not an object, in the server's own words unless they name a byte.
    """
    text = body.decode("utf-8", "surrogateescape")
    if not text.strip():
        raise ValueError("JSON Parse error: The document is empty")
    decoder = json.JSONDecoder(object_pairs_hook=_first_of_equal_names)
    try:
        value, _ = decoder.raw_decode(text.lstrip())
        encoded(json.dumps(value, ensure_ascii=False))
    except RecursionError:
        raise ValueError("JSON Parse error: lists or objects are nested too deep") from None
    except (json.JSONDecodeError, UnicodeEncodeError) as error:
        raise ValueError(f"JSON Parse error: {error}") from error
    if not isinstance(value, dict):
        raise ValueError(f"JSON Value: {pretty(value)} Is not object")
    return value


def _first_of_equal_names(pairs):
    found = {}
    for name, value in pairs:
        found.setdefault(name, value)
    return found


def encoded(text):
    """The bytes of a string that `read_request` gave."""
    return text.encode("utf-8", "surrogateescape")


def signature_of(request):
    """The name of the signature in a request.

    Raises:
        ValueError: If it is not a string.
    """
    name = request.get("signature_name", "")
    if not isinstance(name, str):
        raise ValueError(
            f"JSON Value: {pretty(request)} not formatted correctly. 'signature_name' key must be "
            "a string value."
        )
    return name or "serving_default"


def inputs_of(request, dtypes):
    """The arrays of a request.

    Args:
        request: A dictionary, as read.
        dtypes: Dictionary from an input's name to `"string"` or `"int32"`.

    Returns:
        Whether the request has rows, and a dictionary from names to arrays.

    Raises:
        ValueError: For anything that the server refuses.
    """
    has_rows = "instances" in request
    if has_rows and "inputs" in request:
        raise ValueError(
            f"JSON Value: {pretty(request)} Not formatted correctly expecting only one of 'inputs' "
            "or 'instances' keys to exist "
        )
    if not has_rows and "inputs" not in request:
        raise ValueError("Missing 'inputs' or 'instances' key")
    columns = _columns(request, dtypes) if has_rows else request["inputs"]
    if not isinstance(columns, dict) or _is_bytes(columns):
        if len(dtypes) > 1:
            raise ValueError("'inputs' is a plain value/list, but expecting an object")
        (name,) = dtypes
        columns = {name: columns}
    for name in dtypes:
        if name not in columns:
            raise ValueError(f"Missing named input: {name} in 'inputs' object.")
    return has_rows, {name: _array(columns[name], dtype) for name, dtype in dtypes.items()}


def _columns(request, dtypes):
    rows = request["instances"]
    if not isinstance(rows, list):
        raise ValueError(f"JSON Value: {pretty(request)} Expecting 'instances' to be an list/array")
    if not rows:
        raise ValueError(f"JSON Value: {pretty(request)} No values in 'instances' array")
    has_names = isinstance(rows[0], dict) and not _is_bytes(rows[0])
    for number, row in enumerate(rows):
        if has_names != (isinstance(row, dict) and not _is_bytes(row)):
            kinds = ("object", "value/list") if has_names else ("value/list", "object")
            raise ValueError(
                f"Expecting {kinds[0]} but got {kinds[1]} at item {number} of input list"
            )
        for name in (set(row) if has_names else set()) - set(dtypes):
            raise ValueError(
                f"Failed to process element: {number} key: {name} of 'instances' list. Error: "
                f"INVALID_ARGUMENT: JSON object: does not have named input: {name}"
            )
        if has_names and row.keys() != dtypes.keys():
            raise ValueError(
                f"Failed to process element: {number} of 'instances' list. JSON object: "
                f"{pretty(row)} keys must be equal to: {','.join(dtypes)}"
            )
    if not has_names:
        return rows
    return {name: [row[name] for row in rows] for name in rows[0]}


def _is_bytes(value):
    return isinstance(value, dict) and value.keys() == {"b64"}


def _array(value, dtype):
    shape, first = [], value
    while isinstance(first, list):
        shape.append(len(first))
        first = first[0] if first else None
    elements = []
    _fill(value, shape, 0, dtype, elements)
    return np.array(elements, object if dtype == "string" else dtype).reshape(shape)


def _fill(value, shape, level, dtype, elements):
    if not isinstance(value, list):
        elements.append(_element(value, dtype))
        return
    expected = shape[level] if level < len(shape) else 0
    if len(value) != expected:
        raise ValueError(
            f"Encountered list at unexpected size: {len(value)} at level: {level} expected size: "
            f"{expected}"
        )
    for each in value:
        _fill(each, shape, level + 1, dtype, elements)


def _element(value, dtype):
    if dtype == "string" and isinstance(value, str):
        return encoded(value)
    if dtype == "string" and _is_bytes(value):
        try:
            return base64.b64decode(value["b64"], validate=True)
        except (binascii.Error, TypeError, ValueError):
            raise ValueError("Unable to base64 decode") from None
    if dtype == "int32" and type(value) is int and -(1 << 31) <= value < 1 << 31:
        return value
    kind = str(value) if isinstance(value, bool) else _TYPES[type(value)]
    # RapidJSON writes nothing for a number that JSON does not have.
    text = "" if value != value else pretty(value)
    raise ValueError(f"JSON Value: {text} Type: {kind} is not of expected type: {dtype}")


def pretty(value, indent=""):
    """Writes JSON as the server's errors do: objects in lines, lists in one."""
    if isinstance(value, dict):
        inside = indent + "    "
        lines = [f"{inside}{json.dumps(k)}: {pretty(v, inside)}" for k, v in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}" if lines else "{}"
    if isinstance(value, list):
        return "[" + ", ".join(pretty(each, indent) for each in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def answer_of(outputs, has_rows):
    """The answer to a request, for `json.dumps`.

    Args:
        outputs: Dictionary from an output's name to an array with the same number of rows.
        has_rows: Whether the request had rows (`"instances"`).

    Returns:
        Dictionary with `"predictions"`, a dictionary for each row, or `"outputs"`. Numbers have
        nine digits, as many as tell float32 numbers apart.
    """
    plain = {name: _plain(value) for name, value in outputs.items()}
    if not has_rows:
        return {"outputs": plain}
    rows = zip(*plain.values(), strict=True)
    return {"predictions": [dict(zip(plain, row, strict=True)) for row in rows]}


def _plain(value):
    """Nested lists of the numbers or texts of an array."""
    if isinstance(value, np.ndarray):
        return [_plain(each) for each in value]
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="replace")
    return float(f"{value:.9g}") if isinstance(value, np.floating) else int(value)
