"""Test doubles that play the cases of `lies` on this machine, and a client's luck with them."""

import contextlib
import re
import socket
import struct
import threading
import time
import traceback
from concurrent import futures
from pathlib import Path

import grpc
from tensorflow_serving.apis import predict_pb2

import aiayn_keras
import aiayn_keras_light
from aiayn_keras.serving import GrpcClient, RestClient, ServingError
from tests.serving import right_answers

ANSWERED, REFUSED, FALLEN = "answered", "refused", "fallen through"
CONNECTIONS = 64


class LyingServers:
    """Servers of cases; the number of a case is in the name of the model that is asked for.

    The sockets listen as soon as this is made, and are answered after `start`.

    Args:
        cases: List of `lies.Case`.
    """

    def __init__(self, cases):
        self.cases = cases
        self._rest = socket.create_server(("127.0.0.1", 0), backlog=128)
        self._own = {
            number: socket.create_server(("127.0.0.1", 0), backlog=128)
            for number, case in enumerate(cases)
            if case.at_connect
        }
        self.grpc_port = None

    def start(self):
        """Starts the threads, and the server of gRPC at `grpc_port`."""
        _serve(self._rest, self._play_requested)
        for number, listener in self._own.items():
            _serve(listener, lambda sock, n=number: play(sock, self.cases[n].steps))
        options = [("grpc.max_send_message_length", -1)]
        self._grpc = grpc.server(futures.ThreadPoolExecutor(CONNECTIONS), options=options)
        self._grpc.add_generic_rpc_handlers((_Handler(self.cases),))
        self.grpc_port = self._grpc.add_insecure_port("127.0.0.1:0")
        self._grpc.start()

    def close(self):
        """Stops listening; what is being played ends with the process or by itself."""
        self._grpc.stop(grace=None)
        for listener in (self._rest, *self._own.values()):
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()

    def address(self, number):
        """The address of a case, as its client wants it."""
        protocol = self.cases[number].protocol
        if number in self._own:
            port = self._own[number].getsockname()[1]
        else:
            port = self.grpc_port if protocol == "grpc" else self._rest.getsockname()[1]
        scheme = {"rest": "http://", "https": "https://", "grpc": ""}[protocol]
        return f"{scheme}127.0.0.1:{port}"

    def _play_requested(self, sock):
        while (number := _requested(sock)) is not None:
            if not play(sock, self.cases[number].steps):
                return


class _Handler(grpc.GenericRpcHandler):
    def __init__(self, cases):
        self._cases = cases

    def service(self, details):
        return grpc.unary_unary_rpc_method_handler(self._reply)

    def _reply(self, request, context):
        name = predict_pb2.PredictRequest.FromString(request).model_spec.name
        return self._cases[int(name.removeprefix("case"))].reply(context)


def _serve(listener, play_all):
    def answer(sock):
        with contextlib.suppress(OSError), sock:
            play_all(sock)

    def accept():
        with contextlib.suppress(OSError):
            while True:
                sock, _ = listener.accept()
                threading.Thread(target=answer, args=(sock,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()


def _requested(sock):
    """Reads a request; returns the number of its case, or None if there are no more of them."""
    data = b""
    while b"\r\n\r\n" not in data:
        if not (piece := sock.recv(65536)):
            return None
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    left = int(re.search(rb"(?i)content-length: (\d+)", head)[1]) - len(body)
    while left > 0:
        left -= len(sock.recv(65536))
    case = re.search(rb"/models/case(\d+)", head)
    return None if case is None else int(case[1])


def play(sock, steps):
    """Takes the steps on a socket, each a tuple of its name and arguments.

    `send` data; `drip` data byte by byte with pauses; `repeat` data with pauses so many times;
    `receive` so many bytes with pauses; `wait`; `close`; `reset`.

    Returns:
        Whether the connection is still open.
    """
    for name, *arguments in steps:
        if name in ("close", "reset"):
            if name == "reset":
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return False
        _STEPS[name](sock, *arguments)
    return True


def _drip(sock, data, pause):
    for byte in data:
        sock.sendall(bytes([byte]))
        time.sleep(pause)


def _repeat(sock, data, pause, count):
    for _ in range(count):
        sock.sendall(data)
        if pause:
            time.sleep(pause)


def _receive(sock, size, pause):
    while sock.recv(size):
        time.sleep(pause)


_STEPS = {
    "send": lambda sock, data: sock.sendall(data),
    "drip": _drip,
    "repeat": _repeat,
    "receive": _receive,
    "wait": lambda sock, seconds: time.sleep(seconds),
}


def judge(case, number, address, deadline):
    """Asks a server, and judges the client.

    Returns:
        `ANSWERED`, `REFUSED` or `FALLEN`, and the reason or the error in words.
    """
    try:
        result = _call(case, number, address, deadline)
    except Exception as error:
        words = f"{type(error).__name__}: {error}"
        if case.expected == "answer":
            return FALLEN, f"a right answer was refused: {words}"
        return (REFUSED if _is_clear(error, case.expected) else FALLEN), words
    if case.expected in ("refusal", "value error"):
        return FALLEN, f"answered {result!r:.200}"
    if not right_answers.is_well_formed(case.method, result):
        return FALLEN, f"answered {result!r:.200}"
    if case.outputs is not None:
        said = right_answers.plain_reading(case.method, case.outputs)
        if not right_answers.are_close(said, result):
            return FALLEN, f"answered {result!r:.200}, said {said!r:.200}"
    return ANSWERED, ""


def _call(case, number, address, deadline):
    options = {"address": address, "model": f"case{number}", "deadline": deadline, **case.options}
    make = GrpcClient if case.protocol == "grpc" else RestClient
    client = make(options.pop("address"), options.pop("model"), **options)
    with contextlib.closing(client):
        if case.call is not None:
            return case.call(client)
        return right_answers.ask(client, case.method, case.texts or right_answers.TEXTS)


def _is_clear(error, expected):
    """Returns whether an error is one of ours, in one line that is not long."""
    last = Path(traceback.extract_tb(error.__traceback__)[-1].filename)
    ours = {Path(package.__file__).parent for package in (aiayn_keras, aiayn_keras_light)}
    is_ours = not ours.isdisjoint(last.parents)
    kind = ValueError if expected == "value error" else ServingError
    is_short = len(str(error)) < 1000 and str(error).isprintable()
    return isinstance(error, kind) and is_ours and is_short
