"""A kit's `nginx.conf` in a running nginx: TLS, the password, limits, and empty lists."""

import gzip
import json
import re
import socket
import ssl
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import urllib3

from aiayn_keras.serving import RequestRefusedError, RestClient, ServerUnavailableError
from tests.serving.nginx import PASSWORD, USER, running_nginx

pytest.importorskip("grpc")
pytest.importorskip("tensorflow_serving")

TEXTS = ["The girl is happy.", 'Tick a box, [] or [ ]: "[]" \\ {"text": []}.']
PREDICT = "/v1/models/small/labels/stable:predict"
MAX_BYTES, MAX_REQUESTS = 256 << 10, 16


@pytest.fixture(scope="module")
def proxy(kit, running_server, tmp_path_factory):
    """Port, and the certificate's path."""
    folder = tmp_path_factory.mktemp("nginx")
    with running_nginx(kit, running_server.rest_port, folder) as port:
        yield port, folder / "certificate.pem"


@pytest.fixture
def server(running_server):
    """The server behind the proxy."""
    running_server.num_requests = 0
    return running_server


@pytest.fixture
def ask(proxy):
    """Function that sends a request with the password, and returns status and answer."""
    port, certificate = proxy
    context = ssl.create_default_context(cafile=certificate)

    def ask(method, path, body=None, **headers):
        headers = {**urllib3.make_headers(basic_auth=f"{USER}:{PASSWORD}"), **headers}
        with urllib3.PoolManager(ssl_context=context, retries=False) as pool:
            url = f"https://localhost:{port}{path}"
            answer = pool.request(method, url, body=body, headers=headers, timeout=30)
            return answer.status, answer.data

    return ask


def client_of(proxy, monkeypatch, user=USER, password=PASSWORD, **options):
    port, certificate = proxy
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    password = password.replace(":", "%3A").replace(" ", "%20")
    return RestClient(f"https://{user}:{password}@localhost:{port}", "small", **options)


def test_the_clients_get_through_with_a_password(proxy, server, monkeypatch):
    through = client_of(proxy, monkeypatch)
    direct = RestClient(f"http://127.0.0.1:{server.rest_port}", "small")
    assert through.translate(TEXTS) == direct.translate(TEXTS)
    assert through.version_states() == direct.version_states() == {1: "AVAILABLE"}
    canary = client_of(proxy, monkeypatch, label="canary")
    assert canary.translate_nbest(TEXTS[:1])


def test_an_unknown_certificate_is_refused_with_what_to_do(proxy):
    client = RestClient(f"https://localhost:{proxy[0]}", "small")
    with pytest.raises(RequestRefusedError, match=r"self-signed.*SSL_CERT_FILE=certificate\.pem"):
        client.translate(TEXTS)


def test_another_name_of_the_server_is_refused_as_it_is(proxy, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(proxy[1]))
    with pytest.raises(RequestRefusedError, match="IP address mismatch") as raised:
        RestClient(f"https://127.0.0.1:{proxy[0]}", "small").translate(TEXTS)
    assert "SSL_CERT_FILE" not in str(raised.value)


@pytest.mark.parametrize(("user", "password"), [(USER, "wrong"), ("nobody", PASSWORD)])
def test_a_wrong_password_is_refused(proxy, server, monkeypatch, user, password):
    with pytest.raises(RequestRefusedError, match="401"):
        client_of(proxy, monkeypatch, user, password).translate(TEXTS)
    assert server.num_requests == 0


def test_without_password_or_tls_nobody_gets_through(proxy, ask, server):
    port, _ = proxy
    status, _ = ask("POST", PREDICT, json.dumps({"inputs": TEXTS}), authorization="")
    assert status == 401
    plain = urllib3.request("POST", f"http://localhost:{port}{PREDICT}", json={"inputs": TEXTS})
    assert plain.status == 400
    assert server.num_requests == 0


EMPTY = [
    {"inputs": {"text": []}},
    {"inputs": []},
    {"signature_name": "score", "inputs": {"source": [], "target": []}},
    {"signature_name": "generate_ids", "inputs": {"token_ids": [[]]}},
    {"instances": []},
    {"note": 'a "quoted" [ ] \\', "inputs": {"text": []}},
]


@pytest.mark.parametrize(
    "body",
    [
        *map(json.dumps, EMPTY),
        '{"inputs" : {"text" : [ \r\n\t]} }',
        '{"\\u0069nputs":{"text":[]}}',
        '{"inputs":{"text":[]}} and more',
        '{"inputs":{"text":["a"]},"inputs":{"text":[]}}',
        '\ufeff{"inputs":{"text":[]}}',
        '{"inputs":{"text":["' + "a" * 250_000 + '"], "x": []}}',
        '{"inputs":{"text":[' + '"a",' * 60_000 + '"\\"]"], "x": []}}',
        '{"inputs":{"text":["' + "\\\\" * 100_000 + '"], "x": []}}',
        "[" * 100_000 + "]",
    ],
)
def test_an_empty_list_is_refused_before_it_holds_a_thread(ask, server, body):
    status, answer = ask("POST", PREDICT, body.encode())
    assert status == 400
    assert b"No values in 'instances' array" in answer
    assert server.num_requests == 0
    assert ask("POST", PREDICT, iter([body.encode()]))[0] == 400  # in chunks
    assert server.num_requests == 0


@pytest.mark.parametrize(
    "texts",
    [
        ["[]"],
        ["a"] * 64,
        ["\\"],
        ['\\"', "[", "]", '"[]"'],
        ['"[]' * 1000],
    ],
)
def test_brackets_in_texts_are_no_lists(ask, server, texts):
    inputs = {"source": texts, "target": texts}
    request = json.dumps({"signature_name": "score", "inputs": inputs})
    for body in (request, json.dumps(json.loads(request), indent=3), iter([request.encode()])):
        status, answer = ask("POST", PREDICT, body)
        assert status == 200, answer
        assert len(json.loads(answer)["outputs"]["log_probability"]) == len(texts)


@pytest.mark.slow
def test_large_requests_are_read_and_larger_ones_refused(ask, server):
    def request(num_bytes):
        frame = json.dumps({"inputs": {"text": ["The girl is happy.", ""]}})
        return frame.replace('""', f'"{"[" * (num_bytes - len(frame))}"').encode()

    assert len(request(MAX_BYTES)) == MAX_BYTES
    status, answer = ask("POST", PREDICT, request(MAX_BYTES))
    assert status == 200
    assert len(json.loads(answer)["outputs"]["translation"]) == 2
    assert ask("POST", PREDICT, request(MAX_BYTES + 1))[0] == 413


def test_a_packed_body_is_refused(ask, server):
    packed = gzip.compress(b'{"inputs": {"text": []}}')
    assert ask("POST", PREDICT, packed, **{"content-encoding": "gzip"})[0] == 415
    assert server.num_requests == 0


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1/models/small", 200),
        ("GET", "/v1/models/small/versions/1", 200),
        ("GET", "/v1/models/another", 404),
        ("GET", "/monitoring/prometheus/metrics", 404),
        ("GET", "/v1/models/small/../../../monitoring/prometheus/metrics", 404),
        ("GET", "/", 404),
        ("GET", PREDICT, 403),
        ("PUT", PREDICT, 403),
        ("DELETE", "/v1/models/small", 403),
        ("POST", "/v1/models/small:classify", 404),
    ],
)
def test_nothing_but_the_model_is_behind_it(ask, server, method, path, status):
    assert ask(method, path)[0] == status
    assert server.num_requests == 0


def test_one_client_cannot_take_all_threads(ask, server, monkeypatch):
    from aiayn_keras.serving.model_server import RefusedError

    arrived, gate = threading.Semaphore(0), threading.Event()

    def hold(*_):
        arrived.release()
        gate.wait()
        raise RefusedError("INTERNAL", "held, then refused on purpose")

    monkeypatch.setattr(server, "predict", hold)
    body = json.dumps({"inputs": {"text": ["One."]}})
    with ThreadPoolExecutor(MAX_REQUESTS) as pool:
        held = [pool.submit(ask, "POST", PREDICT, body) for _ in range(MAX_REQUESTS)]
        try:
            for _ in held:
                assert arrived.acquire(timeout=60)
            assert ask("POST", PREDICT, body)[0] == 429
        finally:
            gate.set()
        assert {each.result()[0] for each in held} == {500}


def test_a_server_that_is_gone_is_a_reason_to_wait(kit, tmp_path, monkeypatch):
    with running_nginx(kit, 1, tmp_path) as port:
        client = client_of((port, tmp_path / "certificate.pem"), monkeypatch, deadline=1.0)
        with pytest.raises(ServerUnavailableError, match="502"):
            client.translate(["One."])


@pytest.mark.parametrize("name", ["small", "translation_8443.8501"])
def test_a_second_model_gets_its_own_file(kit, server, tmp_path, monkeypatch, name):
    first = (kit / "nginx.conf").read_text("utf-8")
    (command,) = re.findall("^#   (sed .*) nginx.conf$", first, re.MULTILINE)
    own = first.replace("/v1/models/small(", f"/v1/models/{name.replace('.', '[.]')}(")
    options = {"shell": True, "input": own, "text": True, "capture_output": True, "check": True}
    second = subprocess.run(command, **options).stdout
    assert second.count(f"/v1/models/{name.replace('.', '[.]')}(") == 2
    assert "server 127.0.0.1:8502;" in second
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    for old, new in (
        ("listen 8444 ssl;", f"listen 127.0.0.1:{port} ssl;"),
        ("127.0.0.1:8502;", f"127.0.0.1:{server.rest_port};"),
        ("/etc/nginx/second/", f"{tmp_path}/"),
    ):
        assert old in second
        second = second.replace(old, new)
    both = tmp_path / "both"
    both.mkdir()
    (both / "nginx.conf").write_text(first + second, encoding="utf-8")
    with running_nginx(both, server.rest_port, tmp_path) as first_port:
        for each, model in ((first_port, "small"), (port, name)):
            client = client_of((each, tmp_path / "certificate.pem"), monkeypatch)
            client.url = client.url.replace("/small/", f"/{model}/")
            if model == "small":
                assert client.translate(TEXTS)
            else:  # the server behind it knows only `small`
                with pytest.raises(RequestRefusedError, match="Unrecognized servable version"):
                    client.translate(TEXTS)


def test_nginx_refuses_a_second_file_as_it_is(kit, tmp_path):
    copy = tmp_path / "small"
    copy.mkdir()
    (copy / "nginx.conf").write_text(2 * (kit / "nginx.conf").read_text("utf-8"))
    with pytest.raises(subprocess.CalledProcessError), running_nginx(copy, 1, tmp_path):
        pass


def test_nginx_refuses_a_broken_file(kit, tmp_path):
    copy = tmp_path / "small"
    copy.mkdir()
    text = (kit / "nginx.conf").read_text("utf-8")
    (copy / "nginx.conf").write_text(text.replace("proxy_set_body", "proxy_body"))
    with pytest.raises(subprocess.CalledProcessError), running_nginx(copy, 1, tmp_path):
        pass


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1:DeprecationWarning")
def test_old_versions_of_tls_are_refused(proxy):
    port, certificate = proxy
    context = ssl.create_default_context(cafile=certificate)
    context.minimum_version, context.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
    pool = urllib3.PoolManager(ssl_context=context, retries=False)
    with pytest.raises(urllib3.exceptions.SSLError):
        pool.request("GET", f"https://localhost:{port}/v1/models/small")
