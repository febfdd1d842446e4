"""One deadline for a whole HTTP exchange, however slowly a server reads and sends.

The timeouts of urllib3 start again with every byte that arrives. Here a timer shuts the socket down
when the time is up, which ends any wait of urllib3.
"""

import contextlib
import contextvars
import socket
import threading
import time

import urllib3

_deadline = contextvars.ContextVar("deadline")
"""The deadline of this thread's request; threads share a pool of connections."""


class Deadline:
    """The time limit for one request and its answer, in force as a context manager.

    Args:
        seconds: From the connect to the last byte of the body.
    """

    def __init__(self, seconds):
        self._end = time.monotonic() + seconds
        self._sock = None
        self._lock = threading.Lock()
        self._timer = threading.Timer(seconds, self._shut_down)
        self._timer.daemon = True

    def __enter__(self):
        self._token = _deadline.set(self)
        self._timer.start()
        return self

    def __exit__(self, *_):
        _deadline.reset(self._token)
        with self._lock:
            self._sock = None
        self._timer.cancel()

    @property
    def is_over(self):
        """Returns whether the time is up."""
        return time.monotonic() >= self._end

    def seconds_left(self):
        """Returns the time left; raises `TimeoutError` if there is none."""
        seconds = self._end - time.monotonic()
        if seconds <= 0:
            raise TimeoutError("the deadline is over")
        return seconds

    def watch(self, sock):
        """Has a socket shut down at the deadline."""
        with self._lock:
            self._sock = sock
        self.seconds_left()

    def _shut_down(self):
        with self._lock, contextlib.suppress(OSError):  # it may be closed already
            if self._sock is not None:
                socket.socket.shutdown(self._sock, socket.SHUT_RDWR)


def pool_manager(max_connections):
    """Makes a `urllib3.PoolManager` whose requests must be sent within a `Deadline`."""
    manager = urllib3.PoolManager(maxsize=max_connections, retries=False)
    manager.pool_classes_by_scheme = {"http": _HTTPPool, "https": _HTTPSPool}
    return manager


class _WatchedConnection:
    """Binds a urllib3 connection to the deadline of the request that uses it."""

    def connect(self):
        deadline = _deadline.get()
        self.timeout = deadline.seconds_left() / self._num_addresses()  # urllib3 tries all of them
        super().connect()
        self.timeout = deadline.seconds_left()

    def _num_addresses(self):
        with contextlib.suppress(OSError, UnicodeError):  # urllib3 reports it
            return len(socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM))
        return 1

    def request(self, *args, **options):
        if self.sock is None:
            self.connect()
        _deadline.get().watch(self.sock)
        super().request(*args, **options)


class _HTTPConnection(_WatchedConnection, urllib3.connection.HTTPConnection):
    pass


class _HTTPSConnection(_WatchedConnection, urllib3.connection.HTTPSConnection):
    pass


class _HTTPPool(urllib3.HTTPConnectionPool):
    ConnectionCls = _HTTPConnection


class _HTTPSPool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _HTTPSConnection
