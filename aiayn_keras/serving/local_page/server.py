"""The page's server, on this machine alone, and the queue in front of its model."""

import contextlib
import errno
import logging
import socket
import threading

from aiayn_keras.serving.local_page.requests import MAX_DOCUMENT_BYTES

_LOOPBACK = "127.0.0.1"
MAX_CONNECTIONS = 400
SECONDS_IDLE = 5
"""Seconds after which an idle connection is closed to make room for others."""

MAX_HEADER_BYTES = 1 << 14

MAX_WAITING = 16
"""Maximum number of requests that wait for the model; a person's page sends one at a time."""

_SECONDS_BETWEEN_CHECKS = 0.05


class BusyError(RuntimeError):
    """Too many requests are waiting already."""


class GoneError(RuntimeError):
    """The client is gone and nobody waits for the answer: a newer keystroke has superseded it."""


class Turns:
    """Lets one thread at a time use the model, while up to `MAX_WAITING` others wait."""

    def __init__(self):
        self._places = threading.BoundedSemaphore(MAX_WAITING + 1)
        self._model = threading.Lock()

    @contextlib.contextmanager
    def turn(self, is_gone):
        """Waits until the model is free.

        Args:
            is_gone: Function that returns whether the client is gone.

        Yields:
            A function that raises a `GoneError` if the client is gone.

        Raises:
            BusyError: If too many threads are waiting.
            GoneError: If the client leaves during the wait.
        """

        def check_wanted():
            if is_gone():
                raise GoneError

        if not self._places.acquire(blocking=False):
            raise BusyError
        with contextlib.ExitStack() as stack:
            stack.callback(self._places.release)
            while not self._model.acquire(timeout=_SECONDS_BETWEEN_CHECKS):
                check_wanted()
            stack.callback(self._model.release)
            check_wanted()
            yield check_wanted


def listen(port):
    """Opens a port that other machines cannot reach.

    Args:
        port: Its number, or 0 for any free port.

    Returns:
        A listening `socket.socket`.

    Raises:
        OSError: If the port is in use, or the user may not open it.
    """
    try:
        return socket.create_server((_LOOPBACK, port), backlog=MAX_CONNECTIONS)
    except OSError as error:
        is_in_use = error.errno == errno.EADDRINUSE
        reason = "another program uses it" if is_in_use else error.strerror
        raise OSError(
            f"Port {port} of this machine cannot be opened: {reason}. Choose a different one with "
            "--port, or any free one with --port 0."
        ) from error


@contextlib.contextmanager
def open_server(application, listener):
    """Makes a server, and closes its connections after the block.

    Args:
        application: An `Application`.
        listener: The socket that `listen` returned.

    Yields:
        A Waitress server; its `run()` answers requests until it is interrupted.
    """
    import waitress

    # Waitress would log that requests wait, and which threads are still running at the end.
    logging.getLogger("waitress").setLevel(logging.ERROR)
    connections = {}
    server = waitress.create_server(
        application,
        map=connections,
        sockets=[listener],
        # More than may wait for the model, so that other requests are answered or refused at once.
        threads=MAX_WAITING + 8,
        connection_limit=MAX_CONNECTIONS,
        channel_timeout=SECONDS_IDLE,
        cleanup_interval=1,
        # Reading on during a request shows whether the client is gone.
        channel_request_lookahead=1,
        max_request_body_size=MAX_DOCUMENT_BYTES,
        inbuf_overflow=2 * MAX_DOCUMENT_BYTES,  # so that bodies stay in memory
        max_request_header_size=MAX_HEADER_BYTES,
        ident=None,
    )
    try:
        yield server
    finally:
        server.task_dispatcher.shutdown()
        server.asyncore.close_all(connections, ignore_all=True)
