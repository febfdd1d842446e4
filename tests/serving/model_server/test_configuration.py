"""`models.config` and `batching.config` are read as TensorFlow Serving reads them."""

import os
from pathlib import Path

import pytest

from aiayn_keras.serving.model_server.configuration import (
    BatchingParameters,
    read_batching_config,
    read_models_config,
    version_folders,
)

KIT = Path(__file__).parents[3] / "saved_models" / "demo_en_de"
PRESENT = {1, 2, 5, 9}


def write(folder, text, name="models.config"):
    (folder / name).write_text(text, encoding="utf-8")
    return folder


def config_with(policy, labels=""):
    return (
        f'model_config_list {{ config {{ name: "m" base_path: "/models/m/" {policy} {labels} }} }}'
    )


def test_a_kit_of_the_export_is_read():
    config = read_models_config(KIT)
    assert (config.name, config.base_path) == ("demo_en_de", "/models/demo_en_de")
    assert config.labels == {"stable": 1, "canary": 1}
    assert config.wanted({1, 2}) == {1}
    cores = os.cpu_count()
    assert read_batching_config(KIT) == BatchingParameters(64, 2000, 64, cores)


@pytest.mark.parametrize(
    ("policy", "wanted"),
    [
        ("", {9}),
        ("model_version_policy { }", {9}),
        ("model_version_policy { latest { } }", {9}),
        ("model_version_policy { latest { num_versions: 2 } }", {5, 9}),
        ("model_version_policy: { latest: { num_versions: 7 } }", PRESENT),
        ("model_version_policy { all { } }", PRESENT),
        ("model_version_policy { specific { versions: 2 versions: 5 versions: 7 } }", {2, 5}),
        ("model_version_policy { specific { versions: [1, 9] } }", {1, 9}),
    ],
)
def test_each_policy_chooses_its_versions(tmp_path, policy, wanted):
    assert read_models_config(write(tmp_path, config_with(policy))).wanted(PRESENT) == wanted


def test_versions_are_folders_whose_names_are_numbers_of_64_bits(tmp_path):
    for name in ("0", "1", "01", "007", "-2", "3.tmp", ".writing-4", "٥", f"{2**63 - 1}", "9" * 20):
        (tmp_path / name).mkdir()
    (tmp_path / "6").write_text("a file")
    (tmp_path / "8").symlink_to(tmp_path / "1")
    (tmp_path / "9").symlink_to(tmp_path / "nowhere")
    found = {number: folder.name for number, folder in version_folders(tmp_path).items()}
    assert found == {0: "0", 1: "1", 7: "007", 8: "8", 2**63 - 1: f"{2**63 - 1}"}


def test_of_two_equal_labels_the_last_counts_and_unknown_fields_are_skipped(tmp_path):
    labels = "".join(f'version_labels {{ key: "stable" value: {number} }}' for number in (1, 2))
    text = f"# a comment\n{config_with('logging_config { }', labels)}"
    config = read_models_config(write(tmp_path, text))
    assert (config.labels, config.base_path) == ({"stable": 2}, "/models/m")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must configure one model"),
        ("model_config_list { config { } }", "must configure one model, with a name"),
        ("model_config_list { config { name: 'a' } config { name: 'b' } }", "Received: 2 models"),
        ("model_config_list {", "is not a TensorFlow Serving configuration: 1:"),
        ("model_config_list { config { name: 5 } }", "is not a TensorFlow Serving configuration"),
    ],
)
def test_other_configurations_are_refused_with_the_file(tmp_path, text, message):
    with pytest.raises(ValueError, match=message) as error:
        read_models_config(write(tmp_path, text))
    assert str(tmp_path / "models.config") in str(error.value)


def test_without_the_file_there_are_no_batches_and_without_numbers_the_servers_defaults(tmp_path):
    assert read_batching_config(tmp_path) is None
    write(tmp_path, "", "batching.config")
    assert read_batching_config(tmp_path) == BatchingParameters(1000, 0, 10, os.cpu_count())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("max_batch_size { value: 0 }", "`max_batch_size` in .* must be positive. Received: 0"),
        ("num_batch_threads { value: -1 }", "`num_batch_threads`"),
        (
            "max_batch_size { value: 8 } allowed_batch_sizes: 4",
            "`allowed_batch_sizes` in .* must grow, and end with `max_batch_size`, 8. Received: 4",
        ),
        ("max_batch_size: 64", "is not a TensorFlow Serving configuration"),
    ],
)
def test_impossible_limits_are_refused(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        read_batching_config(write(tmp_path, text, "batching.config"))
