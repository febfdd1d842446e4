"""TensorFlow Serving's REST API, as a WSGI application, and its JSON.

TensorFlow Serving parses with RapidJSON: the first of two equal names counts, and what follows the
value is not read. Where it says at which byte it failed, this says something else.
"""

import base64
import contextlib
import json
import logging
import math
import re
import zlib
from urllib.parse import unquote

import numpy as np

from aiayn_keras.serving.model_server.configuration import MAX_VERSION
from aiayn_keras.serving.model_server.refusals import HTTP_STATUS, NO_TABLES, RefusedError, invalid

_TYPES = {type(None): "Null", int: "Number", float: "Number", str: "String"}
_TYPES |= {list: "Array", dict: "Object"}
_WHITE_SPACE = re.compile(r"[ \t-\r]+")
LOG = logging.getLogger(__name__)
_METRICS_PATH = "/monitoring/prometheus/metrics"
MAX_BODY_BYTES = 1 << 26
"""Maximum size of a request, unpacked."""
_VERSION = r"(?:/versions/(?P<version>\d+)|/labels/(?P<label>[^/:]+))?"
_PREDICTION = re.compile(
    rf"/v1/models/(?P<name>[^/:]+){_VERSION}:(?P<method>predict|classify|regress)", re.IGNORECASE
)
_STATUS = re.compile(
    rf"/v1/models(?:/(?P<name>[^/:]+))?{_VERSION}(?P<metadata>/metadata)?", re.IGNORECASE
)
_REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found", 413: "Request Entity Too Large"}
_JSON, _TEXT, _HTML = "application/json", "text/plain", "text/html"
_NOT_FOUND = """<HTML><HEAD>
<TITLE>404 Not Found</TITLE>
</HEAD><BODY>
<H1>Not Found</H1>
</BODY></HTML>
"""


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


def _signature_of(request):
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


class RestApplication:
    """Answers the paths of TensorFlow Serving.

    Args:
        server: A `ModelServer`.
    """

    def __init__(self, server):
        self._server = server

    def __call__(self, environ, start_response):
        method = environ["REQUEST_METHOD"]
        path = environ.get("REQUEST_URI", environ["PATH_INFO"])
        status, content_type, text = self._answer(method, path, environ)
        body = text.encode("utf-8", errors="replace")
        headers = [("Content-Type", content_type), ("Content-Length", str(len(body)))]
        start_response(f"{status} {_REASONS.get(status, 'Error')}", headers)
        return [b"" if method == "HEAD" else body]

    def _answer(self, method, path, environ):
        """The status, content type and text of an answer."""
        # For TensorFlow Serving a query is a part of the path.
        if path.partition("?")[0] == _METRICS_PATH:
            if path != _METRICS_PATH:
                return 400, _TEXT, f"Unexpected path: {path}. Should be {_METRICS_PATH}"
            return 200, _TEXT, self._server.metrics_page()
        if not path.lower().startswith("/v1/"):
            return 404, _HTML, _NOT_FOUND
        if method == "OPTIONS":
            return 400, f"{_HTML}; charset=ISO-8859-1", ""
        try:
            answer = self._value(method, path, environ)
            return 200, _JSON, json.dumps(answer, ensure_ascii=False)
        except RefusedError as error:
            status, message = HTTP_STATUS[error.code], str(error)
        except Exception as error:
            LOG.exception("%s %s failed", method, path)
            status, message = 500, f"{type(error).__name__}: {error}"
        return status, _JSON, json.dumps({"error": message}, ensure_ascii=False)

    def _value(self, method, path, environ):
        malformed = invalid(f"Malformed request: {method} {path}")
        if method == "POST" and (found := _PREDICTION.fullmatch(path)):
            spec = _model_spec(found)
            with self._server.recorded(spec[0], "REST"):
                if found["method"] == "predict":
                    return self._predict(spec, _read_body(environ))
                if found["method"] in NO_TABLES:
                    raise invalid(NO_TABLES[found["method"]])
                raise malformed  # the letters' case counts here alone
        if method == "GET" and (found := _STATUS.fullmatch(path)):
            if found["name"] is None:
                raise invalid("Missing model name in request.")
            read = self._metadata if found["metadata"] == "/metadata" else self._states
            return read(_model_spec(found))
        raise malformed

    def _predict(self, spec, body):
        try:
            request = read_request(body)
            signature = _signature_of(request)
            _, version = self._server.kit.find(*spec)
            specs = version.input_types(signature)
            if specs is None:
                raise invalid(f'Serving signature name: "{signature}" not found in signature def')
            dtypes = {name: each.dtype.name for name, each in specs.items()}
            has_rows, inputs = inputs_of(request, dtypes)
        except RecursionError:
            raise invalid("The lists of the request are nested too deep") from None
        except ValueError as error:
            raise invalid(str(error)) from error
        return answer_of(self._server.predict(version, signature, inputs), has_rows)

    def _states(self, spec):
        return {
            "model_version_status": [
                {
                    "version": str(number),
                    "state": state,
                    "status": {
                        "error_code": "UNKNOWN" if error else "OK",
                        "error_message": error,
                    },
                }
                for number, (state, error) in self._server.kit.states(*spec).items()
            ]
        }

    def _metadata(self, spec):
        from google.protobuf import json_format

        number, version = self._server.kit.find(*spec)
        signatures = {
            name: json_format.MessageToDict(
                signature,
                preserving_proto_field_name=True,
                always_print_fields_with_no_presence=True,
            )
            for name, signature in version.signature_defs.items()
        }
        return {
            "model_spec": {"name": spec[0], "signature_name": "", "version": str(number)},
            "metadata": {"signature_def": {"signature_def": signatures}},
        }


def _model_spec(found):
    """The name, version and label of the model in a path."""
    version, label = found["version"], found["label"]
    if version is not None:
        version = version.lstrip("0") or "0"
        if int(version[:20]) > MAX_VERSION:
            raise invalid(f"Failed to convert version: {found['version']:.100} to numeric.")
    return (
        unquote(found["name"]),
        None if version is None else int(version),
        None if label is None else unquote(label),
    )


def _read_body(environ):
    body = environ["wsgi.input"].read()
    if "gzip" not in environ.get("HTTP_CONTENT_ENCODING", ""):
        return body
    try:
        unpacking = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
        unpacked = unpacking.decompress(body, MAX_BODY_BYTES)
        if unpacking.unconsumed_tail:
            raise invalid(f"The request is larger than {MAX_BODY_BYTES} bytes when it is unpacked.")
        if not unpacking.eof:
            raise invalid("The request is packed by gzip, and its end is missing.")
        return unpacked
    except zlib.error as error:
        raise invalid(f"The request is not packed by gzip, as its header says: {error}") from error
