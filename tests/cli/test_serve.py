"""`aiayn-keras serve` prints the address of a page that works, and ends quietly."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.cli.command import assert_one_clear_line, run

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


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def test_a_model_folder_is_served_until_it_is_interrupted():
    port, translations = free_port(), []

    def ask_and_interrupt():
        while not translations:
            try:
                translations.append(translate(port))
            except ConnectionRefusedError:
                time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=ask_and_interrupt)
    thread.start()
    result = run("serve", FOLDER, "--port", port, "--num-beams", 2)
    thread.join()
    assert translations == [MÄDCHEN]
    assert result.exit_code == 0, result.output
    assert result.stdout == (
        f"demo_en_de_keras: http://127.0.0.1:{port}/ (Ctrl-C ends it)\n"
        "For exploring, not for production. "
        f"To deploy: aiayn-keras export saved-model {FOLDER} --output models\n"
    )
    assert result.stderr == f"Loading {FOLDER} ...\n"


def test_a_kit_is_served_until_it_is_interrupted():
    command = [sys.executable, "-m", "aiayn_keras_cli", "serve", str(KIT), "--port", "0"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        lines = [process.stdout.readline(), process.stdout.readline()]
        (port,) = re.findall(r"^demo_en_de/1: http://127\.0\.0\.1:(\d+)/ ", lines[0])
        assert translate(int(port)) == MÄDCHEN
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=60)
    assert lines[1] == f"For exploring, not for production. To deploy: see {KIT / 'README.md'}\n"
    assert rest == ""
    assert errors == f"Loading {KIT} ...\n"
    assert process.returncode == 0


def test_a_port_that_is_taken_is_said_before_anything_is_loaded():
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        result = run("serve", KIT, "--port", port)
    assert_one_clear_line(result, f"Port {port}", "another program", "--port 0")
    assert "Loading" not in result.stderr


def test_the_search_of_a_kit_is_not_changed():
    result = run("serve", KIT / "1", "--num-beams", 2)
    assert result.exit_code == 2
    assert "were fixed when it was exported" in result.stderr


@pytest.mark.parametrize("port", [-1, 65536, "http"])
def test_a_port_that_cannot_be_is_refused(port):
    result = run("serve", KIT, "--port", port)
    assert result.exit_code == 2
    assert "--port" in result.stderr
