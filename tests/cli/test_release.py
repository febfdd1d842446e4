"""`aiayn-keras release`, before a double of TensorFlow Serving's loading of versions."""

import json
import re
import shutil
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from aiayn_keras.export.serving_kit import move_label, write_kit
from tests.cli.command import assert_one_clear_line, run
from tests.export.conftest import note_version  # noqa: F401 - a fixture
from tests.export.test_serving_kit import labels_and_versions, models_config

pytest.importorskip("tensorflow_serving")

POLL = 0.05


class LoadingDouble:
    """A double of TensorFlow Serving that loads, labels and unloads versions, and only echoes.

    It reads `models.config` again and again, by the rules of `ServerCore::ReloadConfig`: a label in
    use moves only to a version that is AVAILABLE, or else nothing of the configuration holds.

    Args:
        kit: Folder of the kit.
        broken: Versions that cannot be loaded.
        mute: Versions that are loaded, and answer each request with an error.
    """

    def __init__(self, kit, broken=(), mute=()):
        self.kit, self.broken, self.mute = kit, broken, mute
        self.labels, versions = labels_and_versions(kit)
        self.states = dict.fromkeys(versions, "AVAILABLE")
        self.refused, self.failed_requests = 0, 0
        self.num_unknown = 0
        """Number of questions about a label that is not known yet."""
        self._is_over = threading.Event()

    def __enter__(self):
        double = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                self.send(400, double.status(self.path))

            def do_POST(self):
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                self.send(400, double.predict(self.path, request))

            def send(self, code_of_an_error, answer):
                body = json.dumps(answer).encode()
                self.send_response(code_of_an_error if "error" in answer else 200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        self._threads = [
            threading.Thread(target=each) for each in (self._http.serve_forever, self._poll)
        ]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._is_over.set()
        self._http.shutdown()
        self._http.server_close()
        for thread in self._threads:
            thread.join()

    def predict(self, path, request):
        version = int(re.fullmatch(f"/v1/models/{self.kit.name}/versions/(.*):predict", path)[1])
        if self.states.get(version) != "AVAILABLE" or version in self.mute:
            return {"error": "a fault made on purpose"}
        texts = request["inputs"]["text"]
        scores = [0.0] * len(texts)
        return {"outputs": {"translation": texts, "score": scores, "normalized_score": scores}}

    def status(self, path):
        label = re.fullmatch(f"/v1/models/{self.kit.name}(?:/labels/(.*))?", path)[1]
        states = self.states
        if label is not None:
            version = self.labels.get(label)
            if version is None or self.num_unknown:
                self.num_unknown = max(0, self.num_unknown - 1)
                return {"error": f"Unrecognized servable version label: {label}"}
            states = {version: self.states[version]}
        rows = [{"version": str(v), "state": state, "status": {}} for v, state in states.items()]
        return {"model_version_status": rows}

    def _poll(self):
        while not self._is_over.wait(POLL):
            self._load()
            labels, versions = labels_and_versions(self.kit)
            moved = {label: v for label, v in labels.items() if self.labels.get(label) != v}
            if any(self.states.get(version) != "AVAILABLE" for version in moved.values()):
                self.refused += 1
                continue
            self.labels = labels
            for version in versions:
                self.states.setdefault(version, "START")
            for version in {*self.states} - {*versions}:
                self.states[version] = "END"
            self.failed_requests += self.states[self.labels["stable"]] != "AVAILABLE"

    def _load(self):
        following = {"START": "LOADING", "LOADING": "AVAILABLE"}
        for version, state in self.states.items():
            is_broken = version in self.broken and state == "LOADING"
            self.states[version] = "END" if is_broken else following.get(state, state)


@pytest.fixture
def kit(tmp_path, note_version):  # noqa: F811
    folder = tmp_path / "small"
    note_version(folder, 1)
    write_kit(folder)
    return folder


def export_another(kit, note_version):  # noqa: F811
    number = max(int(path.name) for path in kit.iterdir() if path.name.isdecimal()) + 1
    note_version(kit, number)
    write_kit(kit)


def test_a_version_is_released_and_taken_back_without_a_failed_request(kit, note_version):  # noqa: F811
    with LoadingDouble(kit) as server:
        export_another(kit, note_version)
        steps = (("canary", 2, 2), ("stable", 2, 2), ("stable", "back", 1))
        for label, asked, version in steps:
            result = run("release", kit, label, asked, "--url", server.url)
            assert result.exit_code == 0, result.output
            assert f"{label} is version {version} now" in result.stdout
            assert server.labels[label] == version
        time.sleep(3 * POLL)
    assert (server.refused, server.failed_requests) == (0, 0)
    assert labels_and_versions(kit) == ({"stable": 1, "canary": 2}, [1, 2])


def test_a_label_moved_in_one_step_is_what_the_server_refuses(kit, note_version):  # noqa: F811
    """What the command waits for, shown by the double without it."""
    note_version(kit, 2)
    with LoadingDouble(kit) as server:
        move_label(kit, "canary", 2)
        time.sleep(5 * POLL)
    assert server.refused > 0
    assert server.states == {1: "AVAILABLE"}


def test_a_broken_version_gets_no_label(kit, note_version):  # noqa: F811
    with LoadingDouble(kit, broken={2}) as server:
        export_another(kit, note_version)
        result = run("release", kit, "stable", 2, "--url", server.url)
        assert_one_clear_line_at_the_end(result, "could not load version 2 of small")
    assert dict(models_config(kit).version_labels) == {"stable": 1, "canary": 1}
    assert server.failed_requests == 0


def test_a_label_that_the_server_does_not_know_yet_is_waited_for(kit, note_version):  # noqa: F811
    with LoadingDouble(kit) as server:
        export_another(kit, note_version)
        server.num_unknown = 1
        result = run("release", kit, "canary", 2, "--url", server.url)
    assert result.exit_code == 0, result.output
    assert "Waiting for canary as version 2: not loaded yet" in result.stderr


def test_a_version_that_answers_nothing_gets_no_label(kit, note_version):  # noqa: F811
    with LoadingDouble(kit, mute={2}) as server:
        export_another(kit, note_version)
        result = run("release", kit, "stable", 2, "--url", server.url)
        assert_one_clear_line_at_the_end(result, "a fault made on purpose")
        assert server.states[2] == "AVAILABLE"
    assert dict(models_config(kit).version_labels) == {"stable": 1, "canary": 1}


def test_a_label_goes_back_once_and_not_forward_again(kit, note_version):  # noqa: F811
    message = "has no version that stable could go back to"
    assert_one_clear_line(run("release", kit, "stable", "back"), message, "There are: 1.")
    for version in (2, 3):
        note_version(kit, version)
    for arguments, version in (((3,), 3), ((3,), 3), (("back",), 1)):
        result = run("release", kit, "stable", *arguments)
        assert result.exit_code == 0, result.output
        assert models_config(kit).version_labels["stable"] == version
    assert_one_clear_line(run("release", kit, "stable", "back"), message, "There are: 1, 2, 3.")


def test_the_way_back_outlasts_an_export_and_the_other_label(kit, note_version):  # noqa: F811
    note_version(kit, 2)
    for label in ("stable", "canary"):
        run("release", kit, label, 2)
    export_another(kit, note_version)
    assert labels_and_versions(kit) == ({"stable": 2, "canary": 2}, [2, 3])
    run("release", kit, "canary", 3)
    with LoadingDouble(kit) as server:
        result = run("release", kit, "stable", "back", "--url", server.url)
        assert "stable is version 1 now; it was version 2." in result.stdout, result.output
    assert labels_and_versions(kit) == ({"stable": 1, "canary": 3}, [1, 2, 3])


def test_a_version_that_is_gone_is_no_way_back(kit, note_version):  # noqa: F811
    note_version(kit, 2)
    for label in ("stable", "canary"):
        run("release", kit, label, 2)
    shutil.rmtree(kit / "1")
    assert_one_clear_line(run("release", kit, "stable", "back"), "go back to", "There are: 2.")


def assert_one_clear_line_at_the_end(result, message):
    assert result.exit_code == 1
    last = result.stderr.splitlines()[-1]
    assert last.startswith("Error: ")
    assert message in last


def test_without_a_label_versions_labels_and_states_are_printed(kit, note_version):  # noqa: F811
    note_version(kit, 2)
    result = run("release", kit)
    assert result.stdout == "1\tstable\tcanary\n2\n"
    with LoadingDouble(kit) as server:
        result = run("release", kit, "--url", server.url)
    assert result.stdout == "1\tstable\tcanary\tAVAILABLE\n2\n"
    assert result.stderr.endswith("versions of models.config needs up to 1,792 MiB.\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("stable", 7), "has no version 7. There are: 1."),
        (("stable", 1, "--url", "127.0.0.1"), "`url` must begin with http://"),
    ],
)
def test_what_cannot_be_released_is_named(kit, arguments, message):
    before = (kit / "models.config").read_bytes()
    assert_one_clear_line(run("release", kit, *arguments), message)
    assert (kit / "models.config").read_bytes() == before


def test_a_folder_without_models_config_is_no_kit(tmp_path):
    assert_one_clear_line(run("release", tmp_path, "stable", 1), "is not a kit")
