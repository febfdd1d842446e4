"""Versions are loaded, labelled and unloaded by the rules of TensorFlow Serving."""

import threading
import time

import pytest

from aiayn_keras.serving.model_server import RefusedError, ServedKit
from tests.serving.echo_version import EchoVersion, loading
from tests.serving.model_server.conftest import write_config

SECONDS = 60


def states(kit):
    return {number: state for number, (state, _) in kit.states("small").items()}


def wait_for(condition):
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def found(kit, **asked):
    return kit.find("small", **asked)[0]


def test_the_newest_version_answers_who_names_none(echo_kit, start_kit):
    write_config(echo_kit, [1, 3], stable=1, canary=3)
    kit = start_kit()
    assert (found(kit), found(kit, version=1), found(kit, label="stable")) == (3, 1, 1)
    assert list(states(kit)) == [3, 1]


def test_a_new_version_is_loaded_and_then_takes_a_label(echo_kit, start_kit):
    kit = start_kit()
    write_config(echo_kit, [1, 2], stable=1)
    wait_for(lambda: states(kit) == {2: "AVAILABLE", 1: "AVAILABLE"})
    write_config(echo_kit, [1, 2], stable=2)
    wait_for(lambda: kit.labels == {"stable": 2})
    assert found(kit, label="stable") == 2


def test_a_label_in_use_waits_for_its_version_and_all_else_with_it(echo_kit, start_kit):
    kit = start_kit()
    write_config(echo_kit, [1, 2, 3], stable=2, beta=1)
    wait_for(lambda: kit.problem)
    assert "moves the label stable to version 2" in kit.problem
    assert (kit.labels, states(kit)) == ({"stable": 1}, {1: "AVAILABLE"})
    write_config(echo_kit, [1], stable=1)
    wait_for(lambda: not kit.problem)


def test_a_new_label_may_name_a_version_that_is_not_loaded_yet(echo_kit, start_kit):
    kit = start_kit()
    write_config(echo_kit, [1, 2], stable=1, canary=2)
    wait_for(lambda: "canary" in kit.labels)
    wait_for(lambda: states(kit)[2] == "AVAILABLE")
    assert found(kit, label="canary") == 2


def test_a_version_that_is_listed_no_more_is_unloaded_and_may_come_back(echo_kit, start_kit):
    write_config(echo_kit, [1, 2], stable=1)
    kit = start_kit()
    write_config(echo_kit, [1], stable=1)
    wait_for(lambda: states(kit)[2] == "END")
    with pytest.raises(RefusedError, match=r"Servable not found for request: Specific\(small, 2\)"):
        kit.find("small", version=2)
    assert found(kit) == 1
    write_config(echo_kit, [1, 2], stable=1)
    wait_for(lambda: states(kit)[2] == "AVAILABLE")


def test_the_last_version_is_unloaded_when_another_one_can_answer(echo_kit, start_kit):
    gate, broken = threading.Event(), set()

    def load(folder):
        if folder.name == "2":
            assert gate.wait(SECONDS)
        return loading(broken)(folder)

    kit = start_kit(load=load)
    write_config(echo_kit, [2], stable=1)
    wait_for(lambda: states(kit).get(2) == "LOADING")
    assert found(kit, label="stable") == 1
    gate.set()
    wait_for(lambda: states(kit) == {2: "AVAILABLE", 1: "END"})


def test_a_broken_version_is_tried_three_times_beside_good_ones(echo_kit, start_kit):
    attempts, good = [], loading(broken={2})

    def load(folder):
        attempts.append(folder.name)
        return good(folder)

    write_config(echo_kit, [1, 2], stable=1, canary=2)
    kit = start_kit(load=load)
    wait_for(lambda: states(kit) == {2: "END", 1: "AVAILABLE"})
    assert sorted(attempts) == ["1", "2", "2", "2"]
    assert kit.states("small")[2] == ("END", "broken on purpose")
    with pytest.raises(RefusedError, match="Servable not found"):
        kit.find("small", label="canary")
    path = "/models/small"
    page = kit.metrics.page()
    assert f'load_attempt_count{{model_path="{path}/2",status="fail"}} 3\n' in page
    assert f'load_attempt_count{{model_path="{path}/1",status="success"}} 1\n' in page


def test_a_version_whose_warm_up_fails_is_not_available(echo_kit, start_kit):
    class Cold(EchoVersion):
        def warm_up(self):
            if self.folder.name == "2":
                raise RefusedError("INVALID_ARGUMENT", "cold on purpose")

    write_config(echo_kit, [1, 2], stable=1)
    kit = start_kit(load=Cold)
    wait_for(lambda: kit.states("small")[2] == ("END", "cold on purpose"))


def test_a_retry_succeeds_once_the_version_is_mended(echo_kit, start_kit):
    broken = {2}
    write_config(echo_kit, [1, 2], stable=1)
    kit = start_kit(broken=broken, retry_seconds=0.5)
    assert kit.states("small")[2] == ("LOADING", "broken on purpose")
    broken.clear()
    wait_for(lambda: kit.states("small")[2] == ("AVAILABLE", ""))


def test_a_version_that_is_taken_out_is_not_tried_again(echo_kit, start_kit):
    broken = {2}
    write_config(echo_kit, [1, 2], stable=1)
    kit = start_kit(broken=broken, retry_seconds=3_600)
    write_config(echo_kit, [1], stable=1)
    wait_for(lambda: states(kit)[2] == "END")
    broken.clear()
    write_config(echo_kit, [1, 2], stable=1)
    wait_for(lambda: states(kit)[2] == "AVAILABLE")


def test_a_version_is_loaded_from_the_folder_that_has_its_number(echo_kit, start_kit):
    (echo_kit / "1").rename(echo_kit / "001")
    kit = start_kit()
    assert kit.find("small", version=1)[1].folder == echo_kit / "001"


def test_a_folder_that_comes_later_is_loaded_then(echo_kit, start_kit):
    kit = start_kit()
    write_config(echo_kit, [1, 2], stable=1)
    (echo_kit / "3").mkdir()  # not listed
    wait_for(lambda: 2 in states(kit))
    (echo_kit / "4").write_text("a file is not a version")
    write_config(echo_kit, [1, 2], stable=1, canary=2)
    wait_for(lambda: kit.labels.get("canary") == 2)
    assert set(states(kit)) == {1, 2}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("model_config_list {", "is not a TensorFlow Serving configuration"),
        ('model_config_list { config { name: "other" } }', "names the model other"),
        (None, "There is no file"),
    ],
)
def test_a_damaged_configuration_changes_nothing(echo_kit, start_kit, caplog, text, problem):
    caplog.set_level("INFO", "aiayn_keras")
    kit = start_kit()
    path = echo_kit / "models.config"
    path.unlink() if text is None else path.write_text(text)
    wait_for(lambda: problem in kit.problem)
    assert (found(kit, label="stable"), states(kit)) == (1, {1: "AVAILABLE"})
    write_config(echo_kit, [1], stable=1)
    wait_for(lambda: not kit.problem)
    assert caplog.messages[-1] == "models.config is used again."


def test_a_kit_without_a_version_that_loads_says_why(echo_kit, start_kit):
    with pytest.raises(RuntimeError, match=r"Version 1 of .* cannot be loaded: broken on"):
        start_kit(broken={1}, retry_seconds=3_600)
    (echo_kit / "1").rmdir()
    with pytest.raises(FileNotFoundError, match=r"has no version that its models.config names: 1"):
        start_kit()


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"name": "other"}, r"Servable not found for request: Latest\(other\)"),
        ({"name": "other", "label": "stable"}, "Unrecognized servable version label: stable"),
        ({"version": 9}, r"Servable not found for request: Specific\(small, 9\)"),
        ({"label": "beta"}, "Unrecognized servable version label: beta"),
        ({"version": 1, "label": "stable"}, "Both model version .1. and model version label"),
    ],
)
def test_what_is_not_served_is_named_in_the_servers_words(start_kit, asked, message):
    with pytest.raises(RefusedError, match=message):
        start_kit().find(**{"name": "small", **asked})


def test_the_defaults_are_the_flags_of_a_kit():
    from aiayn_keras.export.serving_kit import server_flags
    from aiayn_keras.serving.model_server import served_kit, server

    flags = dict(flag.removeprefix("--").split("=") for flag in server_flags("/m", batched=True))
    assert flags["num_load_threads"] == str(served_kit.NUM_LOAD_THREADS)
    assert flags["max_num_load_retries"] == str(served_kit.MAX_RETRIES)
    assert int(flags["load_retry_interval_micros"]) == 1e6 * served_kit.RETRY_SECONDS
    assert flags["rest_api_num_threads"] == str(server.NUM_THREADS)
    assert int(flags["rest_api_timeout_in_ms"]) == 1e3 * server.REQUEST_SECONDS
    assert int(flags["model_config_file_poll_wait_seconds"]) >= served_kit.POLL_SECONDS


def test_a_kit_needs_its_configuration(tmp_path):
    with pytest.raises(OSError, match=r"models\.config"):
        ServedKit(tmp_path)
