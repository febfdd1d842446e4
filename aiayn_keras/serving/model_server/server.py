"""A server of a kit that answers as TensorFlow Serving does, for trying and for small loads."""

import concurrent.futures
import contextlib
import logging
import time

from aiayn_keras.serving.model_server.batching import Batcher, check_batchable
from aiayn_keras.serving.model_server.grpc_services import start_grpc
from aiayn_keras.serving.model_server.metrics import (
    QUEUE_MICROSECONDS,
    REQUEST_MICROSECONDS,
    REQUESTS,
    RUN_MICROSECONDS,
)
from aiayn_keras.serving.model_server.refusals import RefusedError
from aiayn_keras.serving.model_server.rest import RestApplication
from aiayn_keras.serving.model_server.rest_server import RestServer, reserve_port

LOG = logging.getLogger(__name__)

NUM_THREADS = 64
REQUEST_SECONDS = 60.0
"""Requests answered at a time, and the time for one: those of a kit's flags."""
_THREAD_POOL = "batch_threads"


class ModelServer:
    """REST and gRPC of a kit.

    Args:
        kit: A `ServedKit` that has been started.
        batching: `BatchingParameters`; None answers each request alone.
        rest_socket: Socket of `reserve_port`; by default that of a free port of this machine.
        grpc_address: Host and port for gRPC; by default a free port of this machine.
        request_seconds: Time after which a request is given up.

    Attributes:
        kit: The same.
        rest_port: Port of REST.
        grpc_port: Port of gRPC.

    Raises:
        OSError: If another program has taken a port meanwhile.
    """

    def __init__(
        self,
        kit,
        batching=None,
        rest_socket=None,
        grpc_address="127.0.0.1:0",
        request_seconds=REQUEST_SECONDS,
    ):
        self.kit = kit
        self._metrics = kit.metrics
        self._batching, self._request_seconds = batching, request_seconds
        self._batcher = self._alone = self._rest = self._grpc = None
        self._is_closed = False
        if batching is not None:
            self._batcher = Batcher(batching, self._observe_wait)
        else:
            self._alone = concurrent.futures.ThreadPoolExecutor(NUM_THREADS, "alone")
        try:
            self._grpc, self.grpc_port = _open_grpc(self, grpc_address)
            rest_socket = rest_socket or reserve_port("127.0.0.1", 0, "--port")
            self.rest_port = rest_socket.getsockname()[1]
            self._rest = RestServer(RestApplication(self), rest_socket, NUM_THREADS)
        except BaseException:
            self.close(0.0)
            raise

    def predict(self, version, signature, inputs):
        """Computes the answer to a request, in a batch with others if the kit batches.

        Args:
            version: A `ServedVersion`.
            signature: Name of one of its signatures.
            inputs: Dictionary of arrays, with the names of the signature's inputs.

        Returns:
            Dictionary from an output's name to an array.

        Raises:
            RefusedError: With the reason, in TensorFlow Serving's words.
        """
        specs = version.input_types(signature)
        begin = time.monotonic()
        if self._batcher is not None:
            check_batchable(inputs, specs, self._batching.max_batch_size)
            answer = self._batcher.submit(version, signature, inputs)
        else:
            flat = {
                name: value.reshape(-1) if specs[name].shape.rank == 1 else value
                for name, value in inputs.items()
            }
            answer = self._alone.submit(version.run, signature, flat)
        try:
            outputs = answer.result(self._request_seconds)
        except concurrent.futures.TimeoutError:
            if answer.cancel():
                raise RefusedError(
                    "RESOURCE_EXHAUSTED", "Run() timeout exceeded while waiting in batching queue"
                ) from None
            raise RefusedError("DEADLINE_EXCEEDED", "Timed out waiting for notification") from None
        self._metrics.observe(
            RUN_MICROSECONDS,
            time.monotonic() - begin,
            model_name=self.kit.name,
            API="Predict",
            runtime="TF1",
        )
        return outputs

    @contextlib.contextmanager
    def recorded(self, name, entrypoint):
        """Counts a request and its time for Prometheus.

        Args:
            name: Name of the model; requests to others are not counted.
            entrypoint: `"REST"` or `"GRPC"`.
        """
        begin, status = time.monotonic(), "INTERNAL"
        try:
            yield
            status = "OK"
        except RefusedError as error:
            status = error.code
            raise
        finally:
            if name == self.kit.name:
                self._metrics.count(REQUESTS, model_name=name, status=status)
                if status == "OK":
                    labels = {"model_name": name, "API": "Predict", "entrypoint": entrypoint}
                    self._metrics.observe(REQUEST_MICROSECONDS, time.monotonic() - begin, **labels)

    def metrics_page(self):
        """The page for Prometheus."""
        return self._metrics.page()

    def close(self, seconds=10.0):
        """Refuses new requests, answers those that have come, and closes the ports.

        Args:
            seconds: Maximum time to wait for answers.

        Returns:
            Whether all were answered, so that no thread is still computing.
        """
        if self._is_closed:
            return True
        self._is_closed = True
        end = time.monotonic() + seconds
        is_done = True
        stopping = self._grpc.stop(seconds) if self._grpc is not None else None
        if self._rest is not None:
            is_done &= self._rest.close(seconds)
        if stopping is not None:
            stopping.wait()
        if self._batcher is not None:
            is_done &= self._batcher.close(max(0.0, end - time.monotonic()))
        if self._alone is not None:
            self._alone.shutdown(wait=is_done)
        return is_done

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _observe_wait(self, seconds):
        self._metrics.observe(QUEUE_MICROSECONDS, seconds, thread_pool_name=_THREAD_POOL)


def _open_grpc(server, address):
    try:
        return start_grpc(server, address, NUM_THREADS)
    except RuntimeError as error:
        raise OSError(f"gRPC cannot listen on {address}: {error}") from error
