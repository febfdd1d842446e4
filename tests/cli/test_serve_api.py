"""`aiayn-keras serve --api` serves a kit to programs, and ends cleanly."""

import contextlib
import re
import shutil
import signal
import socket
import threading
from pathlib import Path

import pytest

from aiayn_keras.serving import GrpcClient, RestClient, ServingError
from aiayn_keras_cli.serve import _interruption
from tests.cli.command import assert_one_clear_line, run, start

pytest.importorskip("tensorflow_serving")

SAVED_MODELS = Path(__file__).parents[2] / "saved_models"
FOLDER, KIT = SAVED_MODELS / "demo_en_de_keras", SAVED_MODELS / "demo_en_de"
GIRL, MÄDCHEN = "The girl is happy.", "Das Mädchen ist glücklich."


@contextlib.contextmanager
def serving(kit, *options):
    """The process, its lines of standard output, and the ports of REST and gRPC."""
    ports = "--port", 0, "--grpc-port", 0
    with start("serve", kit, "--api", *options, *ports) as process:
        try:
            lines = []
            while not lines or not lines[-1].startswith("For trying"):
                lines.append(process.stdout.readline())
                assert lines[-1], process.communicate()
            address = rf"^{kit.name}: http://127\.0\.0\.1:(\d+)/v1/models/{kit.name} \(Ctrl-C ends"
            (rest,) = re.findall(address, lines[0])
            (grpc,) = re.findall(r"^gRPC: 127\.0\.0\.1:(\d+)$", "".join(lines), re.MULTILINE)
            yield process, lines, int(rest), int(grpc)
        finally:
            process.kill()


def test_a_kit_is_served_until_the_process_is_terminated():
    with serving(KIT) as (process, lines, rest, grpc):
        assert lines[1] == "version 1, canary, stable\n"
        assert lines[-1].endswith(f"To deploy: see {KIT / 'README.md'}\n")
        for client in (
            RestClient(f"http://127.0.0.1:{rest}", KIT.name),
            GrpcClient(f"127.0.0.1:{grpc}", KIT.name),
        ):
            assert client.translate([GIRL])[0].text == MÄDCHEN
            client.close()
        shown = run("release", KIT, "--url", f"http://127.0.0.1:{rest}")
        assert shown.stdout == "1\tstable\tcanary\tAVAILABLE\n"
        process.send_signal(signal.SIGTERM)
        output, errors = process.communicate(timeout=60)
    assert (output, errors, process.returncode) == ("", f"Loading {KIT} ...\n", 0)


@pytest.mark.slow
def test_no_request_fails_while_versions_are_released_and_taken_back(tmp_path):
    from aiayn_keras.export.serving_kit import move_label, write_kit

    kit = tmp_path / KIT.name
    shutil.copytree(KIT, kit)
    with serving(kit, "--poll", "0.2") as (process, _, rest, _):
        shutil.copytree(KIT / "1", kit / "2")
        write_kit(kit)
        url, errors, answers, is_over = f"http://127.0.0.1:{rest}", [], [], threading.Event()

        def ask():
            client = RestClient(url, kit.name)
            while not is_over.is_set():
                try:
                    answers.append(client.translate([GIRL])[0].text)
                except ServingError as error:
                    errors.append(str(error))
            client.close()

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        try:
            for label, version in (("canary", 2), ("stable", 2), ("stable", "back")):
                result = run("release", kit, label, version, "--url", url)
                assert result.exit_code == 0, result.output
        finally:
            is_over.set()
            for thread in threads:
                thread.join()
        assert (errors, {*answers}) == ([], {MÄDCHEN})
        assert move_label(kit, "canary", 1) == 2
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == 0


@pytest.mark.parametrize("is_ignored", [False, True])  # True: by `nohup`
def test_a_closed_terminal_ends_the_server_as_ctrl_c_does_unless_it_is_ignored(is_ignored):
    outside = signal.SIG_IGN if is_ignored else lambda *_: None
    before = signal.signal(signal.SIGHUP, outside)
    try:
        with _interruption() as is_over:
            signal.raise_signal(signal.SIGHUP)
            assert is_over.is_set() != is_ignored
        assert signal.getsignal(signal.SIGHUP) == outside
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.slow
def test_a_process_that_still_loads_ends_when_it_is_interrupted():
    with start("serve", KIT, "--api", "--port", 0, "--grpc-port", 0) as process:
        assert process.stderr.readline() == f"Loading {KIT} ...\n"
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
    assert (output, errors, process.returncode) == ("", "", 0)


def test_a_model_folder_is_answered_with_the_commands_that_serve_it():
    result = run("serve", FOLDER, "--api")
    assert result.exit_code == 2
    words = " ".join(result.stderr.split())
    assert f"aiayn-keras export saved-model {FOLDER} --output models" in words
    assert "aiayn-keras serve models/demo_en_de_keras --api" in words


def test_a_version_is_answered_with_its_kit():
    result = run("serve", KIT / "1", "--api")
    assert result.exit_code == 2
    assert f"give {KIT.resolve()}." in " ".join(result.stderr.split())


def test_a_file_is_no_kit():
    result = run("serve", KIT / "models.config", "--api")
    assert result.exit_code == 2
    assert "models.config is a file." in " ".join(result.stderr.split())


@pytest.mark.parametrize(("name", "reason"), [("", "has no models.config"), ("x", "not exist")])
def test_any_other_folder_is_refused(tmp_path, name, reason):
    result = run("serve", tmp_path / name, "--api")
    assert_one_clear_line(result, "is not a serving kit", reason, "export saved-model")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--api", "--open"), "--open is for the page"),
        (("--api", "--num-beams", 2), "were fixed when it was exported"),
        (("--grpc-port", 8500), "--grpc-port needs --api"),
        (("--host", "0.0.0.0"), "--host needs --api"),
        (("--poll", 1), "--poll needs --api"),
        (("--api", "--poll", 0), "--poll"),
        (("--api", "--port", 8500), "must differ. Received: 8500"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, message):
    result = run("serve", KIT, *options)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


@pytest.mark.parametrize("option", ["--port", "--grpc-port"])
def test_a_port_that_is_taken_is_said_before_anything_is_loaded(option):
    others = {"--port": "--grpc-port", "--grpc-port": "--port"}
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        result = run("serve", KIT, "--api", option, port, others[option], 0)
    assert_one_clear_line(result, f"Port {port}", "another program uses it", f"{option} 0")
    assert "Loading" not in result.stderr


def test_a_kit_whose_graph_may_do_more_is_refused(tmp_path):
    from tensorflow.core.protobuf import saved_model_pb2

    kit = tmp_path / KIT.name
    shutil.copytree(KIT, kit)
    (kit / "1" / "SHA256SUMS").unlink()
    path = kit / "1" / "saved_model.pb"
    saved = saved_model_pb2.SavedModel.FromString(path.read_bytes())
    saved.meta_graphs[0].graph_def.node.add(name="evil", op="WriteFile")
    path.write_bytes(saved.SerializeToString())
    result = run("serve", kit, "--api", "--port", 0, "--grpc-port", 0)
    assert_one_clear_line(result, "Version 1 of", "the operation `WriteFile`", "--trust")
