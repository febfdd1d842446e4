"""The socket and the server of the page, on this machine alone."""

import contextlib
import errno
import logging
import socket

from aiayn_keras.serving.local_page.application import MAX_WAITING
from aiayn_keras.serving.local_page.requests import MAX_BYTES

LOOPBACK = "127.0.0.1"
MAX_CONNECTIONS = 100
MAX_HEADER_BYTES = 1 << 14


def listen(port):
    """Takes a port of this machine that no other machine can reach.

    Args:
        port: Its number, or 0 for any free one.

    Returns:
        A listening `socket.socket`.

    Raises:
        OSError: If the port is taken, or not allowed to the user.
    """
    try:
        return socket.create_server((LOOPBACK, port), backlog=MAX_CONNECTIONS)
    except OSError as error:
        is_taken = error.errno == errno.EADDRINUSE
        reason = "another program has it" if is_taken else error.strerror
        raise OSError(
            f"Port {port} of this machine cannot be used: {reason}. Choose another with --port, "
            "or --port 0 for any free one."
        ) from error


@contextlib.contextmanager
def open_server(application, listener):
    """Makes a server, and closes its connections after the block.

    Args:
        application: An `Application`.
        listener: The socket of `listen`.

    Yields:
        A server of Waitress; its `run()` answers requests until it is interrupted.
    """
    import waitress

    # It would say that requests wait, and which threads still run at the end.
    logging.getLogger("waitress").setLevel(logging.ERROR)
    connections = {}
    server = waitress.create_server(
        application,
        map=connections,
        sockets=[listener],
        # Threads that wait for the model leave some to those that need none, or are refused.
        threads=MAX_WAITING + 8,
        connection_limit=MAX_CONNECTIONS,
        # To read on during a request shows that the client has gone.
        channel_request_lookahead=1,
        max_request_body_size=MAX_BYTES,
        inbuf_overflow=2 * MAX_BYTES,  # so that bodies stay in memory
        max_request_header_size=MAX_HEADER_BYTES,
        ident=None,
    )
    try:
        yield server
    finally:
        server.task_dispatcher.shutdown()
        server.asyncore.close_all(connections, ignore_all=True)
