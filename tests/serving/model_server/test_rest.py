"""What the recorded pairs do not show of REST: packed bodies, odd paths, limits, metrics, time."""

import contextlib
import gzip
import itertools
import json
import resource
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed

import numpy as np
import pytest
import urllib3

from aiayn_keras.serving.model_server import BatchingParameters, reserve_port
from aiayn_keras.serving.model_server import server as server_module
from aiayn_keras.serving.model_server.rest import answer_of, inputs_of
from aiayn_keras.serving.model_server.server import max_connections
from tests.export.test_monitoring import METRICS
from tests.serving.echo_version import EchoVersion
from tests.serving.model_server.conftest import write_config

PREDICT = "/v1/models/small/labels/stable:predict"
BODY = b'{"inputs": {"text": ["a", "b"]}}'
ANSWER = {"translation": ["a", "b"], "score": [0.0, 0.0], "normalized_score": [0.0, 0.0]}


@pytest.fixture
def ask():
    with urllib3.PoolManager(retries=False) as pool:

        def ask(server, method, path, body=None, **headers):
            url = f"http://127.0.0.1:{server.rest_port}{path}"
            return pool.request(method, url, body=body, headers=headers, timeout=60)

        yield ask


@pytest.mark.parametrize("batching", [None, BatchingParameters(64, 1000, 64, 2)])
def test_rows_and_columns_are_answered(start_server, ask, batching):
    server = start_server(batching=batching)
    assert ask(server, "POST", PREDICT, BODY).json() == {"outputs": ANSWER}
    rows = ask(server, "POST", PREDICT, b'{"instances": ["a", "b"]}').json()["predictions"]
    assert [row["translation"] for row in rows] == ["a", "b"]
    assert ask(server, "POST", PREDICT, iter([BODY[:5], BODY[5:]])).json() == {"outputs": ANSWER}


def test_a_packed_request_is_unpacked(start_server, ask):
    server = start_server()
    packed = gzip.compress(BODY)
    answer = ask(server, "POST", PREDICT, packed, **{"content-encoding": "gzip"})
    assert answer.json() == {"outputs": ANSWER}
    answer = ask(server, "POST", PREDICT, packed, **{"content-encoding": "x-gzip"})
    assert answer.json() == {"outputs": ANSWER}
    broken = ask(server, "POST", PREDICT, BODY, **{"content-encoding": "gzip"})
    assert (broken.status, "not packed by gzip" in broken.json()["error"]) == (400, True)
    cut = ask(server, "POST", PREDICT, packed[:-9], **{"content-encoding": "gzip"})
    assert (cut.status, "its end is missing" in cut.json()["error"]) == (400, True)
    bomb = gzip.compress(b" " * (1 << 27))
    answer = ask(server, "POST", PREDICT, bomb, **{"content-encoding": "gzip"})
    assert (answer.status, "larger than" in answer.json()["error"]) == (400, True)


@pytest.mark.parametrize(
    ("method", "path", "status", "error"),
    [
        ("POST", "/v1/models/small/labels/st%61ble:predict", 200, None),
        ("POST", "/V1/Models/small:predict", 200, None),
        ("POST", "/v1/models/small:Predict", 400, "Malformed request: POST /v1/models/small:Pred"),
        ("POST", "/v1/models/small:predict?x=1", 400, "Malformed request: POST /v1/models/small:"),
        ("GET", "/v1/models/small?x=1", 404, "Could not find any versions of model small?x=1"),
        ("POST", "/v1/models/Small:predict", 404, "Servable not found for request: Latest(Small)"),
        ("POST", "/v1/models/small/versions/x:predict", 400, "Malformed request: POST "),
        ("POST", "/v1/models/small/versions/99999999999999999999:predict", 400, "to numeric."),
        ("POST", f"/v1/models/small/versions/{30 * '0'}1:predict", 200, None),
        ("POST", f"/v1/models/small/versions/{'0' * 20 + '9' * 5000}:predict", 400, "to numeric."),
        ("POST", "/v1/models/small/versions/1/labels/stable:predict", 400, "Malformed request"),
        ("GET", "/v1/models/small/", 400, "Malformed request: GET /v1/models/small/"),
        ("GET", "/v1/models/small/versions/1/metadata", 200, None),
        ("GET", "/v2/models/small", 404, None),
    ],
)
def test_paths_are_read_as_the_server_reads_them(start_server, ask, method, path, status, error):
    answer = ask(start_server(), method, path, BODY if method == "POST" else None)
    assert answer.status == status
    if error is not None:
        assert error in answer.json()["error"]


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("[" * 100_000, "nested too deep"),
        ('{"inputs": ' + 500 * "[" + '"a"' + 500 * "]" + "}", ""),
        ('{"instances": [{"text": "a"}, {}]}', "element: 1 of 'instances' list. JSON object: {} k"),
        ('{"instances": [{}]}', "element: 0 of 'instances' list"),
        ('{"instances": [{"text": "a"}, {"text": "b", "x": 1}]}', "have named input: x"),
        ('{"inputs": {"text": [' + "9" * 5_000 + "]}}", ""),
        ('{"inputs": {"text": [{"b64": 5}]}}', "5\n} not formatted correctly for base64 data"),
        ('{"instances": [{"b64": 5}]}', "does not have named input: b64"),
        ('{"inputs": {"text": [{"b64": "YWI=="}]}}', "Unable to base64 decode"),
        ('{"inputs": {"text": [{"b64": "YWJjZ"}]}}', "Unable to base64 decode"),
        ('{"inputs": {"b64": "ü"}}', "Unable to base64 decode"),
        ('{"inputs": null}', "Type: Null is not of expected type: string"),
        ('{"inputs": [[], ["a"]]}', "Encountered list at unexpected size: 1"),
        ('{"inputs": ["a", ["b"]]}', "Encountered list at unexpected level: 1 expected < 1"),
        ('{"inputs": [["a"], "b"]}', 'JSON Value: "b" found at incorrect level: 2 in the JSON DOM'),
        ('{"instances": [{"text": "a"}, "b"]}', "Expecting object but got list at item 1 of"),
    ],
)
def test_odd_requests_are_wrong_requests(start_server, ask, body, error):
    answer = ask(start_server(), "POST", PREDICT, body.encode())
    assert answer.status == 400
    assert error in answer.json()["error"]


@pytest.mark.parametrize(
    ("rows", "error"),
    [
        (["a", 5], "1 of 'instances' list. Error: INVALID_ARGUMENT: JSON Value: 5 Type: Number is"),
        (
            [{"text": None}],
            "0 key: text of 'instances' list. Error: INVALID_ARGUMENT: JSON Value: ",
        ),
        ([["a", "b"], ["c"]], "INVALID_ARGUMENT: Expecting tensor size: 2 but got: 1"),
        ([["a"], "b"], "INVALID_ARGUMENT: Expecting shape [1] but got: []"),
        ([[["a", "b"]], [["c"], ["d"]]], "Expecting shape [1,2] but got: [2,1]"),
    ],
)
def test_a_wrong_row_is_named(start_server, ask, rows, error):
    answer = ask(start_server(), "POST", PREDICT, json.dumps({"instances": rows}))
    message = answer.json()["error"]
    assert (answer.status, message[:27]) == (400, "Failed to process element: ")
    assert error in message


def test_rows_and_columns_of_several_inputs_need_names():
    dtypes = {"target": "string", "source": "string"}
    for request, error in (
        ({"inputs": ["a"]}, "inputs is a plain value/list, but expecting an object as multiple"),
        ({"instances": ["a"]}, "instances is a plain list, but expecting list of objects as mult"),
        ({"instances": [{"source": "a"}]}, "keys must be equal to: source,target"),
    ):
        with pytest.raises(ValueError, match=error):
            inputs_of(request, dtypes)


def test_lists_of_token_ids_of_unequal_depth_are_refused():
    with pytest.raises(ValueError, match="JSON Value: 6 found at incorrect level: 2 in the JSON"):
        inputs_of({"inputs": {"token_ids": [[5], 6]}}, {"token_ids": "int32"})


@pytest.mark.parametrize("packed", ["w7E=", "w7E", "w7E.", " w7\nE\t"])
def test_base64_needs_no_padding(packed):
    request = {"instances": [{"b64": packed}, {"b64": ""}]}
    has_rows, inputs = inputs_of(request, {"text": "string"})
    assert (has_rows, inputs["text"].tolist()) == (True, ["ñ".encode(), b""])


def test_token_ids_that_no_int32_holds_are_refused():
    request = {"inputs": {"token_ids": [[1 << 31]]}}
    with pytest.raises(ValueError, match="2147483648 Type: Number is not of expected type: int32"):
        inputs_of(request, {"token_ids": "int32"})


def test_the_states_of_failed_versions_have_their_errors(echo_kit, start_server, ask):
    write_config(echo_kit, [1, 2], stable=1)
    server = start_server({"broken": {2}, "retry_seconds": 3_600})
    rows = ask(server, "GET", "/v1/models/small").json()["model_version_status"]
    assert [(row["version"], row["state"]) for row in rows] == [
        ("2", "LOADING"),
        ("1", "AVAILABLE"),
    ]
    assert rows[0]["status"] == {"error_code": "UNKNOWN", "error_message": "broken on purpose"}
    (row,) = ask(server, "GET", "/v1/models/small/labels/stable").json()["model_version_status"]
    assert row["version"] == "1"


class Gated(EchoVersion):
    """A double whose answers wait for a gate."""

    gate, arrived = threading.Event(), threading.Semaphore(0)

    def run(self, signature, inputs):
        self.arrived.release()
        assert self.gate.wait(60)
        return super().run(signature, inputs)


@pytest.fixture
def gate():
    Gated.gate, Gated.arrived = threading.Event(), threading.Semaphore(0)
    yield Gated.gate
    Gated.gate.set()


def test_a_full_queue_is_answered_with_503(start_server, ask, gate):
    server = start_server({"load": Gated}, batching=BatchingParameters(2, 0, 1, 1))
    with ThreadPoolExecutor(4) as pool:
        running = pool.submit(ask, server, "POST", PREDICT, BODY)
        assert Gated.arrived.acquire(timeout=60)
        others = [pool.submit(ask, server, "POST", PREDICT, BODY) for _ in range(3)]
        # There is a place for one of them.
        for refused in itertools.islice(as_completed(others), 2):
            message = refused.result().json()["error"]
            assert "queue to which this task was submitted is full" in message
        gate.set()
        assert sorted(each.result().status for each in (running, *others)) == [200, 200, 503, 503]


@pytest.mark.parametrize("batching", [None, BatchingParameters(2, 0, 8, 1)])
def test_a_request_is_given_up_after_its_time(start_server, ask, gate, batching):
    server = start_server({"load": Gated}, batching=batching, request_seconds=0.05)
    answer = ask(server, "POST", PREDICT, BODY)
    assert answer.status == 504
    if batching is not None:
        answer = ask(server, "POST", PREDICT, BODY)
        assert (answer.status, "waiting in batching queue" in answer.json()["error"]) == (429, True)


def test_requests_that_come_together_are_one_batch(start_server, ask, gate):
    server = start_server({"load": Gated}, batching=BatchingParameters(8, 0, 8, 1))
    _, version = server.kit.find("small")
    with ThreadPoolExecutor(5) as pool:
        first = pool.submit(ask, server, "POST", PREDICT, BODY)
        assert Gated.arrived.acquire(timeout=60)
        others = [pool.submit(ask, server, "POST", PREDICT, BODY) for _ in range(4)]
        batches = server._batcher._queues
        end = time.monotonic() + 60
        while sum(batch.num_rows for queue in list(batches.values()) for batch in queue) < 8:
            assert time.monotonic() < end
            time.sleep(0.01)
        gate.set()
        assert {each.result().status for each in (first, *others)} == {200}
    assert version.batches == [2, 8]


def test_closing_answers_what_was_asked_and_refuses_more(start_server, ask, gate):
    server = start_server({"load": Gated}, batching=BatchingParameters(2, 0, 8, 1))
    with ThreadPoolExecutor(2) as pool:
        running = pool.submit(ask, server, "POST", PREDICT, BODY)
        assert Gated.arrived.acquire(timeout=60)
        closing = pool.submit(server.close, 60)
        end = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", server.rest_port)).close()
            except ConnectionError:
                break
            assert time.monotonic() < end
        gate.set()
        assert closing.result()
        assert running.result().json() == {"outputs": ANSWER}


@pytest.mark.parametrize("batching", [None, BatchingParameters(2, 0, 99, 1)])
def test_closing_refuses_what_it_has_no_time_to_compute(start_server, ask, gate, batching):
    server = start_server({"load": Gated}, batching=batching)
    with ThreadPoolExecutor(70) as pool:  # more than the server's threads
        asked = [pool.submit(ask, server, "POST", PREDICT, BODY) for _ in range(70)]
        end = time.monotonic() + 60
        while len(server._rest._server.active_channels) < 70:
            assert time.monotonic() < end
            time.sleep(0.01)
        assert not server.close(2)
        answers = {(each.result().status, each.result().json()["error"]) for each in asked}
    message = "The server is shutting down and has not computed this request: send it again"
    assert answers == {(503, message)}


def test_closing_leaves_clients_that_ask_nothing(start_server, ask, gate):
    server = start_server({"load": Gated}, batching=BatchingParameters(2, 0, 8, 1))
    with ThreadPoolExecutor(2) as pool:
        running = pool.submit(ask, server, "POST", PREDICT, BODY)
        assert Gated.arrived.acquire(timeout=60)
        address = ("127.0.0.1", server.rest_port)
        with socket.create_connection(address) as asked, socket.create_connection(address) as new:
            asked.settimeout(30)
            asked.sendall(b"GET /v1/models/small HTTP/1.1\r\n\r\n")
            assert asked.recv(12) == b"HTTP/1.1 200"
            closing = pool.submit(server.close, 60)
            while asked.recv(4096):
                pass
            new.settimeout(30)
            assert new.recv(1) == b""
            assert not running.done()
        gate.set()
        assert closing.result()
        assert running.result().json() == {"outputs": ANSWER}


def test_the_metrics_are_those_of_the_rules_and_the_dashboard(start_server, ask):
    server = start_server(batching=BatchingParameters(64, 0, 64, 1))
    for path, body in ((PREDICT, BODY), (PREDICT, b"{"), ("/v1/models/x:predict", BODY)):
        ask(server, "POST", path, body)
    answer = ask(server, "GET", "/monitoring/prometheus/metrics")
    text = answer.data.decode()
    assert (answer.status, answer.headers["content-type"]) == (200, "text/plain")
    assert [name for name in sorted(METRICS) if f"\n{name}{{" not in text] == []
    wrong = ask(server, "GET", "/monitoring/prometheus/metrics?name=x")
    assert (wrong.status, wrong.data[:17]) == (400, b"Unexpected path: ")
    counts = [line for line in text.splitlines() if "request_count{" in line]
    assert counts == [
        ':tensorflow:serving:request_count{model_name="small",status="INVALID_ARGUMENT"} 1',
        ':tensorflow:serving:request_count{model_name="small",status="OK"} 1',
    ]


def test_an_error_that_nobody_foresaw_is_answered(start_server, ask):
    class Broken(EchoVersion):
        def run(self, signature, inputs):
            raise ZeroDivisionError("on purpose")

    answer = ask(start_server({"load": Broken}), "POST", PREDICT, BODY)
    assert (answer.status, answer.json()) == (500, {"error": "ZeroDivisionError: on purpose"})


def test_numbers_have_the_digits_of_float32():
    outputs = {
        "score": np.array([-1.75662708, 0.1], np.float32),
        "ids": np.array([[1, 2], [3, 0]], np.int32),
        "text": np.array([b"\xc3\xb1", b"\xff"], object),
    }
    assert json.dumps(answer_of(outputs, False), ensure_ascii=False) == (
        '{"outputs": {"score": [-1.75662708, 0.100000001], "ids": [[1, 2], [3, 0]], '
        '"text": ["ñ", "\ufffd"]}}'
    )
    assert answer_of(outputs, True)["predictions"][1] == {
        "score": 0.100000001,
        "ids": [3, 0],
        "text": "\ufffd",
    }


def test_a_reserved_port_refuses_clients_until_the_server_listens():
    with reserve_port("127.0.0.1", 0, "--port") as reserved:
        address = reserved.getsockname()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(address)
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(OSError, match=f"Port {port} of 127.0.0.1 .* --port 0"):
            reserve_port("127.0.0.1", port, "--port")


def test_a_port_is_reserved_once_and_free_again_after_the_server(start_server):
    with reserve_port("127.0.0.1", 0, "--port") as reserved:
        port = reserved.getsockname()[1]
        with pytest.raises(OSError, match=f"Port {port} of 127.0.0.1 .* another program uses it"):
            reserve_port("127.0.0.1", port, "--port")
        server = start_server(rest_socket=reserved)
        with socket.create_connection(("127.0.0.1", port)):
            server.close()  # the side that closes first keeps the connection for a minute
    reserve_port("127.0.0.1", port, "--port").close()


def test_clients_without_a_file_descriptor_left_for_them_wait(start_server, monkeypatch):
    monkeypatch.setattr("resource.getrlimit", lambda _: (8, 8))
    server = start_server()
    with contextlib.ExitStack() as stack:
        clients = []
        for _ in range(5):
            client = socket.create_connection(("127.0.0.1", server.rest_port), timeout=60)
            clients.append(stack.enter_context(client))
            client.sendall(b"GET /v1/models/small HTTP/1.1\r\n\r\n")
        assert clients[0].recv(12) == b"HTTP/1.1 200"
        clients[-1].settimeout(0.5)
        with pytest.raises(TimeoutError):
            clients[-1].recv(12)
        for client in clients[:-1]:
            client.close()
        clients[-1].settimeout(60)
        assert clients[-1].recv(12) == b"HTTP/1.1 200"


@pytest.mark.parametrize("beginning", [b"", b"POST / HTTP/1.1\r\nContent-Length: 99\r\n\r\n"])
def test_connections_that_are_slow_to_ask_make_room(start_server, monkeypatch, beginning):
    monkeypatch.setattr("resource.getrlimit", lambda _: (12, 12))
    monkeypatch.setattr(server_module, "SECONDS_TO_ASK", 0.3)
    monkeypatch.setattr(server_module, "_SECONDS_BETWEEN_LOOKS", 0.05)
    server = start_server()
    address = "127.0.0.1", server.rest_port
    with contextlib.ExitStack() as stack:
        slow = [stack.enter_context(socket.create_connection(address, 30)) for _ in range(9)]
        for client in slow:
            client.sendall(beginning)
        is_over = threading.Event()
        dripping = threading.Thread(target=drip, args=(slow if beginning else [], is_over))
        dripping.start()
        try:
            for _ in range(3):
                asked = stack.enter_context(socket.create_connection(address, 30))
                asked.sendall(b"GET /v1/models/small HTTP/1.1\r\n\r\n")
                assert asked.recv(12) == b"HTTP/1.1 200"
        finally:
            is_over.set()
            dripping.join()
        answer = slow[0].recv(4096)
        if beginning:
            assert answer.startswith(b"HTTP/1.1 408")
            assert answer.endswith(b'send it again"}')
        else:
            assert answer == b""


def drip(clients, is_over):
    """Sends a letter to each connection every tenth of a second, while it is open."""
    while not is_over.wait(0.1):
        for client in clients:
            with contextlib.suppress(OSError):
                client.send(b"x")


def test_a_slow_client_has_its_time_while_there_is_room(start_server, monkeypatch):
    monkeypatch.setattr(server_module, "SECONDS_TO_ASK", 0.1)
    server = start_server()
    with socket.create_connection(("127.0.0.1", server.rest_port), timeout=30) as client:
        for part in (b"GET /v1/models/", b"small HTTP/1.1\r\n", b"\r\n"):
            client.sendall(part)
            time.sleep(0.3)
        assert client.recv(12) == b"HTTP/1.1 200"


@pytest.mark.parametrize(
    ("num_files", "expected"),
    [(1024, 900), (1 << 20, 900), (resource.RLIM_INFINITY, 900), (256, 132), (64, 32)],
)
def test_connections_leave_file_descriptors_for_other_files(monkeypatch, num_files, expected):
    monkeypatch.setattr("resource.getrlimit", lambda _: (num_files, num_files))
    assert max_connections() == expected


@pytest.mark.parametrize("host", ["192.0.2.1", "no.such.host.invalid", "a" * 300, ""])
def test_a_host_that_is_not_this_machine_is_named(host):
    with pytest.raises(OSError, match="is not an address of this machine"):
        reserve_port(host, 0, "--port")
