"""The REST client with servers that do not have a model."""

import base64
import os
import pickle
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from aiayn_keras.serving import (
    BadAnswerError,
    DeadlineExceededError,
    RestClient,
    ServingError,
    rest_client,
)
from tests.serving.rest_lies import RIGHT
from tests.serving.right_answers import TEXTS, ask, plain_reading, right_outputs


@pytest.fixture
def handler():
    """An HTTP handler that records paths and counts connections, and answers correctly."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        paths, num_connections = [], 0

        def setup(self):
            type(self).num_connections += 1
            super().setup()

        def do_POST(self):
            self.paths.append(self.path)
            self.rfile.read(int(self.headers["Content-Length"]))
            self.answer()

        def answer(self):
            self.send_response(200)
            self.send_header("Content-Length", str(len(RIGHT)))
            self.end_headers()
            self.wfile.write(RIGHT)

        def log_message(self, *_):
            pass

    return Handler


@pytest.fixture
def connect(handler):
    """Returns a function of options that makes a client for a server with the handler."""
    clients = []
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()

        def connect(model="small", **options):
            clients.append(RestClient(f"http://127.0.0.1:{server.server_port}/", model, **options))
            return clients[-1]

        yield connect
        for client in clients:
            client.close()
        server.shutdown()
        thread.join()


def test_a_connection_is_reused(connect, handler):
    client = connect()
    for _ in range(3):
        assert ask(client, "translate") == plain_reading("translate", right_outputs("translate"))
    assert len(handler.paths) == 3
    assert handler.num_connections == 1


def test_a_forked_process_has_connections_of_its_own(connect, handler, monkeypatch):
    client = connect()
    client.translate(TEXTS)
    child = os.getpid() + 1
    monkeypatch.setattr(os, "getpid", lambda: child)
    client.translate(TEXTS)
    assert handler.num_connections == 2


def test_a_client_that_has_asked_can_be_pickled(connect, handler):
    client = connect(label="canary")
    client.translate(TEXTS)
    copy = pickle.loads(pickle.dumps(client))
    assert copy.translate(TEXTS) == client.translate(TEXTS)
    copy.close()
    assert (handler.num_connections, len({*handler.paths})) == (2, 1)


def test_model_and_label_are_quoted(connect, handler):
    connect("a/b c?d#ä%", label="../x:predict").translate(TEXTS)
    assert handler.paths == ["/v1/models/a%2Fb%20c%3Fd%23%C3%A4%25/labels/..%2Fx%3Apredict:predict"]


def test_redirects_are_not_followed(connect, handler):
    def redirect(self):
        self.send_response(307)
        self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()

    handler.answer = redirect
    with pytest.raises(ServingError, match="HTTP 307"):
        connect().translate(TEXTS)
    assert len(handler.paths) == 1


def test_a_body_that_drips_is_not_waited_for(connect, handler):
    def drip(self):
        self.send_response(200)
        self.send_header("Content-Length", str(len(RIGHT)))
        self.end_headers()
        try:
            for byte in RIGHT:
                time.sleep(0.05)
                self.wfile.write(bytes([byte]))
        except ConnectionError:  # the client has given up
            self.close_connection = True

    handler.answer = drip
    with pytest.raises(DeadlineExceededError, match=r"no answer within 0.3 seconds"):
        connect(deadline=0.3).translate(TEXTS)


def test_the_maximum_size_of_an_answer_can_be_set(connect):
    with pytest.raises(BadAnswerError, match="larger than 100 bytes; `max_answer_bytes` can be"):
        connect(max_answer_bytes=100).translate(TEXTS)
    assert connect(max_answer_bytes=2000).translate(TEXTS)


def test_an_answer_of_millions_of_numbers_is_not_read(connect, handler, monkeypatch):
    monkeypatch.setattr(rest_client, "MAX_PARTS", 50)
    answer = RIGHT.replace(b"-1.5", b"1.5," * 100 + b"-1.5")

    def answer_with_numbers(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(answer)))
        handler.end_headers()
        handler.wfile.write(answer)

    handler.answer = answer_with_numbers
    with pytest.raises(BadAnswerError, match=r"10\d values, and at most 100 are read: send fewer"):
        connect(max_answer_bytes=800).translate(TEXTS)


def test_outputs_of_unknown_signatures_are_returned_as_received(connect):
    outputs = connect().predict("summarize", text=["Ja."])
    assert outputs == right_outputs("translate")


def test_inputs_that_json_cannot_hold_are_refused(connect, handler):
    with pytest.raises(ValueError, match="must be lists of strings or numbers"):
        connect().predict("summarize", text=[object()])
    assert handler.paths == []


def test_a_password_is_sent_and_never_shown(connect, handler):
    client = connect()
    address = client.url.partition("://")[2].partition("/")[0]
    seen = []

    def answer(self):
        seen.append(self.headers["Authorization"])
        self.send_response(401)
        self.send_header("Content-Length", "0")
        self.end_headers()

    handler.answer = answer
    client = RestClient(f"http://anna:p%40ss%3A@{address}", "small")
    with pytest.raises(ServingError, match="HTTP 401") as caught:
        client.translate(TEXTS)
    assert seen == ["Basic " + base64.b64encode(b"anna:p@ss:").decode()]
    assert "p%40ss" not in str(caught.value) + client.url
    assert "anna" not in str(caught.value) + client.url
    with pytest.raises(ServingError, match="HTTP 401"):
        RestClient(f"http://anna:5%20%E2%82%AC@{address}", "small").translate(TEXTS)
    assert seen[1] == "Basic " + base64.b64encode("anna:5 €".encode()).decode()


@pytest.mark.parametrize(
    "url",
    ["http://anna:secret@", "http://anna:secret@h/?q", "ftp://anna:secret@h", "anna:secret@h"],
)
def test_a_password_is_not_shown_in_a_url_that_is_refused(url):
    with pytest.raises(ValueError, match="`url` must begin with http") as caught:
        RestClient(url, "small")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("port", ["0", "65536", "99999", "-1", "x"])
def test_a_port_that_cannot_be_is_refused(port):
    with pytest.raises(ValueError, match="port from 1 to 65535"):
        RestClient(f"http://127.0.0.1:{port}", "small")
