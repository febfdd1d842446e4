"""`aiayn-keras release`, before the model server with a double of what it loads."""

import contextlib
import shutil
import threading
import time
from types import SimpleNamespace

import pytest

from aiayn_keras.export.server_files import ModelsConfig
from aiayn_keras.export.serving_kit import move_label, write_kit
from aiayn_keras.serving import RestClient, ServingError
from aiayn_keras.serving.model_server import ModelServer, RefusedError, ServedKit
from tests.cli.command import assert_one_clear_line, run
from tests.export.conftest import note_version  # noqa: F401 - a fixture
from tests.export.test_serving_kit import labels_and_versions, models_config
from tests.serving.echo_version import loading

pytest.importorskip("tensorflow_serving")

POLL = 0.05


@contextlib.contextmanager
def running(kit, broken=(), mute=(), served_class=ServedKit):
    """The model server; its versions are doubles that give texts back.

    Args:
        kit: Folder of the kit.
        broken: Versions that cannot be loaded.
        mute: Versions that are loaded, and answer each request with an error.
        served_class: `ServedKit` or a class derived from it.
    """
    load = loading(broken, mute)
    served = served_class(kit, poll_seconds=POLL, retry_seconds=POLL, load=load)
    served.start()
    with contextlib.closing(served), ModelServer(served) as server:
        yield SimpleNamespace(served=served, url=f"http://127.0.0.1:{server.rest_port}")


def states(server):
    return {number: state for number, (state, _) in server.served.states("small").items()}


@contextlib.contextmanager
def asking_all_the_time(server):
    """Gives a list of errors and one of answers of the label `stable` during the block."""
    errors, answers, is_over = [], [], threading.Event()

    def ask():
        client = RestClient(server.url, "small", deadline=60.0)
        while not is_over.is_set():
            try:
                answers.append(client.translate(["Ja."])[0].text)
            except ServingError as error:
                errors.append(str(error))
        client.close()

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield errors, answers
    finally:
        is_over.set()
        thread.join()


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
    with running(kit) as server, asking_all_the_time(server) as (errors, answers):
        export_another(kit, note_version)
        steps = (("canary", 2, 2), ("stable", 2, 2), ("stable", "back", 1))
        for label, asked, version in steps:
            result = run("release", kit, label, asked, "--url", server.url)
            assert result.exit_code == 0, result.output
            assert f"{label} is version {version} now" in result.stdout
            assert server.served.labels[label] == version
            assert server.served.problem == ""
        time.sleep(3 * POLL)
    assert errors == []
    assert {*answers} == {"Ja."}
    assert labels_and_versions(kit) == ({"stable": 1, "canary": 2}, [1, 2])


def test_a_label_moved_in_one_step_is_what_the_server_refuses(kit, note_version):  # noqa: F811
    """What the command waits for, shown without it."""
    note_version(kit, 2)
    with running(kit) as server:
        move_label(kit, "canary", 2)
        while not server.served.problem:
            time.sleep(POLL)
        assert "moves the label canary to version 2, which is not avail" in server.served.problem
        time.sleep(3 * POLL)
        assert states(server) == {1: "AVAILABLE"}
        assert server.served.labels == {"stable": 1, "canary": 1}


def test_a_broken_version_gets_no_label(kit, note_version):  # noqa: F811
    with running(kit, broken={2}) as server, asking_all_the_time(server) as (errors, _):
        export_another(kit, note_version)
        result = run("release", kit, "stable", 2, "--url", server.url)
        message = "could not load version 2 of small: broken on purpose. No label was moved"
        assert_one_clear_line_at_the_end(result, message)
    assert dict(models_config(kit).version_labels) == {"stable": 1, "canary": 1}
    assert errors == []


@pytest.mark.slow
def test_a_failed_version_is_tried_again_once_its_folder_was_away(kit, note_version):  # noqa: F811
    broken = {2}
    with running(kit, broken=broken) as server:
        export_another(kit, note_version)
        assert run("release", kit, "stable", 2, "--url", server.url).exit_code == 1
        (kit / "2").rename(kit / "mended")
        time.sleep(10 * POLL)
        broken.clear()
        (kit / "mended").rename(kit / "2")
        while states(server)[2] == "END":
            time.sleep(POLL)
        result = run("release", kit, "stable", 2, "--url", server.url)
        assert result.exit_code == 0, result.output


@pytest.mark.parametrize("notes", [None, "{}", "{ half"])
def test_a_folder_that_is_not_whole_does_not_block_the_way_back(kit, note_version, notes):  # noqa: F811
    note_version(kit, 2)
    assert run("release", kit, "stable", 2).exit_code == 0
    (kit / "3" / "assets.extra").mkdir(parents=True)
    if notes is not None:
        (kit / "3" / "assets.extra" / "export.json").write_text(notes)
    assert run("release", kit).stdout == "1\tcanary\n2\tstable\n3\n"
    assert_one_clear_line(run("release", kit, "canary", 3), "export.json")
    result = run("release", kit, "stable", "back")
    assert result.exit_code == 0, result.output
    assert labels_and_versions(kit) == ({"stable": 1, "canary": 1}, [1, 2])


def test_the_label_of_a_version_that_is_gone_goes_back(kit, note_version):  # noqa: F811
    note_version(kit, 2)
    assert run("release", kit, "stable", 2).exit_code == 0
    shutil.rmtree(kit / "2")
    message = "says that version 2 is stable. There are: 1. Put its folder back, move the label"
    for arguments in ((), ("canary", 1)):
        assert_one_clear_line(run("release", kit, *arguments), message)
    with running(kit) as server:
        result = run("release", kit, "stable", "back", "--url", server.url)
    assert result.exit_code == 0, result.output
    assert labels_and_versions(kit) == ({"stable": 1, "canary": 1}, [1])


def test_a_canary_that_is_gone_is_not_shown_as_another_version(kit, note_version):  # noqa: F811
    note_version(kit, 2)
    assert run("release", kit, "canary", 2).exit_code == 0
    shutil.rmtree(kit / "2")
    result = run("release", kit)
    assert result.stdout == "1\tstable\n2\tcanary\n"
    assert "Version 2 is canary in models.config, but its folder is gone" in result.stderr


def test_a_release_in_a_renamed_folder_renames_no_model(kit, note_version):  # noqa: F811
    config = kit / "models.config"
    config.write_text(config.read_text().replace("/models/small", "/srv/small"))
    kit = kit.rename(kit.with_name("2026-11"))
    note_version(kit, 2)
    with running(kit) as server, asking_all_the_time(server) as (errors, _):
        result = run("release", kit, "stable", 2, "--url", server.url, "--deadline", 10)
        assert result.exit_code == 0, result.output
    assert errors == []
    model = models_config(kit)
    assert (model.name, model.base_path) == ("small", "/srv/small")
    assert "/models/small" in (kit / "docker-compose.yml").read_text()


class LateKit(ServedKit):
    """Reads `models.config` only after it was asked for a label that it does not know."""

    def __init__(self, kit, poll_seconds, **options):
        super().__init__(kit, poll_seconds=3_600, **options)

    def states(self, name, version=None, label=None):
        try:
            return super().states(name, version, label)
        except RefusedError:
            self.reload()
            raise


def test_a_label_that_the_server_does_not_know_yet_is_waited_for(kit):
    config = ModelsConfig("small", "/models/small", {"stable": 1}, [1])
    (kit / "models.config").write_text(config.to_text())
    with running(kit, served_class=LateKit) as server:
        result = run("release", kit, "canary", 1, "--url", server.url)
    assert result.exit_code == 0, result.output
    assert "Waiting for canary as version 1: not moved yet" in result.stderr


def test_a_server_of_another_model_is_told_from_one_that_still_loads(kit, tmp_path, note_version):  # noqa: F811
    other = tmp_path / "other"
    note_version(other, 1)
    write_kit(other)
    with running(other) as server:
        options = ("--url", server.url, "--deadline", 0.1)
        result = run("release", kit, "canary", 1, *options)
    assert_one_clear_line(result, "within 0.1 seconds", "at --url shows no model 'small'")


def test_a_version_that_answers_nothing_gets_no_label(kit, note_version):  # noqa: F811
    with running(kit, mute={2}) as server:
        export_another(kit, note_version)
        result = run("release", kit, "stable", 2, "--url", server.url)
        assert_one_clear_line_at_the_end(result, "a fault made on purpose")
        assert states(server)[2] == "AVAILABLE"
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
    with running(kit) as server:
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
    with running(kit) as server:
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


def test_a_word_that_is_no_version_is_named(kit):
    result = run("release", kit, "stable", "new")
    assert result.exit_code == 2
    assert "'new' is neither the number of a version nor back." in result.stderr


def test_a_folder_without_models_config_is_no_kit(tmp_path):
    assert_one_clear_line(run("release", tmp_path, "stable", 1), "is not a kit")
