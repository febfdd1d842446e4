import shutil
import socket
import subprocess
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from aiayn_keras.serving import (
    BadAnswerError,
    DeadlineExceededError,
    GrpcClient,
    NotListeningError,
    RequestRefusedError,
    RestClient,
    ServerUnavailableError,
)
from tests.helpers import assert_close

pytest.importorskip("grpc")
pytest.importorskip("tensorflow_serving")

TEXTS = [
    "The old bus arrived yesterday.",
    "",
    'Half "past"\n three\x00 – naïve 👩‍👩‍👧 ☃.',
    "She knows that the girl is happy.",
    "الحافلة 日本 <s> </s> <pad> ▁",
]


def address_of(kind, server):
    port = server.rest_port if kind == "rest" else server.grpc_port
    return f"http://127.0.0.1:{port}" if kind == "rest" else f"127.0.0.1:{port}"


@pytest.fixture(params=["rest", "grpc"])
def connect(request, server):
    """Returns a function of options that makes a client of either kind, of the newest version."""
    clients = []

    def connect(address=None, **options):
        options.setdefault("label", None)
        make = RestClient if request.param == "rest" else GrpcClient
        client = make(address or address_of(request.param, server), "small", **options)
        clients.append(client)
        return client

    connect.kind = request.param
    yield connect
    for client in clients:
        client.close()


def test_placeables_stay_where_they_are_kept(connect, model):
    texts = ["Visit https://example.com/a?b=c.", "<b>The</b> girl", "12345678", *TEXTS[:2]]
    expected = model.translate(texts, placeables="keep")
    answer = connect(batch_size=2).translate(texts, placeables="keep")
    assert [each.text for each in answer] == [each.text for each in expected]
    assert_close([each.score for each in answer], [each.score for each in expected], rtol=1e-4)
    with pytest.raises(ValueError, match='`placeables` must be "translate" or "keep"'):
        connect().translate_nbest(texts, placeables="drop")


def test_translations_equal_the_models(connect, model):
    expected = model.translate(TEXTS)
    answer = connect().translate(TEXTS)
    assert [each.text for each in answer] == [each.text for each in expected]
    assert_close([each.score for each in answer], [each.score for each in expected], rtol=1e-4)


def test_documents_equal_the_models(connect, model):
    texts = ["\n- The girl is happy. She works.\r\n\n", "", " \n", "Half past three"]
    expected = model.translate_documents(texts)
    answer = connect().translate_documents(texts)
    assert [each.text for each in answer] == [each.text for each in expected]
    assert [each.num_sentences for each in answer] == [2, 0, 0, 1]
    assert_close([each.score for each in answer], [each.score for each in expected], rtol=1e-4)


def test_documents_are_refused_by_a_version_without_them(connect):
    with pytest.raises(RequestRefusedError, match='"translate_document" not found'):
        connect(version=1).translate_documents(["Ja."])


def test_hypotheses_equal_the_models(connect, model):
    expected = model.translate(TEXTS, num_return_sequences=4)
    answer = connect().translate_nbest(TEXTS)
    assert [[h.text for h in each] for each in answer] == [
        [h.text for h in each.hypotheses] for each in expected
    ]
    for hypotheses in answer:
        ranks = [h.normalized_score for h in hypotheses]
        assert ranks == sorted(ranks, reverse=True)


def test_alignments_equal_the_models(connect, model):
    expected = model.translate(TEXTS, return_alignments=True)
    for answer, translation in zip(connect().align(TEXTS), expected, strict=True):
        assert answer.text == translation.text
        if translation.alignment is None:
            assert answer.weights.shape[0] == 0
        else:
            assert answer.target_tokens == (*translation.tokens, "</s>")
            assert_close(answer.weights, translation.alignment, atol=1e-4)


def test_scores_equal_the_models(connect, model):
    pairs = TEXTS[:2], ["Der Bus.", "Ja."]
    assert_close(connect().score(*pairs), model.score(*pairs), rtol=1e-4)


def test_many_texts_are_sent_in_batches_and_answered_in_order(connect, server, model):
    texts = [*TEXTS, "Ja.", "Nein."]
    answer = connect(batch_size=3).translate(texts)
    assert server.num_requests == 3
    assert [each.text for each in answer] == [each.text for each in model.translate(texts)]


def test_no_request_is_sent_for_no_texts(connect, server):
    assert connect().translate([]) == []
    with pytest.raises(ValueError, match="`text` is empty"):
        connect().predict("serving_default", text=[])
    assert server.num_requests == 0


def test_versions_and_labels_are_requested(connect, model):
    greedy = [each.score for each in model.translate(TEXTS, num_beams=1)]
    beams = [each.score for each in model.translate(TEXTS)]
    assert greedy != pytest.approx(beams, rel=1e-3)
    for options in ({"version": 1}, {"label": "stable"}):
        scores = [each.score for each in connect(**options).translate(TEXTS)]
        assert_close(scores, greedy, rtol=1e-4)
    for options in ({"version": 2}, {"label": "canary"}, {"label": None}):
        scores = [each.score for each in connect(**options).translate(TEXTS)]
        assert_close(scores, beams, rtol=1e-4)


@pytest.mark.parametrize("make", [RestClient, GrpcClient])
def test_a_client_asks_for_the_stable_version(make, server, model):
    client = make(address_of("rest" if make is RestClient else "grpc", server), "small")
    greedy = [each.score for each in model.translate(TEXTS, num_beams=1)]
    assert_close([each.score for each in client.translate(TEXTS)], greedy, rtol=1e-4)
    client.close()


def test_an_unavailable_server_is_asked_again(connect, server):
    server.faults = ["UNAVAILABLE"] * 2
    assert len(connect().translate(TEXTS)) == len(TEXTS)
    assert server.num_requests == 3


def test_a_client_gives_up_on_a_server_that_stays_unavailable(connect, server):
    server.faults = ["UNAVAILABLE"] * 99
    with pytest.raises(ServerUnavailableError, match="a fault made on purpose"):
        connect(deadline=0.5).translate(TEXTS)
    assert 2 <= server.num_requests < 9  # waits grow


def test_a_port_that_nobody_listens_on_is_reported(connect):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    address = f"http://127.0.0.1:{port}" if connect.kind == "rest" else f"127.0.0.1:{port}"
    with pytest.raises(ServerUnavailableError, match=f"127.0.0.1:{port}"):
        connect(address, deadline=0.3).translate(TEXTS)


def test_a_client_gives_up_where_nobody_listens(connect):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    address = f"http://127.0.0.1:{port}" if connect.kind == "rest" else f"127.0.0.1:{port}"
    start = time.monotonic()
    with pytest.raises(NotListeningError):
        connect(address, connect_timeout=0.5).translate(TEXTS)
    assert time.monotonic() - start < 30  # the deadline is 60


def test_a_server_that_has_stopped_is_reported(connect, kit, server):
    from tests.serving.loopback_server import LoopbackServer

    with LoopbackServer(kit, server.kit) as other:
        address = address_of(connect.kind, other)
        client = connect(address)
        assert client.translate(["Ja."])
    with pytest.raises(ServerUnavailableError):
        connect(address, deadline=0.3).translate(["Ja."])


def test_a_slow_answer_is_not_waited_for(connect, server):
    server.seconds = 1.0
    with pytest.raises(DeadlineExceededError, match=r"no answer within 0.3 seconds"):
        connect(deadline=0.3).translate(TEXTS)


@pytest.mark.parametrize("code", ["INVALID_ARGUMENT", "NOT_FOUND", "INTERNAL"])
def test_a_refused_request_is_not_repeated(connect, server, code):
    server.faults = [code]
    with pytest.raises(RequestRefusedError, match="a fault made on purpose"):
        connect().translate(TEXTS)
    assert server.num_requests == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"version": 9}, r"Servable not found for request: Specific\(small, 9\)"),
        ({"label": "beta"}, "label: beta. No model 'small' with the label 'beta' is loaded"),
    ],
)
def test_a_version_that_is_not_served_is_named(connect, options, message):
    with pytest.raises(RequestRefusedError, match=message):
        connect(**options).translate(TEXTS)


def test_an_unknown_signature_is_named(connect):
    with pytest.raises(RequestRefusedError, match='"summarize" not found'):
        connect().predict("summarize", text=["Ja."])


def test_an_invalid_text_is_named(connect, server):
    client = connect()
    with pytest.raises(ValueError, match=r"`texts?\[1\]` must be a string of Unicode"):
        client.translate(["Ja.", "\ud83d"])
    with pytest.raises(ValueError, match=r"must be a list of strings. Received: 'Ja.'"):
        client.translate("Ja.")
    with pytest.raises(ValueError, match="1 sources, 2 targets"):
        client.score(["Ja."], ["Ja.", "Nein."])
    assert server.num_requests == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"version": 1, "label": "canary"}, "`version` or `label`, not both"),
        ({"deadline": 0}, "`deadline` must be a number of seconds above 0"),
        ({"batch_size": 0}, "`batch_size` must be an integer from 1"),
    ],
)
def test_impossible_options_are_refused(connect, options, message):
    with pytest.raises(ValueError, match=message):
        connect(**options)


def test_a_url_needs_its_scheme():
    with pytest.raises(ValueError, match="must begin with http"):
        RestClient("127.0.0.1:8501", "small")


def test_an_answer_of_a_different_server_is_refused():
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<html>Welcome</html>")

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as other:
        thread = Thread(target=other.serve_forever)
        thread.start()
        try:
            client = RestClient(f"http://127.0.0.1:{other.server_port}", "small")
            with pytest.raises(
                BadAnswerError, match="not a JSON object with `outputs`: <html>Welcome"
            ):
                client.translate(TEXTS)
            client.close()
        finally:
            other.shutdown()
            thread.join()


@pytest.mark.slow
def test_the_curl_lines_of_the_model_card_work(kit, server, model):
    if shutil.which("curl") is None:
        pytest.skip("no curl on the PATH")
    card = (kit / "README.md").read_text("utf-8")
    commands = card[card.index("curl") :].split("```")[0]
    assert commands.count("curl") == 2
    commands = commands.replace("127.0.0.1:8501", f"127.0.0.1:{server.rest_port}")
    ran = subprocess.run(
        ["bash", "-ec", commands.replace("curl -d", "curl --silent --show-error -d")],
        capture_output=True,
        text=True,
        check=True,
    )
    greedy = model.translate(["Good morning."], num_beams=1)[0]
    assert ran.stdout.count('"outputs"') == 2
    assert ran.stdout.count(f'"{greedy.text}"') == 2  # both ask for the stable version
