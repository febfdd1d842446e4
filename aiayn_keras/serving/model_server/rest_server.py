"""The HTTP server of the REST API: Waitress in a thread of its own, and its port."""

import contextlib
import errno
import logging
import resource
import socket
import threading
import time

from aiayn_keras.serving.model_server.rest import MAX_BODY_BYTES

MAX_CONNECTIONS = 900
_OTHER_FILES = 124
"""Open files that are not connections to REST, among them those to gRPC."""


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
            self._loop()
        with contextlib.suppress(OSError):
            # New clients are refused; those that are connected get their answers.
            self._server.asyncore.dispatcher.close(self._server)

    def _loop(self):
        self._server.asyncore.loop(timeout=0.5, use_poll=True, map=self._connections, count=1)

    def _leave_idle_clients(self):
        """Lets the next loop close connections without a request, so that none begins on them."""
        for channel in list(self._server.active_channels.values()):
            # Only this thread reads requests, and answers are only written while there is one.
            if not (channel.requests or channel.request or channel.total_outbufs_len):
                channel.will_close = True

    def _is_busy(self):
        channels = list(self._server.active_channels.values())
        return any(channel.requests or channel.total_outbufs_len for channel in channels)
