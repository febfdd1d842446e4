"""The client for REST, JSON over HTTP; it does not need TensorFlow.

The timeouts of urllib3 start again with every byte that arrives. So one deadline holds for a whole
exchange, however slowly a server reads and sends: a timer shuts the socket down when the time is
up, which ends any wait of urllib3.
"""

import base64
import contextlib
import contextvars
import http.client
import json
import os
import socket
import threading
import time
from urllib.parse import quote, unquote

import urllib3

from aiayn_keras.serving.answers import (
    MAX_PARTS,
    BadAnswerError,
    DeadlineExceededError,
    NotListeningError,
    RequestRefusedError,
    ServerUnavailableError,
    one_line,
)
from aiayn_keras.serving.translation_client import TranslationClient

_deadline = contextvars.ContextVar("deadline")
"""The deadline of this thread's request; threads share a pool of connections."""
MAX_CONNECTIONS = 32
"""Maximum number of idle connections kept for the threads that share a client."""
_PIECE_BYTES = 1 << 16
"""Maximum size of the pieces in which a body is read, even if the server declares more."""
_BYTES_PER_VALUE = 8
"""An answer may hold one value per eight bytes of its maximum size; each takes 32 in memory."""
OK, UNAVAILABLE, _TIMED_OUT = 200, 503, 504
_TRY_AGAIN = (429, 502, UNAVAILABLE)
"""Too many requests; a proxy that cannot reach the server; a server that cannot answer now."""
_UNKNOWN_ISSUERS = (18, 19, 20, 21)
"""OpenSSL's codes for certificates that are self-signed, or signed by an unknown authority."""


class _Deadline:
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
        """Sets the socket that is shut down at the deadline."""
        with self._lock:
            self._sock = sock
        self.seconds_left()

    def _shut_down(self):
        with self._lock, contextlib.suppress(OSError):  # it may be closed already
            if self._sock is not None:
                socket.socket.shutdown(self._sock, socket.SHUT_RDWR)


def _pool_manager(max_connections):
    """Makes a `urllib3.PoolManager` whose requests must be sent within a `_Deadline`."""
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


class RestClient(TranslationClient):
    """Sends requests to TensorFlow Serving's REST API.

    Args:
        url: Address of the server, such as `"http://127.0.0.1:8501"`. A user and password in it,
            `https://USER:PASSWORD@HOST`, are sent as HTTP's basic authentication to a proxy that
            asks for them, and never appear in an error.
        model: Name under which the model is served.
        **options: See `TranslationClient`: `version`, `label`, `deadline` (60 seconds),
            `batch_size` (64), `max_answer_bytes` (64 MB), `connect_timeout` (5 seconds).

    Example:
        >>> client = RestClient("http://127.0.0.1:8501", "demo_en_de")
        >>> client.translate(["The girl is happy."])[0].text  # doctest: +SKIP
        'Das Mädchen ist glücklich.'
    """

    def __init__(self, url, model, **options):
        super().__init__(model, **options)
        version_path = ""
        if self.version is not None:
            version_path = f"/versions/{self.version}"
        elif self.label is not None:
            version_path = f"/labels/{quote(self.label, safe='')}"
        path = f"/v1/models/{quote(self.model, safe='')}{version_path}:predict"
        server, self._headers = _checked_url(url)
        self.url = f"{server.rstrip('/')}{path}"
        self._status_url = self.url.removesuffix(":predict")
        self._process_and_pool = None, None

    def close(self):
        """Closes the connections."""
        self._pool().clear()

    def __getstate__(self):
        return {**self.__dict__, "_process_and_pool": (None, None)}

    def _pool(self):
        """The connections of this process.

        On a connection that a forked process has in common with its parent, each might read the
        answer to the other's request.
        """
        process, pool = self._process_and_pool
        if process != os.getpid():
            pool = _pool_manager(MAX_CONNECTIONS)
            self._process_and_pool = os.getpid(), pool
        return pool

    def version_states(self):
        """Asks for the states of the versions that the client's requests may go to.

        Returns:
            Dictionary from a version's number to its state, such as `"AVAILABLE"`, `"LOADING"` or
            `"END"`: of all versions if the client has neither `version` nor `label`, else of that
            one.

        Raises:
            ServingError: As for a translation; `RequestRefusedError` for a label or version that
                the server does not know.
        """
        return self._of_versions(lambda each: str(each["state"]))

    def version_errors(self):
        """Asks why versions could not be loaded.

        Returns:
            Dictionary from a version's number to one line, `""` without an error: of the versions
            of `version_states`.

        Raises:
            ServingError: As `version_states`.
        """
        return self._of_versions(lambda each: one_line(each["status"]["error_message"]))

    def _of_versions(self, read):
        """Something that `read` finds in each row of the versions' states."""
        status, encoding, body = self._exchange("GET", self._status_url, None, self.deadline)
        found = self._value(status, encoding, body, "model_version_status")
        try:
            return {int(each["version"]): read(each) for each in found}
        except (TypeError, KeyError, ValueError, AttributeError) as error:
            raise BadAnswerError(f"these are not states of versions: {found!r:.200}") from error

    @property
    def _server(self):
        return self.url

    def _predict(self, signature, inputs, seconds):
        try:
            body = json.dumps(
                {"signature_name": signature, "inputs": inputs}, ensure_ascii=False
            ).encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise ValueError(f"The inputs must be lists of strings or numbers: {error}.") from error
        return self._value(*self._exchange("POST", self.url, body, seconds), "outputs")

    def _exchange(self, method, url, body, seconds):
        """Returns the status, the encoding and the body of the answer."""
        with _Deadline(seconds) as deadline:
            try:
                response = self._pool().request(
                    method,
                    url,
                    body=body,
                    headers={"Content-Type": "application/json", **self._headers},
                    timeout=urllib3.Timeout(total=deadline.seconds_left()),
                    redirect=False,
                    preload_content=False,
                    decode_content=False,
                )
                encoding = response.headers.get("Content-Encoding", "identity")
                return response.status, encoding, self._read(response, deadline)
            except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
                raise self._failure(error, deadline.is_over) from error

    def _read(self, response, deadline):
        body = bytearray()
        try:
            while piece := response.read1(_PIECE_BYTES):  # one read of the socket
                deadline.seconds_left()  # what was received before is still there to read
                body += piece
                if len(body) > self.max_answer_bytes:
                    raise BadAnswerError(
                        f"the answer is larger than {self.max_answer_bytes} bytes; "
                        "`max_answer_bytes` can be raised."
                    )
            deadline.seconds_left()  # a socket that was shut down may look like a body's end
        finally:
            response.close()  # which keeps the connection if all was read
            response.release_conn()
        return body

    def _failure(self, error, is_over):
        """Returns the error to raise for an error of urllib3."""
        exceptions = urllib3.exceptions
        # NewConnectionError is derived from urllib3's timeout error, but it is not one.
        if isinstance(error, exceptions.NewConnectionError):
            # The message begins with the name of the connection's class.
            reason = str(error).partition("): ")[2] or str(error)
            return NotListeningError(f"{self.url}: {reason}")
        if is_over or isinstance(error, exceptions.TimeoutError):
            return DeadlineExceededError(f"{self.url}: no answer within {self.deadline:g} seconds.")
        if _is_malformed(error):
            return BadAnswerError(f"the answer is not HTTP: {one_line(str(error))}")
        message = f"{self.url}: {one_line(str(error))}{_remedy(error)}"
        if isinstance(error, exceptions.ProtocolError):
            return ServerUnavailableError(message)
        return RequestRefusedError(message)

    def _value(self, status, encoding, body, key):
        """Returns what the JSON object of an answer has under a key."""
        if status == OK and encoding != "identity":
            raise BadAnswerError(f"the answer is encoded ({one_line(encoding)}), not plain JSON.")
        answer = _parse(body, max(MAX_PARTS, self.max_answer_bytes // _BYTES_PER_VALUE))
        is_object = isinstance(answer, dict)
        if status == OK and is_object and key in answer:
            return answer[key]
        error = answer.get("error") if is_object else None
        reason = one_line(error if isinstance(error, str) else bytes(body[:2000]))
        if status == OK:
            raise BadAnswerError(f"HTTP 200, but not a JSON object with `{key}`: {reason}")
        message = f"{self.url}: HTTP {status}: {reason}"
        if status in _TRY_AGAIN:
            raise ServerUnavailableError(message)
        if status == _TIMED_OUT:
            raise DeadlineExceededError(message)
        raise RequestRefusedError(message)


def _remedy(error):
    """Returns how to trust a certificate whose issuer this machine does not know, or ""."""
    cause = error.args[0] if error.args else None
    if getattr(cause, "verify_code", None) not in _UNKNOWN_ISSUERS:
        return ""
    return (
        ". If you trust the server, put a copy of its certificate into a file, and name the file "
        "in the environment: SSL_CERT_FILE=certificate.pem."
    )


def _is_malformed(error):
    """Returns whether the server's answer was not valid HTTP, rather than the connection lost."""
    if isinstance(error, urllib3.exceptions.ProtocolError):
        error = error.args[-1]
        broken = http.client.RemoteDisconnected | http.client.IncompleteRead
        return isinstance(error, http.client.HTTPException) and not isinstance(error, broken)
    is_from_urllib3 = isinstance(error, urllib3.exceptions.HTTPError)
    return isinstance(error, urllib3.exceptions.InvalidHeader) or not is_from_urllib3


def _checked_url(url):
    """Returns a URL without user and password, and the HTTP headers that have them."""
    try:
        parts = urllib3.util.parse_url(url) if isinstance(url, str) else urllib3.util.Url()
    except urllib3.exceptions.LocationParseError:
        parts = urllib3.util.Url()
    is_plain = parts.query is None and parts.fragment is None
    if parts.scheme not in ("http", "https") or not parts.host or not is_plain or parts.port == 0:
        raise ValueError(
            "`url` must begin with http:// or https:// and name a host, without ? or #, and with a "
            f"port from 1 to 65535 if any. Received: url={_without_password(url)!r:.200}."
        )
    if parts.auth is None:
        return url, {}
    user, _, password = parts.auth.partition(":")
    credentials = base64.b64encode(f"{unquote(user)}:{unquote(password)}".encode())
    return parts._replace(auth=None).url, {"Authorization": f"Basic {credentials.decode()}"}


def _without_password(url):
    """Returns a URL in which `***` replaces user and password, if it has any.

    Args:
        url: A string, or anything else, which is returned as it is.
    """
    if not isinstance(url, str) or "@" not in url:
        return url
    scheme, separator, rest = url.rpartition("://")
    return f"{scheme}{separator}***@{rest.rpartition('@')[2]}"


def _parse(body, max_values):
    """Returns the value of a JSON text, or None if it is not one."""
    num_parts = body.count(b"[") + body.count(b"{") + body.count(b'"') // 2
    if num_parts > MAX_PARTS:
        raise BadAnswerError(f"the answer has {num_parts} strings and lists.")
    num_values = body.count(b",") + 1
    if num_values > max_values:
        raise BadAnswerError(
            f"the answer has {num_values} values, and at most {max_values} are read: send fewer "
            "texts at a time, or raise `max_answer_bytes`."
        )
    try:
        return json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
