"""`aiayn-keras request`, sent to the test double of a server."""

import pytest

from tests.cli.command import assert_one_clear_line, run
from tests.serving.conftest import kit, running_server, server  # noqa: F401 - fixtures

pytest.importorskip("grpc")
pytest.importorskip("tensorflow_serving")


@pytest.fixture
def urls(server):  # noqa: F811
    return {
        "rest": f"http://127.0.0.1:{server.rest_port}",
        "grpc": f"grpc://127.0.0.1:{server.grpc_port}",
    }


@pytest.mark.parametrize("kind", ["rest", "grpc"])
def test_request_translates_lines(kind, urls, model):
    url = urls[kind]
    lines = ["The old bus arrived yesterday.", "", "Half past three."]
    text = "".join(f"{line}\n" for line in lines)
    result = run("request", url, "small", input=text)
    assert result.exit_code == 0, result.output
    expected = model.translate(lines, num_return_sequences=4)
    assert result.stdout.splitlines() == [each.text for each in expected]
    result = run("request", url, "small", "--n-best", input=text)
    assert result.stdout.splitlines() == [
        "\t".join(h.text for h in each.hypotheses) for each in expected
    ]
    result = run("request", url, "small", "--json", input=text)
    assert '"normalized_score"' in result.stdout.splitlines()[0]


def test_request_says_what_is_wrong_in_one_line(urls):
    url = urls["rest"]
    result = run("request", url, "large", input="Ja.\n")
    assert_one_clear_line(result, "Servable not found")
    for arguments in (
        [url, "small", "--version", "1", "--label", "x"],
        ["127.0.0.1:8501", "small"],
    ):
        result = run("request", *arguments)
        assert result.exit_code == 2
        assert "Error: " in result.stderr
