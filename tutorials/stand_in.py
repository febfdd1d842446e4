"""A stand-in for TensorFlow Serving: the same messages over REST and gRPC, without its batches."""

import json
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import grpc
import numpy as np
import tensorflow as tf
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc


class StandIn:
    """Serves a loaded SavedModel on two free ports of this machine until `stop`.

    Args:
        loaded: What `tf.saved_model.load` returns.

    Attributes:
        rest_port: Port of the REST service.
        grpc_port: Port of the gRPC service.
        statuses: HTTP status codes that REST requests were answered with, in order.
        refusals: Status codes that the next REST requests shall be refused with.
    """

    def __init__(self, loaded):
        self.loaded, self.statuses, self.refusals = loaded, [], []
        self._rest = ThreadingHTTPServer(("127.0.0.1", 0), _rest_handler(self))
        self.rest_port = self._rest.server_port
        Thread(target=self._rest.serve_forever, daemon=True).start()
        self._grpc = grpc.server(ThreadPoolExecutor(4))
        prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(
            _GrpcService(self), self._grpc
        )
        self.grpc_port = self._grpc.add_insecure_port("127.0.0.1:0")
        self._grpc.start()

    def ask(self, signature, inputs):
        """Runs a signature; inputs and outputs are dictionaries from names to arrays."""
        inputs = {name: tf.constant(value) for name, value in inputs.items()}
        outputs = self.loaded.signatures[signature](**inputs)
        return {name: output.numpy() for name, output in outputs.items()}

    def stop(self):
        """Stops both services; returns whether they have stopped."""
        self._rest.shutdown()
        self._rest.server_close()
        return self._grpc.stop(grace=None).wait(60)


def _rest_handler(stand_in):
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status = stand_in.refusals.pop() if stand_in.refusals else 200
            stand_in.statuses.append(status)
            self.send_response(status)
            self.end_headers()
            signature = request.get("signature_name", "serving_default")
            outputs = stand_in.ask(signature, request["inputs"])
            self.wfile.write(json.dumps({"outputs": outputs}, default=_as_json).encode())

        def log_message(self, *_):
            """Writes no log."""

    return Handler


def _as_json(array):
    is_text = array.dtype == object
    return np.char.decode(array.astype(bytes), "utf-8").tolist() if is_text else array.tolist()


class _GrpcService(prediction_service_pb2_grpc.PredictionServiceServicer):
    def __init__(self, stand_in):
        self.stand_in = stand_in

    def Predict(self, request, context):  # noqa: N802 - the service's name
        inputs = {name: tf.make_ndarray(value) for name, value in request.inputs.items()}
        response = predict_pb2.PredictResponse()
        outputs = self.stand_in.ask(request.model_spec.signature_name, inputs)
        for name, array in outputs.items():
            response.outputs[name].CopyFrom(tf.make_tensor_proto(array))
        return response
