"""`aiayn-keras request`, sent to the test double of a server."""

import contextlib
import json
import re
import socket

import pytest

from tests.cli.command import assert_one_clear_line, run
from tests.helpers import assert_close, slow_but
from tests.serving.conftest import kit, running_server, server  # noqa: F401 - fixtures
from tests.serving.lies import Case
from tests.serving.lying_servers import LyingServers
from tests.serving.rest_lies import body_of, http

pytest.importorskip("grpc")
pytest.importorskip("tensorflow_serving")


@pytest.fixture
def urls(server):  # noqa: F811
    return {
        "rest": f"http://127.0.0.1:{server.rest_port}",
        "grpc": f"grpc://127.0.0.1:{server.grpc_port}",
    }


@pytest.mark.parametrize("kind", slow_but(["grpc"], ["rest", "grpc"]))
def test_request_translates_lines(kind, urls, model):
    url = urls[kind]
    lines = ["The old bus arrived yesterday.", "", "Half past three."]
    text = "".join(f"{line}\n" for line in lines)
    newest = ("request", url, "small", "--version", "newest")
    result = run(*newest, input=text)
    assert result.exit_code == 0, result.output
    expected = model.translate(lines, num_return_sequences=4)
    assert result.stdout.splitlines() == [each.text for each in expected]
    greedy = run("request", url, "small", input=text).stdout.splitlines()
    assert greedy == [each.text for each in model.translate(lines, num_beams=1)]  # stable
    result = run(*newest, "--n-best", input=text)
    assert result.stdout.splitlines() == [
        "\t".join(h.text for h in each.hypotheses) for each in expected
    ]
    result = run(*newest, "--n-best", "--json", input=text)
    for line, source, translation in zip(result.stdout.splitlines(), lines, expected, strict=True):
        found = json.loads(line)
        assert found["source"] == source
        scores = [hypothesis["normalized_score"] for hypothesis in found["hypotheses"]]
        wanted = [hypothesis.normalized_score for hypothesis in translation.hypotheses]
        assert_close(scores, wanted, rtol=1e-4)


def test_request_keeps_placeables_as_translate_does(urls, model):
    lines = ["Visit https://example.com/a?b=c.", "The {name} works.", "https://a.b/c", "Ja. 😀"]
    newest = ("request", urls["rest"], "small", "--version", "newest")
    text = "".join(f"{line}\n" for line in lines)
    kept = model.translate(lines, placeables="keep", num_return_sequences=4)
    assert kept[0].text != model.translate(lines[0]).text
    found = run(*newest, "--batch-size", "3", input=text).stdout.splitlines()
    assert found == [each.text for each in kept]
    found = run(*newest, "--n-best", input=text).stdout.splitlines()
    assert found == ["\t".join(h.text for h in each.hypotheses) for each in kept]
    found = run(*newest, "--placeables", "translate", input=text).stdout.splitlines()
    assert found == [each.text for each in model.translate(lines)]
    result = run(*newest, "--placeables", "keep", "--document", input=text)
    assert result.exit_code == 2
    assert "--placeables is for lines" in result.stderr


@pytest.mark.parametrize("kind", slow_but(["rest"], ["rest", "grpc"]))
def test_request_translates_a_document(kind, urls, model, tmp_path):
    path = tmp_path / "document.en"
    path.write_bytes(b"A title\r\n\r\n  The girl is happy. She works.\n\n")
    expected = model.translate_documents([path.read_bytes().decode()])[0].text
    arguments = ("request", urls[kind], "small", "--document", "--label", "canary")
    assert run(*arguments, "--input", path).stdout_bytes == expected.encode()
    assert run(*arguments, input=path.read_bytes()).stdout_bytes == expected.encode()
    for option in ("--json", "--n-best"):
        result = run(*arguments, option)
        assert result.exit_code == 2
        assert "--document cannot be combined with" in result.stderr


def test_request_says_what_is_wrong_in_one_line(urls):
    url = urls["rest"]
    result = run("request", url, "large", "--version", "newest", input="Ja.\n")
    assert_one_clear_line(result, "Servable not found")
    result = run("request", url, "large", input="Ja.\n")  # asks for the label `stable`
    assert_one_clear_line(
        result, "models/large", "No model 'large' with the label 'stable' is loaded"
    )
    for arguments in (
        [url, "small", "--version", "1", "--label", "x"],
        ["127.0.0.1:8501", "small"],
    ):
        result = run("request", *arguments)
        assert result.exit_code == 2
        assert "Error: " in result.stderr


@pytest.fixture
def lie():
    """Function of translations that gives the arguments for a server that always sends them."""
    started = []

    def lie(translations):
        scores = [-1.0] * len(translations)
        outputs = {"translation": translations, "score": scores, "normalized_score": scores}
        started.append(LyingServers([Case("", "", steps=[("send", http(body_of(outputs)))])]))
        started[-1].start()
        return started[-1].address(0), "case0"

    yield lie
    for servers in started:
        servers.close()


def test_request_prints_one_line_for_a_line(lie):
    result = run("request", *lie(["a\nb\tc\r", "d"]), input="one.\ntwo.\n")
    assert result.stdout == "a b c \nd\n"


def test_request_does_not_shift_lines(lie):
    result = run("request", *lie(["a"]), input="A.\nB.\n")
    assert result.stdout == ""
    assert_one_clear_line(result, "case0", "`translation`", "B=1 instead of 2")


def test_request_says_among_which_lines_one_is_too_long():
    error = {"error": "assertion failed: [`text`: more than 255 wordpieces in rows] [1] [[{{node}}"}
    refusal = http(body_of(error), status="400 Bad Request")
    with contextlib.closing(LyingServers([Case("", "", steps=[("send", refusal)])])) as servers:
        servers.start()
        for size, lines in ((64, "One of the lines 1 to 3 is"), (1, "Line 1 is")):
            arguments = (servers.address(0), "case0", "--batch-size", size)
            result = run("request", *arguments, input="A.\nB.\nC.\n")
            assert_one_clear_line(result, f"{lines} too long", "more than 255 wordpieces")


@pytest.mark.parametrize(
    ("deadline", "exit_code", "reason"),
    [
        ("nan", 1, "Error: `deadline` must be a number of seconds"),
        ("inf", 2, "Error: Invalid value for '--deadline': inf is not in the range"),
    ],
)
def test_request_refuses_an_endless_deadline(deadline, exit_code, reason):
    result = run("request", "http://127.0.0.1:1", "small", "--deadline", deadline, input="A.\n")
    assert result.exit_code == exit_code
    assert reason in result.stderr


def test_request_says_at_once_that_it_waits(caplog):
    with socket.socket() as unused:  # bound, but nobody listens
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
        arguments = ("request", f"http://{address}", "small", "--deadline", "0.5")
        result = run(*arguments, input="A.\n")
    assert_one_clear_line(result, "Connection refused")
    (waits,) = caplog.messages
    assert f"{address}/v1/models/small/labels/stable:predict: Failed to establish" in waits
    assert re.search(r"Connection refused. Trying again until \d\d:\d\d:\d\d \(0.5 s\)", waits)
