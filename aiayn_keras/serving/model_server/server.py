"""A server of a kit that answers as TensorFlow Serving does, for trying and for small loads.

REST is served by Waitress in a thread of its own, gRPC by grpcio's threads.
"""

import concurrent.futures
import contextlib
import errno
import json
import logging
import math
import operator
import resource
import socket
import threading
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
from aiayn_keras.serving.model_server.rest import MAX_BODY_BYTES, RestApplication

MAX_CONNECTIONS = 900
_OTHER_FILES = 124
"""Open files that are not connections to REST, among them those to gRPC."""
LOG = logging.getLogger(__name__)
NUM_THREADS = 64
REQUEST_SECONDS = 60.0
"""Requests answered at a time, and the time for one: those of a kit's flags."""
_SHARE_OF_COMPUTING = 0.8
"""The share of the time for closing after which what is not computed is refused."""
SECONDS_TO_ASK = 10.0
"""Time that a connection may take to send a request while others wait for its place."""
_SECONDS_BETWEEN_LOOKS = 0.5
_SHARE_MADE_FREE = 10
"""One in so many connections may be closed at a time; those that have waited longest go first."""
_TOO_SLOW = json.dumps(
    {
        "error": "The server has no place for more connections, and this request has been arriving "
        "for long: send it again"
    }
)
_TOO_SLOW_ANSWER = (
    "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Type: application/json\r\n"
    f"Content-Length: {len(_TOO_SLOW)}\r\n\r\n{_TOO_SLOW}"
).encode("ascii")
_THREAD_POOL = "batch_threads"


def max_connections():
    """Chooses the number of connections after which new ones wait until others are closed.

    A server without free file descriptors could neither read its configuration nor wait in peace.

    Returns:
        `MAX_CONNECTIONS`, or less if the process may open fewer than the usual 1,024 files: on a
        Mac, for instance, 256.
    """
    num_files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if num_files == resource.RLIM_INFINITY:
        return MAX_CONNECTIONS
    return min(MAX_CONNECTIONS, max(num_files - _OTHER_FILES, num_files // 2))


def reserve_port(host, port, option):
    """Takes a port, without answering anyone on it yet.

    As with TensorFlow Serving, a client is refused until the versions are loaded, and tries again.

    Args:
        host: Address or name of this machine.
        port: Its number, or 0 for any free port.
        option: Option of the command that chooses the port, for the error.

    Returns:
        A `socket.socket` that does not listen.

    Raises:
        OSError: If the port is in use, the user may not open it, or the host is not this machine.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        # `localhost` is both, and clients take its IPv4 address.
        family, kind, protocol, _, address = min(found, key=lambda each: each[0] != socket.AF_INET)
    except (OSError, UnicodeError) as error:
        message = f"--host {host!r:.100} is not an address of this machine: {error}."
        raise OSError(message) from error
    sock = socket.socket(family, kind, protocol)
    try:
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        _bind(sock, address)
    except OSError as error:
        sock.close()
        if error.errno == errno.EADDRNOTAVAIL:
            raise OSError(f"--host {host!r:.100} is not an address of this machine.") from error
        is_in_use = error.errno == errno.EADDRINUSE
        reason = "another program uses it" if is_in_use else error.strerror
        raise OSError(
            f"Port {port} of {host} cannot be opened: {reason}. Choose a different one with "
            f"{option}, or any free one with {option} 0."
        ) from error
    return sock


def _bind(sock, address):
    """Binds a socket, unless another one is bound there, even one that does not listen yet."""
    try:
        sock.bind(address)
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        # Perhaps only connections of a server that has ended linger there.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)


def _connection_class():
    """The class of connections, made where Waitress is used: it is imported late."""
    from waitress.channel import HTTPChannel

    class Connection(HTTPChannel):
        """A connection that knows since when it has had no request to answer."""

        def __init__(self, *args, **options):
            self.waiting_since = time.monotonic()
            super().__init__(*args, **options)

        def service(self):
            """Answers a request."""
            self.waiting_since = math.inf
            super().service()
            self.waiting_since = time.monotonic()

    return Connection


class RestServer:
    """Answers HTTP requests until it is closed.

    Args:
        application: A WSGI application.
        sock: The socket of `reserve_port`.
        num_threads: Number of requests that are answered at a time; others wait.

    Raises:
        OSError: If another program has begun to listen on the port.
    """

    def __init__(self, application, sock, num_threads):
        import waitress

        # Waitress would log that requests wait, and which threads are still running at the end.
        logging.getLogger("waitress").setLevel(logging.ERROR)
        # So that the next server need not wait for the end of this one's connections.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._connections = {}
        self._server = waitress.create_server(
            application,
            map=self._connections,
            sockets=[sock],
            threads=num_threads,
            connection_limit=max_connections(),
            max_request_body_size=MAX_BODY_BYTES,
            asyncore_use_poll=True,
            ident=None,
        )
        self._server.channel_class = _connection_class()
        self._next_look = 0.0
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="REST", daemon=True)
        self._thread.start()

    def close(self, seconds=10.0):
        """Answers what has been asked, and closes all connections.

        Args:
            seconds: Maximum time to wait for answers.

        Returns:
            Whether all requests were answered.
        """
        self._is_over.set()
        self._server.pull_trigger()
        self._thread.join()
        end = time.monotonic() + seconds
        while self._is_busy() and time.monotonic() < end:
            self._leave_idle_clients()
            self._loop()
        is_busy = self._is_busy()
        self._server.task_dispatcher.shutdown(timeout=0.0 if is_busy else 5.0)
        self._server.asyncore.close_all(self._connections, ignore_all=True)
        return not is_busy

    def _run(self):
        while not self._is_over.is_set():
            self._make_room()
            self._loop()
        with contextlib.suppress(OSError):
            # New clients are refused; those that are connected get their answers.
            self._server.asyncore.dispatcher.close(self._server)

    def _loop(self):
        self._server.asyncore.loop(timeout=0.5, use_poll=True, map=self._connections, count=1)

    def _make_room(self):
        """If no connection is free, closes those that have gone longest without a whole request."""
        now = time.monotonic()
        if not self._server.in_connection_overflow or now < self._next_look:
            return
        self._next_look = now + _SECONDS_BETWEEN_LOOKS
        slow = [
            channel
            for channel in list(self._server.active_channels.values())
            if not (channel.requests or channel.total_outbufs_len)
            and channel.waiting_since < now - SECONDS_TO_ASK
        ]
        slow.sort(key=operator.attrgetter("waiting_since"))
        for channel in slow[: max(1, self._server.adj.connection_limit // _SHARE_MADE_FREE)]:
            if channel.request is not None:
                with contextlib.suppress(OSError):
                    channel.socket.send(_TOO_SLOW_ANSWER)
            channel.will_close = True

    def _leave_idle_clients(self):
        """Lets the next loop close connections without a request, so that none begins on them."""
        for channel in list(self._server.active_channels.values()):
            # Only this thread reads requests, and answers are only written while there is one.
            if not (channel.requests or channel.request or channel.total_outbufs_len):
                channel.will_close = True

    def _is_busy(self):
        channels = list(self._server.active_channels.values())
        return any(channel.requests or channel.total_outbufs_len for channel in channels)


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
        self._given_up = concurrent.futures.Future()  # done when a closing server gives up
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
        concurrent.futures.wait(
            [answer, self._given_up], self._request_seconds, concurrent.futures.FIRST_COMPLETED
        )
        if not answer.done():
            is_waiting = answer.cancel()
            if self._given_up.done():
                raise RefusedError(
                    "UNAVAILABLE",
                    "The server is shutting down and has not computed this request: send it again",
                )
            if is_waiting:
                raise RefusedError(
                    "RESOURCE_EXHAUSTED", "Run() timeout exceeded while waiting in batching queue"
                )
            raise RefusedError("DEADLINE_EXCEEDED", "Timed out waiting for notification")
        outputs = answer.result()
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
            seconds: Maximum time to wait for answers. What is not computed in most of it gets
                `UNAVAILABLE`.

        Returns:
            Whether all were computed and answered, so that no thread is still computing.
        """
        if self._is_closed:
            return True
        self._is_closed = True
        end = time.monotonic() + seconds
        is_done = True
        giving_up = threading.Timer(
            _SHARE_OF_COMPUTING * seconds, self._given_up.set_result, [None]
        )
        giving_up.daemon = True
        giving_up.start()
        stopping = self._grpc.stop(seconds) if self._grpc is not None else None
        if self._rest is not None:
            is_done &= self._rest.close(seconds)
        if stopping is not None:
            stopping.wait()
        giving_up.cancel()
        is_done &= not self._given_up.done()
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
