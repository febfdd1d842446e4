"""A test double of `tensorflow_model_server`: the official messages around a loaded SavedModel.

It answers `PredictionService.Predict` and the REST API on this machine alone, and reads a kit's
`models.config` as the real server does; `test_recorded.py` holds it against answers of that one. It
does not watch files or make batches, but refuses what cannot be batched, if the kit is batched.

    python -m tests.serving.loopback_server KIT

prints its ports as a JSON object and serves until its standard input ends.
"""

import contextlib
import json
import re
import sys
import threading
import time
from concurrent import futures
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import grpc
import tensorflow as tf
import tensorflow_text  # noqa: F401 - the graph has its ops
from google.protobuf import json_format, text_format
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc
from tensorflow_serving.config import model_server_config_pb2

from tests.serving.rest_json import inputs_of, read_request, signature_of

HTTP_STATUS = {
    grpc.StatusCode.INVALID_ARGUMENT: 400,
    grpc.StatusCode.NOT_FOUND: 404,
    grpc.StatusCode.RESOURCE_EXHAUSTED: 429,
    grpc.StatusCode.INTERNAL: 500,
    grpc.StatusCode.UNAVAILABLE: 503,
    grpc.StatusCode.DEADLINE_EXCEEDED: 504,
}
_PATH = re.compile(
    r"/v1/models/(?P<name>[^/:]+)(/versions/(?P<version>\d+)|/labels/(?P<label>[^/:]+))?"
    r"(?P<verb>:predict|:classify|:regress|/metadata)?"
)
_NO_TABLES = {
    ":classify": "Expected one or two output Tensors, found 3",
    ":regress": "Expected one output Tensor.",
}
"""What the server says of signatures that neither classify nor regress."""
MAX_ROWS = 64


_NOT_FOUND = """<HTML><HEAD>
<TITLE>404 Not Found</TITLE>
</HEAD><BODY>
<H1>Not Found</H1>
</BODY></HTML>
"""


class RefusedError(Exception):
    """A request that is answered with an error status."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class ServedModel:
    """The versions of a kit that are named in its `models.config`.

    Args:
        kit: Folder `<name>`.
    """

    def __init__(self, kit):
        kit = Path(kit)
        text = (kit / "models.config").read_text(encoding="utf-8")
        config = text_format.Parse(text, model_server_config_pb2.ModelServerConfig())
        (model,) = config.model_config_list.config
        self.name = model.name
        self.labels = dict(model.version_labels)
        self.is_batched = (kit / "batching.config").exists()
        self.folders = {
            version: kit / str(version) for version in model.model_version_policy.specific.versions
        }
        self.loaded = {
            version: tf.saved_model.load(str(folder)) for version, folder in self.folders.items()
        }

    def warm_up(self):
        """Asks each signature of texts once, as a server does before it answers."""
        for version in self.loaded.values():
            for function in version.signatures.values():
                if function.structured_input_signature[1].keys() == {"text"}:
                    function(text=tf.constant(["."]))

    def version_of(self, name, version, label):
        """The number of the version that a request asks for."""
        if label not in (None, *self.labels):
            raise RefusedError(
                grpc.StatusCode.INVALID_ARGUMENT, f"Unrecognized servable version label: {label}"
            )
        found = self.labels[label] if label is not None else version or max(self.loaded)
        if name != self.name or found not in self.loaded:
            what = f"Latest({name})" if version is None else f"Specific({name}, {version})"
            raise RefusedError(grpc.StatusCode.NOT_FOUND, f"Servable not found for request: {what}")
        return found

    def signature(self, version, signature):
        """The function of a signature."""
        functions = self.loaded[version].signatures
        if signature not in functions:
            raise RefusedError(
                grpc.StatusCode.INVALID_ARGUMENT,
                f'Serving signature name: "{signature}" not found in signature def',
            )
        return functions[signature]

    def predict(self, name, version, label, signature, inputs):
        """Returns the version and the outputs (arrays by name) for a request."""
        version = self.version_of(name, version, label)
        function = self.signature(version, signature)
        specs = function.structured_input_signature[1]
        if inputs.keys() != specs.keys():
            raise RefusedError(
                grpc.StatusCode.INVALID_ARGUMENT,
                f"input size does not match signature: {sorted(inputs)} vs {sorted(specs)}",
            )
        if self.is_batched:
            _check_batch(inputs, specs)
        else:
            inputs = {
                key: value.reshape(-1) if specs[key].shape.rank == 1 else value
                for key, value in inputs.items()
            }
        try:
            outputs = function(
                **{key: tf.constant(value, specs[key].dtype) for key, value in inputs.items()}
            )
        except (tf.errors.InvalidArgumentError, TypeError, ValueError) as error:
            raise RefusedError(grpc.StatusCode.INVALID_ARGUMENT, str(error)) from error
        return version, {key: value.numpy() for key, value in outputs.items()}


def _check_batch(inputs, specs):
    """Refuses what BatchingSession refuses, and what it never answers."""
    arrays = list(inputs.values())
    message = None
    if not all(array.ndim for array in arrays):
        message = "Batching Run() input tensors must have at least one dimension"
    elif len({len(array) for array in arrays}) > 1:
        message = "Batching Run() input tensors must have equal 0th-dimension size"
    elif len(arrays[0]) > MAX_ROWS:
        message = f"Task size {len(arrays[0])} is larger than maximum input batch size {MAX_ROWS}"
    elif any(array.ndim != specs[name].shape.rank for name, array in inputs.items()):
        message = (
            "Batched output tensor's 0th dimension does not equal the sum of the 0th dimension "
            "sizes of the input tensors"
        )
    elif not len(arrays[0]):
        message = "A test double says: the real server never answers a request without rows."
    if message is not None:
        raise RefusedError(grpc.StatusCode.INVALID_ARGUMENT, message)


class LoopbackServer:
    """Both services of one kit, on free ports of 127.0.0.1.

    Args:
        kit: Folder `<name>`.
        model: Its `ServedModel`, if it is loaded already.

    Attributes:
        faults: List of `grpc.StatusCode`; each request takes the first one left as its error.
        seconds: Delay of each answer.
        num_requests: Number of requests so far.
    """

    def __init__(self, kit, model=None):
        self.model = model or ServedModel(kit)
        self.faults = []
        self.seconds = 0.0
        self.num_requests = 0
        self._grpc = grpc.server(futures.ThreadPoolExecutor(max_workers=16))
        prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(
            _PredictionService(self), self._grpc
        )
        self.grpc_port = self._grpc.add_insecure_port("127.0.0.1:0")
        self._grpc.start()
        handler = type("Handler", (_RestHandler,), {"owner": self})
        self._rest = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._rest.daemon_threads = True
        self.rest_port = self._rest.server_port
        self._thread = threading.Thread(target=self._rest.serve_forever, daemon=True)
        self._thread.start()

    def metrics(self):
        """One metric of the page for Prometheus."""
        name = ":tensorflow:serving:request_count"
        labels = f'model_name="{self.model.name}",status="OK"'
        return f"# TYPE {name} counter\n{name}{{{labels}}} {self.num_requests}\n"

    def predict(self, *request):
        self.num_requests += 1
        time.sleep(self.seconds)
        if self.faults:
            raise RefusedError(self.faults.pop(0), "a fault made on purpose")
        return self.model.predict(*request)

    def close(self):
        self._grpc.stop(grace=None).wait()
        self._rest.shutdown()
        self._rest.server_close()
        self._thread.join()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class _PredictionService(prediction_service_pb2_grpc.PredictionServiceServicer):
    def __init__(self, owner):
        self.owner = owner

    def Predict(self, request, context):  # noqa: N802 - the service's name
        spec = request.model_spec
        try:
            version, outputs = self.owner.predict(
                spec.name,
                spec.version.value if spec.HasField("version") else None,
                spec.version_label or None,
                spec.signature_name or "serving_default",
                {name: tf.make_ndarray(value) for name, value in request.inputs.items()},
            )
        except RefusedError as error:
            context.abort(error.code, str(error))
        response = predict_pb2.PredictResponse()
        response.model_spec.CopyFrom(spec)
        response.model_spec.version.value = version
        for name, value in outputs.items():
            response.outputs[name].CopyFrom(tf.make_tensor_proto(value))
        return response


class _RestHandler(BaseHTTPRequestHandler):
    owner = None
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        path = _PATH.fullmatch(self.path)
        if self.path == "/monitoring/prometheus/metrics":
            return self._answer_text(200, "text/plain", self.owner.metrics())
        if self.path == "/v1/models":
            return self._answer(400, {"error": "Missing model name in request."})
        if not self.path.startswith("/v1/"):
            return self._answer_text(404, "text/html", _NOT_FOUND)
        if path is None or path["verb"] not in (None, "/metadata"):
            return self._refuse()
        return self._answer_in_words(self._metadata if path["verb"] else self._states, path)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        path = _PATH.fullmatch(self.path)
        if path is None or path["verb"] in (None, "/metadata"):
            return self._refuse()
        return self._answer_in_words(self._predict, path, body)

    def do_PUT(self):
        self.rfile.read(int(self.headers["Content-Length"] or 0))
        self._refuse()

    def do_DELETE(self):
        self._refuse()

    def do_HEAD(self):
        self._answer_text(400, "application/json", "")

    def do_OPTIONS(self):
        self._answer_text(400, "text/html; charset=ISO-8859-1", "")

    def _refuse(self):
        self._answer(400, {"error": f"Malformed request: {self.command} {self.path}"})

    def _answer_in_words(self, answer, *arguments):
        try:
            return self._answer(200, answer(*arguments))
        except RefusedError as error:
            return self._answer(HTTP_STATUS[error.code], {"error": str(error)})

    def _states(self, path):
        model = self.owner.model
        states = model.loaded
        if path["name"] != model.name:
            message = f"Could not find any versions of model {path['name']}"
            raise RefusedError(grpc.StatusCode.NOT_FOUND, message)
        if path["version"] is not None or path["label"] is not None:
            version = int(path["version"] or 0)
            if path["version"] is not None and version not in model.loaded:
                message = f"Could not find version {version} of model {model.name}"
                raise RefusedError(grpc.StatusCode.NOT_FOUND, message)
            states = [model.version_of(model.name, version or None, path["label"])]
        ok = {"error_code": "OK", "error_message": ""}
        rows = [{"version": str(each), "state": "AVAILABLE", "status": ok} for each in states]
        return {"model_version_status": rows}

    def _metadata(self, path):
        version = None if path["version"] is None else int(path["version"])
        version = self.owner.model.version_of(path["name"], version, path["label"])
        saved = saved_model_pb2.SavedModel()
        saved.ParseFromString((self.owner.model.folders[version] / "saved_model.pb").read_bytes())
        signatures = {
            name: json_format.MessageToDict(signature, preserving_proto_field_name=True)
            for name, signature in saved.meta_graphs[0].signature_def.items()
        }
        return {
            "model_spec": {"name": path["name"], "signature_name": "", "version": str(version)},
            "metadata": {"signature_def": {"signature_def": signatures}},
        }

    def _predict(self, path, body):
        model, version = self.owner.model, None if path["version"] is None else int(path["version"])
        if path["verb"] in _NO_TABLES:
            raise RefusedError(grpc.StatusCode.INVALID_ARGUMENT, _NO_TABLES[path["verb"]])
        try:
            request = read_request(body)
            signature = signature_of(request)
            number = model.version_of(path["name"], version, path["label"])
            specs = model.signature(number, signature).structured_input_signature[1]
            dtypes = {name: spec.dtype.name for name, spec in specs.items()}
            has_rows, inputs = inputs_of(request, dtypes)
        except ValueError as error:
            raise RefusedError(grpc.StatusCode.INVALID_ARGUMENT, str(error)) from error
        _, outputs = self.owner.predict(path["name"], version, path["label"], signature, inputs)
        outputs = {name: _plain(value) for name, value in outputs.items()}
        if has_rows:
            rows = zip(*outputs.values(), strict=True)
            return {"predictions": [dict(zip(outputs, row, strict=True)) for row in rows]}
        return {"outputs": outputs}

    def _answer(self, status, answer):
        self._answer_text(status, "application/json", json.dumps(answer, ensure_ascii=False))

    def _answer_text(self, status, content_type, text):
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        with contextlib.suppress(ConnectionError):  # the client has given up
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, *_):
        pass


def _plain(array):
    """Nested lists of an array's numbers or texts."""
    if array.dtype != object:
        return array.tolist()
    return [
        each.decode("utf-8", errors="replace") if isinstance(each, bytes) else _plain(each)
        for each in array
    ]


if __name__ == "__main__":
    tf.config.threading.set_intra_op_parallelism_threads(1)  # as in the kit's flags
    with LoopbackServer(sys.argv[1]) as server:
        ports = {"rest": server.rest_port, "grpc": server.grpc_port}
        sys.stdout.write(json.dumps(ports) + "\n")
        sys.stdout.flush()
        sys.stdin.read()
