"""TensorFlow Serving's REST API, as a WSGI application."""

import json
import logging
import re
import zlib
from urllib.parse import unquote

from aiayn_keras.serving.model_server.configuration import MAX_VERSION
from aiayn_keras.serving.model_server.refusals import HTTP_STATUS, NO_TABLES, RefusedError, invalid
from aiayn_keras.serving.model_server.rest_json import (
    answer_of,
    inputs_of,
    read_request,
    signature_of,
)

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
            signature = signature_of(request)
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
