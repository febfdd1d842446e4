"""A test double of `tensorflow_model_server`: the official messages around a loaded SavedModel.

It answers `PredictionService.Predict` and its REST form on this machine alone, and reads a kit's
`models.config` as the real server does. It does not make batches or watch files.

    python -m tests.serving.loopback_server KIT

prints its ports as a JSON object and serves until its standard input ends.
"""

import base64
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
import numpy as np
import tensorflow as tf
import tensorflow_text  # noqa: F401 - the graph has its ops
from google.protobuf import text_format
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc
from tensorflow_serving.config import model_server_config_pb2

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
    r"(?P<verb>:predict)?"
)


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
        self.loaded = {
            version: tf.saved_model.load(str(kit / str(version)))
            for version in model.model_version_policy.specific.versions
        }

    def warm_up(self):
        """Asks each signature of texts once, as a server does before it answers."""
        for version in self.loaded.values():
            for function in version.signatures.values():
                if function.structured_input_signature[1].keys() == {"text"}:
                    function(text=tf.constant(["."]))

    def predict(self, name, version, label, signature, inputs):
        """Returns the version and the outputs (arrays by name) for a request."""
        if name != self.name or label not in (None, *self.labels):
            raise RefusedError(
                grpc.StatusCode.NOT_FOUND, f"Servable not found for request: {name} {label}"
            )
        version = self.labels[label] if label is not None else version or max(self.loaded)
        if version not in self.loaded:
            raise RefusedError(
                grpc.StatusCode.NOT_FOUND,
                f"Servable not found for request: Specific({name}, {version})",
            )
        functions = self.loaded[version].signatures
        if signature not in functions:
            raise RefusedError(
                grpc.StatusCode.INVALID_ARGUMENT, f'Serving signature key "{signature}" not found.'
            )
        function = functions[signature]
        specs = function.structured_input_signature[1]
        if inputs.keys() != specs.keys():
            raise RefusedError(
                grpc.StatusCode.INVALID_ARGUMENT,
                f"input size does not match signature: {sorted(inputs)} vs {sorted(specs)}",
            )
        try:
            outputs = function(
                **{key: tf.constant(value, specs[key].dtype) for key, value in inputs.items()}
            )
        except (tf.errors.InvalidArgumentError, TypeError, ValueError) as error:
            raise RefusedError(grpc.StatusCode.INVALID_ARGUMENT, str(error)) from error
        return version, {key: value.numpy() for key, value in outputs.items()}


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
        if path is None or path["name"] != self.owner.model.name or path["verb"]:
            return self._answer(404, {"error": "Malformed request"})
        states = [
            {
                "version": str(version),
                "state": "AVAILABLE",
                "status": {"error_code": "OK", "error_message": ""},
            }
            for version in self.owner.model.loaded
        ]
        return self._answer(200, {"model_version_status": states})

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        path = _PATH.fullmatch(self.path)
        if path is None or not path["verb"]:
            return self._answer(404, {"error": "Malformed request"})
        try:
            answer = self._predict(path, body)
        except RefusedError as error:
            return self._answer(HTTP_STATUS[error.code], {"error": str(error)})
        return self._answer(200, answer)

    def _predict(self, path, body):
        try:
            request = json.loads(body)
            by_row = "instances" in request
            if by_row and not request["instances"]:
                raise ValueError("No values in 'instances' array")
            inputs = _columns(request["instances"]) if by_row else request["inputs"]
            inputs = {name: _array(value) for name, value in inputs.items()}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise RefusedError(grpc.StatusCode.INVALID_ARGUMENT, f"JSON: {error!r}") from error
        version = None if path["version"] is None else int(path["version"])
        signature = request.get("signature_name", "serving_default")
        _, outputs = self.owner.predict(path["name"], version, path["label"], signature, inputs)
        outputs = {name: _plain(value) for name, value in outputs.items()}
        if by_row:
            rows = zip(*outputs.values(), strict=True)
            return {"predictions": [dict(zip(outputs, row, strict=True)) for row in rows]}
        return {"outputs": outputs}

    def _answer(self, status, answer):
        body = json.dumps(answer, ensure_ascii=False).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        with contextlib.suppress(ConnectionError):  # the client has given up
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, *_):
        pass


def _columns(instances):
    """Turns the row format of the REST API into columns."""
    return {name: [row[name] for row in instances] for name in instances[0]}


def _array(value):
    """Makes an array of nested lists whose strings may be `{"b64": ...}`."""

    def decoded(element):
        if isinstance(element, dict):
            return base64.b64decode(element["b64"])
        return [decoded(each) for each in element] if isinstance(element, list) else element

    value = decoded(value)
    return np.array(value, dtype=object if value and isinstance(value[0], (str, bytes)) else None)


def _plain(array):
    if array.dtype != object:
        return array.tolist()
    texts = [text.decode("utf-8", errors="replace") for text in array.flat]
    return np.array(texts, dtype=object).reshape(array.shape).tolist()


if __name__ == "__main__":
    tf.config.threading.set_intra_op_parallelism_threads(1)  # as in the kit's flags
    with LoopbackServer(sys.argv[1]) as server:
        ports = {"rest": server.rest_port, "grpc": server.grpc_port}
        sys.stdout.write(json.dumps(ports) + "\n")
        sys.stdout.flush()
        sys.stdin.read()
