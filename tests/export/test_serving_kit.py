"""The files beside the versions of a served model."""

import dataclasses
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from aiayn_keras.decoding.constraints import TokenAutomaton
from aiayn_keras.decoding.constraints.constraint import MAX_NUMBER, MAX_TRANSITIONS
from aiayn_keras.export.server_files import BATCH_SIZES
from aiayn_keras.export.serving_kit import (
    check_kit,
    list_version,
    move_label,
    read_labels,
    server_flags,
    write_kit,
)
from aiayn_keras.export.serving_options import (
    MAX_NOTES_BYTES,
    VERSION_FILE,
    VersionNotes,
    make_serving_options,
    read_notes,
)
from aiayn_keras.serving.local_page import kit_translator
from tests.export import serving_protos

text_format = pytest.importorskip("google.protobuf.text_format")
model_server_config_pb2 = pytest.importorskip("tensorflow_serving.config.model_server_config_pb2")
KITS = sorted((Path(__file__).parents[2] / "saved_models").glob("*/docker-compose.yml"))


def models_config(folder):
    text = (folder / "models.config").read_text("utf-8")
    config = text_format.Parse(text, model_server_config_pb2.ModelServerConfig())
    (model,) = config.model_config_list.config
    return model


def test_a_kit_has_all_its_files(exported):
    files = {path.relative_to(exported.parent).as_posix() for path in exported.parent.rglob("*")}
    assert files >= {
        "1/saved_model.pb",
        "1/fingerprint.pb",
        "1/variables/variables.index",
        "1/assets.extra/tf_serving_warmup_requests",
        "1/assets.extra/export.json",
        "1/SHA256SUMS",
        "models.config",
        "batching.config",
        "monitoring.config",
        "prometheus_rules.yaml",
        "grafana_dashboard.json",
        "nginx.conf",
        "docker-compose.yml",
        "README.md",
        "kubernetes/Dockerfile",
        "kubernetes/autoscaler.yaml",
        "kubernetes/batching.config",
        "kubernetes/deployment.yaml",
        "kubernetes/disruption_budget.yaml",
        "kubernetes/inference_service.yaml",
        "kubernetes/kustomization.yaml",
        "kubernetes/network_policy.yaml",
        "kubernetes/prometheus_adapter.yaml",
        "kubernetes/service.yaml",
    }
    assert not [name for name in files if "writing" in name]


def test_batching_configuration_parses_and_fits_the_warm_up(version_folder):
    text = (version_folder.parent / "batching.config").read_text("utf-8")
    config = text_format.Parse(text, serving_protos.batching_parameters())
    assert tuple(config.allowed_batch_sizes) == BATCH_SIZES
    assert config.max_batch_size.value == BATCH_SIZES[-1]
    assert config.batch_timeout_micros.value > 0


def test_monitoring_configuration_parses(version_folder):
    text = (version_folder.parent / "monitoring.config").read_text("utf-8")
    config = text_format.Parse(text, serving_protos.monitoring_config())
    assert config.prometheus_config.enable
    assert config.prometheus_config.path in (version_folder.parent / "README.md").read_text("utf-8")


def test_models_configuration_parses(version_folder):
    name = version_folder.parent.name
    model = models_config(version_folder.parent)
    assert (model.name, model.base_path) == (name, f"/models/{name}")
    assert model.model_platform == "tensorflow"
    assert list(model.model_version_policy.specific.versions) == [1]
    assert dict(model.version_labels) == {"stable": 1, "canary": 1}


def labels_and_versions(kit):
    model = models_config(kit)
    return dict(model.version_labels), list(model.model_version_policy.specific.versions)


def test_a_new_version_is_loaded_and_no_label_moves(tmp_path, note_version):
    for number in (1, 2, 3):
        note_version(tmp_path, number)
        write_kit(tmp_path)
    assert labels_and_versions(tmp_path) == ({"stable": 1, "canary": 1}, [1, 3])
    assert move_label(tmp_path, "canary", 3) == 1
    assert labels_and_versions(tmp_path) == ({"stable": 1, "canary": 3}, [1, 3])
    assert move_label(tmp_path, "stable", 3) == 1
    assert labels_and_versions(tmp_path) == ({"stable": 3, "canary": 3}, [1, 3])  # the way back
    assert read_labels(tmp_path) == {"stable": 3, "canary": 3}
    note_version(tmp_path, 4)
    write_kit(tmp_path)
    assert labels_and_versions(tmp_path) == ({"stable": 3, "canary": 3}, [3, 4])


def test_an_export_renames_no_model_that_may_be_served(batched_kit, note_version):
    kit = batched_kit.rename(batched_kit.with_name("other"))
    before = (kit / "models.config").read_text()
    with pytest.raises(ValueError, match=r"serves the model 'small', and its folder is 'other'"):
        check_kit(kit)
    assert (kit / "models.config").read_text() == before
    (kit / "models.config").write_text(before.replace("small", "other"))
    note_version(kit, 2)
    write_kit(kit)
    assert models_config(kit).name == "other"


def test_a_link_to_a_kit_has_its_own_name_or_that_of_an_older_export(tmp_path, note_version):
    kit, link = tmp_path / "volume" / "disk7", tmp_path / "mine"
    note_version(kit, 1)
    link.symlink_to(kit)
    write_kit(link)
    assert models_config(kit).name == "mine"
    (kit / "models.config").unlink()
    write_kit(kit)
    check_kit(link)
    write_kit(link)
    assert models_config(link).name == "disk7"


def test_an_older_version_is_listed_before_a_label_moves_to_it(tmp_path, note_version):
    for number in (1, 2, 3):
        note_version(tmp_path, number)
    write_kit(tmp_path)
    assert list_version(tmp_path, 2)
    assert labels_and_versions(tmp_path) == ({"stable": 1, "canary": 3}, [1, 2, 3])
    assert not list_version(tmp_path, 2)


def test_each_step_of_a_release_is_another_image(tmp_path, note_version):
    note_version(tmp_path, 1)
    write_kit(tmp_path)
    tags = []
    for step in (
        lambda: note_version(tmp_path, 2),
        lambda: move_label(tmp_path, "canary", 2),
        lambda: move_label(tmp_path, "stable", 2),
    ):
        step()
        write_kit(tmp_path)
        text = (tmp_path / "kubernetes/kustomization.yaml").read_text("utf-8")
        tags.append(re.search("newTag: (.*)", text)[1])
    assert tags == ["stable-1-canary-1-and-2", "stable-1-canary-2", "stable-2-canary-2"]


@pytest.mark.parametrize(
    ("label", "version", "message"),
    [
        ("best", 1, "`label` must be one of stable, canary. Received: 'best'"),
        ("stable", 2, r"has no version 2\. There are: 1\."),
    ],
)
def test_a_label_moves_only_to_what_is_there(tmp_path, note_version, label, version, message):
    note_version(tmp_path, 1)
    write_kit(tmp_path)
    with pytest.raises(ValueError, match=message):
        move_label(tmp_path, label, version)


def test_a_folder_that_is_no_kit_has_no_labels(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"is not a kit .* has no models\.config"):
        move_label(tmp_path, "stable", 1)


def test_a_configuration_that_cannot_be_kept_is_named(tmp_path, note_version):
    note_version(tmp_path, 1)
    write_kit(tmp_path)
    config = tmp_path / "models.config"
    config.write_text(config.read_text().replace("value: 1", "value: 8"))
    with pytest.raises(ValueError, match=r"version 8 is stable\. There are: 1\. Put its folder"):
        write_kit(tmp_path)
    config.write_text("model_config_list {")
    with pytest.raises(ValueError, match="is not a TensorFlow Serving configuration"):
        write_kit(tmp_path)


def test_a_configuration_of_versions_that_are_gone_is_seen_before_the_next(tmp_path, note_version):
    kit = tmp_path / "kit"
    note_version(kit, 3)
    write_kit(kit)
    shutil.rmtree(kit / "3")
    with pytest.raises(ValueError, match=r"version 3 is stable\. There are: none\. .*delete"):
        check_kit(kit)
    (kit / "models.config").unlink()
    assert check_kit(kit) == []


def test_text_that_is_refused_is_not_batched(tmp_path, note_version):
    note_version(tmp_path, 1)
    write_kit(tmp_path)
    assert "--enable_batching=true" in (tmp_path / "docker-compose.yml").read_text()
    note_version(tmp_path, 2, long_text="error")
    write_kit(tmp_path)
    assert not (tmp_path / "batching.config").exists()
    for name in ("docker-compose.yml", "README.md"):
        assert "--enable_batching" not in (tmp_path / name).read_text()


def test_docker_gets_the_flags_and_their_files(exported):
    folder = exported.parent
    flags = server_flags("/models/small", batched=True)
    card = (folder / "README.md").read_text("utf-8")
    command = card[card.index("docker run") :].split("```")[0]
    words = subprocess.run(
        ["bash", "-c", f"docker() {{ printf '%s\\n' \"$@\"; }}; {command}"],
        capture_output=True,
        text=True,
        cwd=folder,
        check=True,
    ).stdout.splitlines()
    assert words[-len(flags) :] == flags
    assert f"{folder}:/models/small:ro" in words
    for flag in flags:
        name, _, value = flag.partition("=")
        if value.startswith("/models/small/"):
            assert (folder / value.removeprefix("/models/small/")).is_file(), name


@pytest.mark.parametrize(("load_seconds", "interval"), [(None, 30), (20.0, 30), (45.2, 68)])
def test_a_server_tries_three_times_as_long_as_the_slowest_version_took(
    note_version, tmp_path, load_seconds, interval
):
    note_version(tmp_path, 1, load_seconds=load_seconds)
    note_version(tmp_path, 2, load_seconds=1.0)
    write_kit(tmp_path)
    for name in ("docker-compose.yml", "README.md", "kubernetes/deployment.yaml"):
        text = (tmp_path / name).read_text()
        assert "--max_num_load_retries=2" in text
        assert f"--load_retry_interval_micros={interval}000000" in text


@pytest.mark.parametrize("kit", [path.parent for path in KITS], ids=lambda path: path.name)
def test_a_committed_kit_is_what_the_code_writes(kit, tmp_path):
    copy = tmp_path / kit.name
    for notes in kit.glob(f"*/{VERSION_FILE}"):
        version = notes.relative_to(kit).parts[0]
        shutil.copytree(kit / version, copy / version)
    shutil.copy(kit / "models.config", copy)
    write_kit(copy)
    names = {path.relative_to(copy) for path in copy.rglob("*") if path.is_file()}
    assert names == {path.relative_to(kit) for path in kit.rglob("*") if path.is_file()}
    for name in names:
        assert (kit / name).read_bytes() == (copy / name).read_bytes(), name


def test_there_are_committed_kits():
    assert "demo_en_de" in {path.parent.name for path in KITS}


@pytest.mark.parametrize("name", ["README.md", "docker-compose.yml", "kubernetes/service.yaml"])
def test_a_folder_of_something_else_is_not_written_over(name, tmp_path):
    assert check_kit(tmp_path / "new") == []
    (tmp_path / "project" / ".git").mkdir(parents=True)
    assert check_kit(tmp_path / "project") == []
    path = tmp_path / "project" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("mine")
    with pytest.raises(FileExistsError, match=f"such as .*project/{Path(name).parts[0]}, and no"):
        check_kit(tmp_path / "project")


def contents(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink()
    }


def put_pipe(path):
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def put_folder(path):
    path.unlink(missing_ok=True)
    path.mkdir()


def put_link_to_a_folder(path):
    shutil.rmtree(path)
    path.symlink_to(path.parents[1] / "victim")


def put_file(path):
    shutil.rmtree(path)
    path.touch()


@pytest.mark.parametrize(
    ("name", "put"),
    [
        ("models.config", put_pipe),
        ("README.md", put_folder),
        ("batching.config", put_folder),
        ("docker-compose.yml", put_pipe),
        ("kubernetes/Dockerfile", put_folder),
        ("kubernetes", put_file),
        ("kubernetes", put_link_to_a_folder),
    ],
)
@pytest.mark.parametrize("use", [check_kit, write_kit])
def test_what_cannot_be_replaced_is_seen_before_anything_is_written(
    tmp_path, note_version, name, put, use
):
    kit = tmp_path / "kit"
    (tmp_path / "victim").mkdir()
    note_version(kit, 1)
    write_kit(kit)
    put(kit / name)
    note_version(kit, 2)
    before = contents(tmp_path)
    with pytest.raises(OSError, match=rf"{name} is (not a|a link)"):
        use(kit)
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"max_input_length": 30', '"max_input_length": null', "`max_input_length` is missing"),
        ('"num_beams": 4', '"num_beams": 4, "long_text": "cut"', "`long_text` must be"),
        ('"num_beams": 4', '"num_beams": 4, "documents": 1', "`documents` must be True or False"),
    ],
)
@pytest.mark.parametrize("use", [check_kit, write_kit])
def test_notes_that_no_kit_can_be_written_from_are_seen_before_anything_is_written(
    tmp_path, note_version, old, new, message, use
):
    kit = tmp_path / "kit"
    note_version(kit, 1)
    write_kit(kit)
    path = kit / "1" / VERSION_FILE
    text = path.read_text().replace(', "long_text": "truncate"', "")
    path.write_text(text.replace(old, new))
    before = contents(kit)
    with pytest.raises(ValueError, match=message):
        use(kit)
    path.write_text(json.dumps({**json.loads(text), "options": {}}))
    with pytest.raises(ValueError, match="`max_input_length` is missing"):
        use(kit)
    path.write_text(text.replace(old, new))
    assert contents(kit) == before


@pytest.mark.parametrize("number", [0, "01", 2**62 + 1, 2**63, "9" * 200])
@pytest.mark.parametrize("use", [check_kit, write_kit])
def test_a_number_that_no_version_has_is_refused(tmp_path, note_version, number, use):
    note_version(tmp_path / "kit", 1)
    note_version(tmp_path / "kit", number)
    with pytest.raises(ValueError, match=rf"kit/{number} is not a version, whose number is"):
        use(tmp_path / "kit")


def test_the_new_version_is_described_before_it_is_there(tmp_path, note_version):
    kit = tmp_path / "kit"
    note_version(kit, 1)
    note_version(tmp_path / "elsewhere", 2)
    write_kit(kit, {2: tmp_path / "elsewhere/2"})
    assert labels_and_versions(kit) == ({"stable": 1, "canary": 2}, [1, 2])
    written = contents(kit)
    (tmp_path / "elsewhere/2").rename(kit / "2")
    write_kit(kit)
    assert {name: contents(kit)[name] for name in written} == written


def test_notes_are_read(tmp_path, note_version):
    note_version(tmp_path, 1, min_length=2)
    notes = read_notes(tmp_path / "1" / VERSION_FILE)
    assert notes.options["min_length"] == 2
    assert notes.options["coverage_penalty"] == 0.0  # the default
    assert json.loads(notes.to_json())["card"]["license"] == "CC0"


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ('"num_beams": 4', '"num_beams": "4"', "options`: `num_beams` must be an integer"),
        ('"num_beams": 4', '"beams": 4', "unexpected keyword argument 'beams'"),
        ('"CC0"', "3", "card.license"),
        ('"card"', '"cards"', "card"),
        ("{", "[", "Invalid JSON"),
    ],
)
def test_notes_of_another_form_are_refused_by_their_field(tmp_path, note_version, old, new, field):
    note_version(tmp_path, 1)
    path = tmp_path / "1" / VERSION_FILE
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(ValueError, match=rf"export\.json[,:] .*{field}"):
        read_notes(path)


def test_a_kit_searches_as_the_model_does_unless_told_otherwise():
    defaults = {"num_beams": 6, "length_penalty": 1.0, "length_penalty_offset": 0}
    options = make_serving_options(8, defaults)
    assert {name: getattr(options, name) for name in defaults} == defaults
    assert options.num_return_sequences == 6
    excluded = {"num_beams": 2, "no_repeat_ngram_size": 3}
    options = make_serving_options(8, excluded, constraint="brackets")
    assert (options.num_beams, options.no_repeat_ngram_size) == (2, 0)
    options = make_serving_options(8, defaults, num_beams=2, length_penalty=0.0)
    assert (options.num_beams, options.num_return_sequences) == (2, 2)
    assert (options.length_penalty, options.length_penalty_offset) == (0.0, 0)


def test_notes_hold_the_largest_automaton():
    most, share = MAX_NUMBER, 1 << 10
    numbers = range(most - MAX_TRANSITIONS // share + 1, most)
    triples = tuple((0, number, most) for number in (*numbers, 3))
    options = make_serving_options(8, constraint=TokenAutomaton(triples, (most,)))
    notes = VersionNotes(
        options=dataclasses.asdict(options), precision="float32", tensorflow="2", card={}
    )
    assert 30_000_000 < len(notes.to_json()) * share < MAX_NOTES_BYTES
    assert kit_translator.MAX_NOTES_BYTES == MAX_NOTES_BYTES
