"""HTTP exchanges that end in time: one deadline and one greatest number of bytes for each.

urllib3's timeout starts again with every byte that comes. Here every connect, send and receive of
an exchange waits for no longer than is left of the whole.
"""

import contextlib
import contextvars
import http.client
import io
import socket
import time

import urllib3

PIECE = 1 << 16
"""Number of bytes of a body that are asked for together, whatever length the server declares."""

_exchange = contextvars.ContextVar("exchange")
"""The running exchange of this thread, since threads share a pool of connections."""


class TooManyBytesError(Exception):
    """An answer is larger than its exchange allows."""


class Exchange:
    """The bounds of one request and its answer, in force as a context manager.

    Args:
        seconds: For all of it, from the connect to the last byte of the body.
        max_bytes: Greatest number of bytes received, headers included.
    """

    def __init__(self, seconds, max_bytes):
        self._end = time.monotonic() + seconds
        self._bytes_left = max_bytes
        self._files = []

    def __enter__(self):
        self._token = _exchange.set(self)
        return self

    def __exit__(self, *_):
        _exchange.reset(self._token)
        for file in self._files:  # urllib3 leaves that of a response that it cannot read
            file.close()

    def open(self, sock):
        """Opens a file that reads from a socket, and is closed at the end of the exchange."""
        self._files.append(io.BufferedReader(_BoundedFile(sock, self)))
        return self._files[-1]

    @property
    def is_over(self):
        """Whether the deadline is over."""
        return time.monotonic() >= self._end

    def seconds_left(self):
        """Computes the time to wait for the next event; raises `TimeoutError` if none is left."""
        seconds = self._end - time.monotonic()
        if seconds <= 0:
            raise TimeoutError("the deadline is over")
        return seconds

    def count(self, num_bytes):
        """Takes received bytes off; raises `TooManyBytesError` beyond the bound."""
        self._bytes_left -= num_bytes
        if self._bytes_left < 0:
            raise TooManyBytesError


def bounded_pool_manager(max_connections):
    """Makes a `urllib3.PoolManager` that sends requests within an `Exchange`."""
    manager = urllib3.PoolManager(maxsize=max_connections, retries=False)
    manager.pool_classes_by_scheme = {"http": _BoundedHTTPPool, "https": _BoundedHTTPSPool}
    return manager


def read_body(response):
    """Reads the undecoded body of a response; its connection can be used again after the end."""
    body = bytearray()
    try:
        while piece := response.read(PIECE):
            body += piece
    except BaseException:
        response.close()
        raise
    finally:
        response.release_conn()
    return body


class _BoundedFile(io.RawIOBase):
    """The receiving side of a socket, within an exchange."""

    def __init__(self, sock, exchange):
        super().__init__()
        self._sock, self._exchange = sock, exchange
        self._file = sock.makefile("rb", buffering=0)

    def readable(self):
        return True

    def readinto(self, buffer):
        self._sock.settimeout(self._exchange.seconds_left())
        num_bytes = self._file.readinto(buffer)
        self._exchange.count(num_bytes)
        return num_bytes

    def close(self):
        self._file.close()
        super().close()


class _BoundedSocket:
    """The part of a socket that `http.client.HTTPResponse` uses."""

    def __init__(self, sock, exchange):
        self._sock, self._exchange = sock, exchange

    def makefile(self, mode):
        return self._exchange.open(self._sock)


class _BoundedConnection:
    """Binds a urllib3 connection to the exchange that uses it."""

    def _new_conn(self):
        exchange = _exchange.get()
        self.timeout = exchange.seconds_left() / max(1, self._num_addresses())
        sock = super()._new_conn()
        try:
            sock.settimeout(exchange.seconds_left())  # for the TLS handshake
        except TimeoutError:
            sock.close()
            raise
        return sock

    def _num_addresses(self):
        """Number of addresses of the host; urllib3 tries each of them for as long."""
        with contextlib.suppress(OSError, UnicodeError):  # urllib3 tells it
            return len(socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM))
        return 1

    def send(self, data):
        if self.sock is None:
            self.connect()
        rest = memoryview(data)
        while rest:
            self.sock.settimeout(_exchange.get().seconds_left())
            rest = rest[self.sock.send(rest[:PIECE]) :]

    def response_class(self, sock, *args, **options):
        sock = _BoundedSocket(sock, _exchange.get())
        return http.client.HTTPResponse(sock, *args, **options)


class _BoundedHTTPConnection(_BoundedConnection, urllib3.connection.HTTPConnection):
    """A connection without TLS."""


class _BoundedHTTPSConnection(_BoundedConnection, urllib3.connection.HTTPSConnection):
    """A connection with TLS."""


class _BoundedHTTPPool(urllib3.HTTPConnectionPool):
    ConnectionCls = _BoundedHTTPConnection


class _BoundedHTTPSPool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _BoundedHTTPSConnection
