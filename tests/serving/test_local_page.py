"""The local page's server: right answers, clear refusals, and nothing for other sites."""

import base64
import concurrent.futures
import contextlib
import dataclasses
import re
import time
from pathlib import Path

import numpy as np
import pytest

from aiayn_keras.serving.local_page import page as page_module
from aiayn_keras.serving.local_page import server as page_server_module
from aiayn_keras.serving.local_page.requests import MAX_DOCUMENT_BYTES
from aiayn_keras.serving.local_page.server import MAX_CONNECTIONS, MAX_WAITING
from tests.serving.page_server import (
    FACTS,
    KIT_FACTS,
    EchoTranslatorDouble,
    FailingTranslatorDouble,
    PageServer,
    WaitingTranslatorDouble,
)

GIRL, MÄDCHEN = "The girl is happy.", "Das Mädchen ist glücklich."
TEXT = f"{GIRL}\n\n   Paul works.\r\n"
TRANSLATION = f"{MÄDCHEN}\n\n   Paul arbeitet.\r\n"


@pytest.fixture(scope="module")
def page(folder_translator):
    with PageServer(folder_translator, FACTS) as server:
        yield server


@pytest.fixture
def waiting():
    """A server whose translations wait, and the double that makes them wait."""
    translator = WaitingTranslatorDouble()
    with PageServer(translator, FACTS) as server:
        yield server, translator
        translator.may_end.release(1000)


# ---- Answers ----


def test_a_text_is_answered_with_as_many_hypotheses_as_are_wanted(page):
    answer = page.ask("/translate", {"text": TEXT, "num_hypotheses": 3})
    assert answer.status == 200
    content = answer.json()
    assert content["translation"] == TRANSLATION
    assert [len(each["hypotheses"]) for each in content["sentences"]] == [3, 3]
    assert content["sentences"][0]["hypotheses"][0]["text"] == MÄDCHEN
    assert 0 < content["seconds"] < 60


PAGE = "<p>The girl is <b>happy</b>.</p>\n"
BYTES = {"content_type": "application/octet-stream"}


def test_a_file_is_answered_with_its_translation(page):
    answer = page.ask("/document?name=page.html", PAGE.encode(), **BYTES)
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "application/octet-stream"
    assert answer.body.decode() == "<p>Das Mädchen ist <b>glücklich</b>.</p>\n"


@pytest.mark.parametrize(
    ("query", "body", "headers", "status", "message"),
    [
        ("", b"text", BYTES, 400, "Name the file in `name`"),
        ("?name=a%0Ab.txt", b"text", BYTES, 400, "printable"),
        ("?name=a.txt", b"text", {"content_type": "text/plain"}, 415, "Send the file, as"),
        ("?name=a.pdf", b"%PDF", BYTES, 422, r"a\.pdf: the format \.pdf is not supported"),
        ("?name=notes", b"text", BYTES, 422, r"notes: files may end in \.txt"),
        ("?name=a.docx", b"no zip", BYTES, 422, r"a\.docx: "),
        ("?name=a.txt", b"\xff\xfe", BYTES, 422, r"a\.txt: it is UTF-16"),
        ("?name=a.csv", b"a,b\n", BYTES, 422, r"a\.csv: "),
    ],
)
def test_what_is_no_document_is_refused_in_one_sentence(
    page, query, body, headers, status, message
):
    answer = page.ask(f"/document{query}", body, **headers)
    assert answer.status == status
    assert re.search(message, answer.json()["error"])


def test_a_file_that_is_too_large_is_refused(page):
    connection = page.connect()
    connection.putrequest("POST", "/document?name=a.txt")
    connection.putheader("Content-Type", "application/octet-stream")
    connection.putheader("Content-Length", str(MAX_DOCUMENT_BYTES + 1))
    connection.endheaders()  # the body would be sent now
    assert connection.getresponse().status == 413
    connection.close()


def test_a_page_of_a_kit_takes_no_files():
    with PageServer(EchoTranslatorDouble(), KIT_FACTS) as server:
        assert server.ask("/document?name=a.txt", b"text", **BYTES).status == 404


def test_sentences_and_hypotheses_are_answered_with_their_pieces(page, demo_model):
    tokenizer = demo_model.preprocessor.tokenizer
    (sentence,) = page.ask("/translate", {"text": GIRL}).json()["sentences"]
    assert ids_of(sentence["pieces"]) == [*tokenizer(GIRL), tokenizer.end_token_id]
    (best,) = sentence["hypotheses"]
    pieces = best["pieces"]
    assert [each["piece"] for each in pieces] == [*map(tokenizer.id_to_token, ids_of(pieces))]
    assert ids_of(pieces) == [*tokenizer(MÄDCHEN), tokenizer.end_token_id]


def ids_of(pieces):
    return [each["id"] for each in pieces]


def test_the_readers_beams_and_penalty_are_those_of_the_search(page, demo_model):
    content = {"text": GIRL, "num_hypotheses": 10, "num_beams": 2, "length_penalty": 1.5}
    (sentence,) = page.ask("/translate", content).json()["sentences"]
    options = {"num_beams": 2, "length_penalty": 1.5, "num_return_sequences": 2}
    expected = demo_model.translate(GIRL, **options).hypotheses
    assert [each["text"] for each in sentence["hypotheses"]] == [each.text for each in expected]
    np.testing.assert_allclose(
        [each["normalized_score"] for each in sentence["hypotheses"]],
        [each.normalized_score for each in expected],
        rtol=1e-4,
    )
    for name, value in (("num_beams", 0), ("length_penalty", -1.0), ("length_penalty", 1e400)):
        for path, text in (("/translate", "text"), ("/steps", "source")):
            answer = page.ask(path, {text: GIRL, name: value})
            assert_refused(answer, 422, f"`{name}` must be")


def test_attention_is_answered_for_a_text_and_for_its_pieces(page, demo_model):
    tokenizer = demo_model.preprocessor.tokenizer
    content = {"source": GIRL, "target": MÄDCHEN}
    found = page.ask("/explore", content).json()
    assert found["words"]["written"] == [*map(tokenizer.id_to_token, tokenizer(MÄDCHEN)), "</s>"]
    assert found["title"] == f"{GIRL} → {MÄDCHEN}"
    assert page.ask("/explore", {**content, "ids": tokenizer(MÄDCHEN).tolist()}).json() == found
    letters = [tokenizer.token_to_id(piece) for piece in "▁Das"]  # other pieces of the same text
    written = page.ask("/explore", {**content, "ids": letters}).json()["words"]["written"]
    assert written == [*"▁Das", "</s>"]


@pytest.mark.slow
def test_the_search_is_answered_with_its_steps(page, demo_model):
    asked = {"source": GIRL, "num_beams": 2, "length_penalty": 1.5}
    found = page.ask("/steps", asked).json()
    assert found["chosen"] == {"beams": 2, "alpha": 1.5}
    assert [each["beams"] for each in found["searches"]] == [1, 2, 3, 4, 5]
    record = demo_model.record_search(GIRL, (2,), (1.5,)).searches[0]
    search = found["searches"][1]
    best = {each["alpha"]: each["best"] for each in search["recorded"]}[1.5]
    assert search["finished"][best][1] == record.finished[record.best[1.5]].text
    assert page.ask("/steps", {**asked, "target": MÄDCHEN}).status == 400


def test_the_next_piece_has_the_probability_that_it_has_in_a_score(page, demo_model):
    tokenizer = demo_model.preprocessor.tokenizer
    ids = [*tokenizer(MÄDCHEN).tolist(), tokenizer.end_token_id]
    expected = demo_model.score([GIRL], [MÄDCHEN], per_token=True)[0]
    for place in range(len(ids)):
        found = page.ask("/next", {"source": GIRL, "ids": ids[:place]}).json()
        log_probs = np.frombuffer(base64.b64decode(found["logits"]), "<f4")
        assert log_probs[ids[place]] == pytest.approx(expected[place], abs=1e-4)
        assert np.exp(log_probs).sum() == pytest.approx(1, abs=1e-4)
        may_be_chosen = np.frombuffer(base64.b64decode(found["may_be_chosen"]), "u1")
        never = {tokenizer.pad_token_id, tokenizer.unk_token_id, tokenizer.start_token_id}
        never |= set() if place else {tokenizer.end_token_id}
        assert set(np.flatnonzero(may_be_chosen == 0)) == never
        assert len(found["best"]) == 12
        assert found["best"][0]["id"] == np.where(may_be_chosen, log_probs, -np.inf).argmax()
        assert found["written"] == tokenizer.detokenize(ids[:place])
        assert found["limit"] is None


def test_at_the_limit_only_the_end_is_left(page, demo_model):
    tokenizer = demo_model.preprocessor.tokenizer
    limit = len(tokenizer(GIRL)) + 50
    assert len(page.ask("/next", {"source": GIRL, "ids": [10] * (limit - 1)}).json()["best"]) > 1
    found = page.ask("/next", {"source": GIRL, "ids": [10] * limit}).json()
    assert found["limit"] == limit
    assert ids_of(found["best"]) == [found["end_id"]] == [tokenizer.end_token_id]


@pytest.mark.parametrize("translation", [MÄDCHEN, "Der Hund singt.", "", "<img src=x>"])
def test_the_readers_translation_has_the_score_of_score(page, demo_model, translation):
    asked = {"source": GIRL, "target": translation, "length_penalty": 0.0}
    found = page.ask("/score", asked).json()
    expected = demo_model.score([GIRL], [translation], per_token=True)[0]
    log_probs = [each["log_prob"] for each in found["pieces"]]
    np.testing.assert_allclose(log_probs, expected, atol=1e-4)
    assert found["score"] == found["log_prob"] == pytest.approx(sum(log_probs), abs=1e-4)
    for each in found["pieces"]:
        assert (each["rank"] == 1) == (each["best"] == each["piece"])
        assert each["best_log_prob"] >= each["log_prob"]


@pytest.mark.parametrize("path", ["/next", "/explore"])
@pytest.mark.parametrize(
    ("ids", "status"),
    [([1000], 422), ([3] * 256, 422), ([-1], 400), ([0.5], 400), ([3] * 9999, 400)],
)
def test_ids_that_cannot_be_are_refused(page, path, ids, status):
    content = {"source": GIRL, "ids": ids, **({"target": ""} if path == "/explore" else {})}
    assert_refused(page.ask(path, content), status, "ids")


@pytest.mark.parametrize("path", ["/steps", "/next", "/score"])
def test_what_a_kit_does_not_have_is_not_there(path):
    with PageServer(EchoTranslatorDouble(), KIT_FACTS) as server:
        assert server.ask(path, {"source": GIRL}).status == 404


def test_the_page_loads_only_its_own_files_and_is_framed_by_nobody(page):
    answer = page.ask("/", method="GET")
    assert answer.status == 200
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; connect-src 'self';")
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    html = answer.body.decode()
    stated = html.split('Content-Security-Policy" content="')[1].split('"')[0]
    assert policy == f"{stated}; frame-ancestors 'none'"
    links = re.findall(r'(?:src|href)="(.*?)"', html)
    assert not [link for link in links if ":" in link.replace("data:,", "")]
    assert "<script>" not in html
    assert " style=" not in html
    assert '"a command"' in html


def test_the_page_s_files_are_served_with_their_types(page):
    folder = Path(page_module.__file__).parents[1] / "play_page"
    names = [path.name for path in folder.iterdir() if path.suffix in (".js", ".css")]
    types = {".js": "text/javascript", ".css": "text/css", ".txt": "text/plain"}
    for name in (*names, "shared.css", "explorer.txt", "decoding_steps.txt"):
        answer = page.ask(f"/{name}", method="GET")
        assert answer.status == 200
        assert answer.headers["Content-Type"] == f"{types[Path(name).suffix]}; charset=utf-8"
        assert page.ask(f"/{name}", method="GET", host="evil.example").status == 403
        assert page.ask(f"/{name}", {}).status == 405
    for name in ("onnx/worker.js", "service_worker.js", "page.py", "%2e%2e/page.py"):
        assert page.ask(f"/{name}", method="GET").status == 404


@pytest.mark.parametrize(("method", "path"), [("GET", "/"), ("POST", "/translate"), ("GET", "/x")])
def test_every_answer_is_of_its_type_and_says_nothing_of_where_it_was(page, method, path):
    headers = page.ask(path, {"text": ""} if method == "POST" else None, method).headers
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cache-Control"] == "no-store"
    assert headers["Content-Security-Policy"]
    assert headers["Server"] is None


def test_facts_of_markup_are_inert(folder_translator):
    attack = "</script><script>alert(1)</script>"
    facts = dataclasses.replace(FACTS, name=attack, languages=None, deploy=attack)
    with PageServer(folder_translator, facts) as server:
        html = server.ask("/", method="GET").body.decode()
    assert html.count("</script>") == 2  # the facts' and the page's
    assert "<script>alert" not in html


# ---- Refusals ----


def assert_refused(answer, status, *parts):
    """The answer is one sentence of JSON."""
    assert answer.status == status, answer.body
    assert answer.headers["Content-Type"] == "application/json; charset=utf-8"
    (message,) = answer.json().values()
    assert "Traceback" not in message
    assert "\n" not in message
    assert message.endswith(".")
    for part in parts:
        assert part in message


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "localhost", ""]
)
@pytest.mark.parametrize("path", ["/", "/translate"])
def test_a_host_that_is_not_this_machine_is_refused(page, host, path):
    content, method = (None, "GET") if path == "/" else ({"text": GIRL}, "POST")
    answer = page.ask(path, content, method, host=host.format(port=page.port))
    assert_refused(answer, 403, page.url.rstrip("/"))


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "LOCALHOST"])
def test_this_machine_is_answered_by_both_names(page, name):
    origin = f"http://{name}:{page.port}"
    headers = {"host": f"{name}:{page.port}", "origin": origin}
    assert page.ask("/translate", {"text": GIRL}, **headers).status == 200


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1:{port}"]
)
def test_a_page_of_another_site_is_refused(page, origin):
    headers = {"origin": origin.format(port=page.port)}
    assert_refused(page.ask("/translate", {"text": GIRL}, **headers), 403, "other sites")


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", ""]
)
def test_a_form_of_another_site_is_refused(page, content_type):
    answer = page.ask("/translate", {"text": GIRL}, content_type=content_type)
    assert_refused(answer, 415, "application/json")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff",
        b'"text"',
        b"[" * 100_000,
        b'{"text": 1}',
        b'{"text": null}',
        b'{"txt": "a"}',
        b'{"text": "a", "more": 1}',
        b'{"text": "\\ud800"}',
        b'{"text": "a", "num_hypotheses": 0}',
        b'{"text": "a", "num_hypotheses": 1000}',
        b'{"text": "a", "num_hypotheses": true}',
        b'{"text": "a", "num_hypotheses": 1e400}',
    ],
)
def test_a_body_of_another_form_is_refused(page, body):
    assert_refused(page.ask("/translate", body), 400, "`text`, `num_hypotheses`")


def test_a_text_that_is_too_long_is_refused_with_both_lengths(page):
    assert_refused(page.ask("/translate", {"text": "a " * 50_000}), 413, "100,000", "10,000")
    answer = page.ask("/explore", {"source": "a", "target": "a" * 1001})
    assert_refused(answer, 413, "1,001", "1,000")
    answer = page.ask("/explore", {"source": "a " * 400, "target": "a"})
    assert_refused(answer, 422, "256 positions")
    assert page.ask("/translate", {"text": "\x00" * 10_000}).status == 200


def test_a_body_that_is_too_large_is_not_read(page):
    assert page.ask("/translate", b'{"text": "' + b"a" * 300_000 + b'"}').status == 413
    assert page.ask("/translate", {"text": GIRL}).status == 200


def test_what_is_not_there_is_said(page):
    assert_refused(page.ask("/nowhere", method="GET"), 404)
    assert_refused(page.ask("/../../etc/passwd", method="GET"), 404)
    answer = page.ask("/translate", method="GET")
    assert_refused(answer, 405, "POST")
    assert answer.headers["Allow"] == "POST"
    assert_refused(page.ask("/", {}, method="DELETE"), 405, "GET")


def test_the_head_of_a_page_is_that_of_the_page(page):
    head, whole = (page.ask("/", method=method) for method in ("HEAD", "GET"))
    assert (head.status, head.body) == (200, b"")
    assert head.headers["Content-Length"] == str(len(whole.body))
    assert page.ask("/translate", method="HEAD").status == 405


def test_a_fault_is_told_to_the_terminal_and_not_to_the_page(caplog):
    with PageServer(FailingTranslatorDouble(), FACTS) as server:
        answer = server.ask("/translate", {"text": GIRL})
    assert_refused(answer, 500, "terminal")
    assert b"secret" not in answer.body
    assert "KeyError: 'secret'" in caplog.text


# ---- Many requests ----


@pytest.mark.slow
def test_fifty_requests_at_once_are_answered_rightly_or_refused(page):
    texts = [f"{GIRL}\n" * (1 + number % 5) for number in range(50)]
    with concurrent.futures.ThreadPoolExecutor(50) as executor:
        answers = list(executor.map(lambda text: page.ask("/translate", {"text": text}), texts))
    statuses = [answer.status for answer in answers]
    assert set(statuses) <= {200, 503}
    assert statuses.count(200) >= MAX_WAITING
    for text, answer in zip(texts, answers, strict=True):
        if answer.status == 200:
            assert answer.json()["translation"] == text.replace(GIRL, MÄDCHEN)
        else:
            assert_refused(answer, 503)
            assert answer.headers["Retry-After"] == "1"
    assert page.ask("/translate", {"text": GIRL}).json()["translation"] == MÄDCHEN


def test_more_than_may_wait_are_refused_at_once_and_the_page_is_still_shown(waiting):
    server, translator = waiting
    with concurrent.futures.ThreadPoolExecutor(MAX_WAITING + 9) as executor:
        asked = [
            executor.submit(server.ask, "/translate", {"text": str(number)})
            for number in range(MAX_WAITING + 9)
        ]
        refused = [answer.result() for answer in first(asked, 8)]
        assert {answer.status for answer in refused} == {503}
        assert server.ask("/", method="GET").status == 200
        translator.may_end.release(MAX_WAITING + 1)
    assert sorted(each.result().status for each in asked) == [200] * 17 + [503] * 8
    assert len(translator.texts) == MAX_WAITING + 1


def first(futures, count):
    """As many of the futures as end first."""
    ended = concurrent.futures.as_completed(futures, timeout=30)
    return [next(ended) for _ in range(count)]


@pytest.mark.parametrize(("path", "field"), [("/translate", "text"), ("/steps", "source")])
def test_a_client_that_goes_is_forgotten_waiting_or_not(waiting, path, field):
    server, translator = waiting
    first_client, second_client = server.connect(), server.connect()
    for client, text in ((first_client, "first"), (second_client, "second")):
        body = f'{{"{field}": "{text}"}}'
        client.request("POST", path, body, {"content-type": "application/json"})
        if text == "first":
            assert translator.started.acquire(timeout=30)
    second_client.close()
    first_client.close()
    assert translator.started.acquire(timeout=30), "it is told that the first is abandoned"
    with concurrent.futures.ThreadPoolExecutor(1) as executor:
        third = executor.submit(server.ask, "/translate", {"text": "third"})
        while translator.texts[-1] != "third":
            assert translator.started.acquire(timeout=30)
        translator.may_end.release()
        assert third.result().json()["translation"] == "third"
    assert translator.abandoned[0] == "first"
    assert set(translator.texts) - set(translator.abandoned) == {"third"}


def test_connections_that_ask_nothing_do_not_keep_others_waiting(monkeypatch):
    monkeypatch.setattr(page_server_module, "SECONDS_IDLE", 1)
    with PageServer(EchoTranslatorDouble(), FACTS) as page, contextlib.ExitStack() as stack:
        for _ in range(MAX_CONNECTIONS + 5):
            idle = stack.enter_context(contextlib.closing(page.connect()))
            idle.connect()
        start = time.monotonic()
        assert page.ask("/", method="GET").status == 200
        assert time.monotonic() - start < 10


def test_a_search_that_nobody_waits_for_ends_after_a_step(folder_translator):
    steps = []

    class LeftError(Exception):
        pass

    def leave_at_the_third():
        steps.append(1)
        if len(steps) == 3:
            raise LeftError

    with pytest.raises(LeftError):
        folder_translator.steps(GIRL, leave_at_the_third)
    assert len(steps) == 3
