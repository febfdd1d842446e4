"""`aiayn-keras serve` prints the address of a page that works, and ends quietly."""

import http.client
import json
import re
import signal
import socket
from pathlib import Path

import pytest

from tests.cli.command import assert_one_clear_line, run, start

SAVED_MODELS = Path(__file__).parents[2] / "saved_models"
FOLDER, KIT = SAVED_MODELS / "demo_en_de_keras", SAVED_MODELS / "demo_en_de"
GIRL, MÄDCHEN = "The girl is happy.", "Das Mädchen ist glücklich."


def translate(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        body = json.dumps({"text": GIRL})
        connection.request("POST", "/translate", body, {"Content-Type": "application/json"})
        return json.load(connection.getresponse())["translation"]
    finally:
        connection.close()


def serve_once(name, folder, *options):
    """Serves a folder until it has translated a text.

    Returns:
        The first lines of standard output, its end, standard error, and the exit code.
    """
    with start("serve", folder, *options, "--port", 0) as process:
        lines = []
        while not lines or not lines[-1].startswith("For exploring"):
            lines.append(process.stdout.readline())
            assert lines[-1], process.communicate()
        (port,) = re.findall(rf"^{name}: http://127\.0\.0\.1:(\d+)/ \(Ctrl-C ends it\)$", lines[0])
        assert translate(int(port)) == MÄDCHEN
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=60)
    return lines, rest, errors, process.returncode


@pytest.mark.parametrize(
    ("folder", "options", "name", "deploy"),
    [
        (
            FOLDER,
            ["--num-beams", "2", "--engine", "keras"],
            "demo_en_de_keras",
            f"aiayn-keras export saved-model {FOLDER} --output models",
        ),
        pytest.param(
            *(KIT, [], "demo_en_de/1", f"see {KIT / 'README.md'}"), marks=pytest.mark.slow
        ),
    ],
    ids=["a model folder", "a kit"],
)
def test_it_is_served_until_it_is_interrupted(folder, options, name, deploy):
    lines, rest, errors, code = serve_once(name, folder, *options)
    api = [f"For programs (REST, gRPC): aiayn-keras serve {KIT} --api\n"] if folder == KIT else []
    assert lines[1:] == [*api, f"For exploring, not for production. To deploy: {deploy}\n"]
    assert rest == ""
    assert errors == f"Loading {folder} ...\n"
    assert code == 0


def test_an_interruption_before_the_first_request_ends_it_quietly(monkeypatch):
    def interrupt(url):
        raise KeyboardInterrupt

    monkeypatch.setattr("click.launch", interrupt)
    result = run("serve", FOLDER, "--engine", "keras", "--port", 0, "--open")
    assert (result.exit_code, result.stdout.splitlines()[-1][:13]) == (0, "For exploring")


def test_a_port_that_is_taken_is_said_before_anything_is_loaded():
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        result = run("serve", KIT, "--port", port)
    assert_one_clear_line(result, f"Port {port}", "another program", "--port 0")
    assert "Loading" not in result.stderr


@pytest.mark.parametrize("option", [("--num-beams", 2), ("--engine", "keras")])
def test_the_search_of_a_kit_is_not_changed(option):
    result = run("serve", KIT / "1", *option)
    assert result.exit_code == 2
    assert "were fixed when it was exported" in " ".join(result.stderr.split())


def test_an_engine_that_cannot_search_is_refused_before_there_is_a_page():
    pytest.importorskip("ctranslate2")
    options = "--port", 0, "--engine", "ctranslate2", "--no-repeat-ngram-size", 3
    result = run("serve", FOLDER, *options)
    assert_one_clear_line(result, "ctranslate2 cannot be used", "`no_repeat_ngram_size`")
    assert result.stdout == ""


@pytest.mark.slow
def test_the_engine_is_said():
    pytest.importorskip("ctranslate2")
    _, _, errors, _ = serve_once(FOLDER.name, FOLDER)
    engine = "ctranslate2 searches; --engine keras would use our own search."
    assert errors == f"Loading {FOLDER} ...\n{engine}\n"


@pytest.mark.parametrize("port", [-1, 65536, "http"])
def test_a_port_that_cannot_be_is_refused(port):
    result = run("serve", KIT, "--port", port)
    assert result.exit_code == 2
    assert "--port" in result.stderr
