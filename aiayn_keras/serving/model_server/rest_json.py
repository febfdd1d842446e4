"""The server's JSON: requests as its own code reads them, with its errors, and its answers.

TensorFlow Serving parses with RapidJSON: the first of two equal names counts, and what follows the
value is not read. Where it says at which byte it failed, this says something else.
"""

import base64
import contextlib
import json
import math
import re

import numpy as np

_TYPES = {type(None): "Null", int: "Number", float: "Number", str: "String"}
_TYPES |= {list: "Array", dict: "Object"}
_WHITE_SPACE = re.compile(r"[ \t-\r]+")


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
    read = _inputs_of_rows if has_rows else _inputs_of_columns
    return has_rows, read(request, dtypes)


def _inputs_of_columns(request, dtypes):
    columns = request["inputs"]
    if not _has_names(columns):
        if len(dtypes) > 1:
            raise ValueError(
                "inputs is a plain value/list, but expecting an object as multiple input tensors "
                "required as per tensorinfo_map"
            )
        (name,) = dtypes
        columns = {name: columns}
    for name in dtypes:
        if name not in columns:
            raise ValueError(f"Missing named input: {name} in 'inputs' object.")
    tensors = {name: _tensor(columns[name], dtype) for name, dtype in dtypes.items()}
    return {name: _array(*tensor, dtypes[name]) for name, tensor in tensors.items()}


def _inputs_of_rows(request, dtypes):
    rows = request["instances"]
    if not isinstance(rows, list):
        raise ValueError(f"JSON Value: {pretty(request)} Expecting 'instances' to be an list/array")
    if not rows:
        raise ValueError(f"JSON Value: {pretty(request)} No values in 'instances' array")
    has_names = _has_names(rows[0])
    if not has_names and len(dtypes) > 1:
        raise ValueError(
            "instances is a plain list, but expecting list of objects as multiple input tensors "
            "required as per tensorinfo_map"
        )
    shapes, elements = {}, {name: [] for name in dtypes}
    for number, row in enumerate(rows):
        if has_names != _has_names(row):
            kinds = ("object", "list") if has_names else ("value/list", "object")
            raise ValueError(
                f"Expecting {kinds[0]} but got {kinds[1]} at item {number} of input list"
            )
        for name, value in row.items() if has_names else [(next(iter(dtypes)), row)]:
            try:
                if name not in dtypes:
                    raise ValueError(f"JSON object: does not have named input: {name}")
                shape, found = _tensor(value, dtypes[name])
                _check_shape(shapes.setdefault(name, shape), shape)
            except ValueError as error:
                key = f" key: {name}" if has_names else ""
                raise ValueError(
                    f"Failed to process element: {number}{key} of 'instances' list. Error: "
                    f"INVALID_ARGUMENT: {error}"
                ) from error
            elements[name] += found
        if has_names and row.keys() != dtypes.keys():
            raise ValueError(
                f"Failed to process element: {number} of 'instances' list. JSON object: "
                f"{pretty(row)} keys must be equal to: {','.join(sorted(dtypes))}"
            )
    return {
        name: _array([len(rows), *shapes[name]], elements[name], dtype)
        for name, dtype in dtypes.items()
    }


def _check_shape(first, shape):
    """Refuses a row's value whose shape is not the first row's."""
    sizes = math.prod(first), math.prod(shape)
    if sizes[0] != sizes[1]:
        raise ValueError(f"Expecting tensor size: {sizes[0]} but got: {sizes[1]}")
    if first != shape:
        expected, received = (f"[{','.join(map(str, each))}]" for each in (first, shape))
        raise ValueError(f"Expecting shape {expected} but got: {received}")


def _has_names(value):
    return isinstance(value, dict) and not _is_bytes(value)


def _is_bytes(value):
    return isinstance(value, dict) and value.keys() == {"b64"} and isinstance(value["b64"], str)


def _array(shape, elements, dtype):
    return np.array(elements, object if dtype == "string" else dtype).reshape(shape)


def _tensor(value, dtype):
    """The shape, from the first element of each list, and the elements of a value."""
    shape, first = [], value
    while isinstance(first, list):
        shape.append(len(first))
        first = first[0] if first else None
    elements = []
    _fill(value, shape, 0, dtype, elements)
    return shape, elements


def _fill(value, shape, level, dtype, elements):
    if not isinstance(value, list):
        if level != len(shape):
            raise ValueError(
                f"JSON Value: {pretty(value)} found at incorrect level: {level + 1} in the JSON "
                f"DOM. Expected at level: {len(shape)}"
            )
        elements.append(_element(value, dtype))
        return
    if level >= len(shape):
        raise ValueError(f"Encountered list at unexpected level: {level} expected < {len(shape)}")
    if len(value) != shape[level]:
        raise ValueError(
            f"Encountered list at unexpected size: {len(value)} at level: {level} expected size: "
            f"{shape[level]}"
        )
    for each in value:
        _fill(each, shape, level + 1, dtype, elements)


def _element(value, dtype):
    if dtype == "string" and isinstance(value, str):
        return encoded(value)
    if dtype == "string" and isinstance(value, dict):
        if not _is_bytes(value):
            raise ValueError(f"JSON Value: {pretty(value)} not formatted correctly for base64 data")
        return _from_base64(value["b64"])
    if dtype == "int32" and type(value) is int and -(1 << 31) <= value < 1 << 31:
        return value
    kind = str(value) if isinstance(value, bool) else _TYPES[type(value)]
    # RapidJSON writes nothing for a number that JSON does not have.
    text = "" if value != value else pretty(value)
    raise ValueError(f"JSON Value: {text} Type: {kind} is not of expected type: {dtype}")


def _from_base64(text):
    """Decodes as the server does: padding may be missing, and white space is skipped."""
    text = _WHITE_SPACE.sub("", text)
    data = text.rstrip("=.")
    padding = -len(data) % 4
    if len(text) - len(data) in (0, padding):
        with contextlib.suppress(ValueError):
            return base64.b64decode(data + padding * "=", validate=True)
    raise ValueError("Unable to base64 decode")


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
