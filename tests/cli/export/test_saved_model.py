import dataclasses
import shutil

import pytest

from aiayn_keras.cli.export.saved_model import saved_model
from aiayn_keras.export.serving_options import ServingOptions
from tests.cli.command import SOURCES, assert_one_clear_line, run


def test_export_writes_name_and_version(trained_run, source_file, tmp_path):
    result = run(
        *("export", "saved-model", trained_run, "--output", tmp_path),
        *("--name", "mine", "--num-beams", 2, "--n-best", 1, "--max-input-length", 40),
        *("--long-text", "error", "--license", "CC0", "--limits", "knows little"),
        *("--warmup", source_file),
    )
    assert result.exit_code == 0, result.output
    assert result.stdout.strip() == str(tmp_path / "mine" / "1")
    assert (tmp_path / "mine" / "1" / "saved_model.pb").is_file()
    warmup = tmp_path / "mine" / "1" / "assets.extra" / "tf_serving_warmup_requests"
    assert SOURCES[0].encode() in warmup.read_bytes()
    card = (tmp_path / "mine" / "README.md").read_text("utf-8")
    for fact in ("CC0", "knows little", "40, then error", "name demo", "tok:13a"):
        assert fact in card


def test_export_names_a_missing_warmup_file(trained_run, tmp_path):
    arguments = ("export", "saved-model", trained_run, "--output", tmp_path)
    assert_one_clear_line(run(*arguments, "--warmup", "nowhere.en"), "nowhere.en")
    assert list(tmp_path.iterdir()) == []


def test_the_commands_defaults_are_the_functions(tmp_path):
    (tmp_path / "task.json").touch()
    arguments = [str(tmp_path), "--output", str(tmp_path)]
    chosen = saved_model.make_context("saved-model", arguments).params
    defaults = {field.name: field.default for field in dataclasses.fields(ServingOptions)}
    assert defaults.pop("num_return_sequences") == 1
    assert chosen["n_best"] is None  # as many as beams
    assert {name: chosen[name] for name in defaults} == defaults


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("evaluation.json", "[]", "evaluation.json"),
        ("recipe.yaml", "- 1", "recipe.yaml"),
        ("recipe.yaml", "corpus: 3", "recipe.yaml"),
    ],
)
def test_what_a_training_left_is_read_first(trained_run, tmp_path, file, content, message):
    shutil.copytree(trained_run, tmp_path / "run")
    (tmp_path / "run" / file).write_text(content)
    arguments = ("export", "saved-model", tmp_path / "run", "--output", tmp_path / "models")
    assert_one_clear_line(run(*arguments), message)
    assert not (tmp_path / "models").exists()


@pytest.mark.parametrize("name", ["../x", "a/b", "a b", "", "a\nb: c"])
def test_a_name_stays_in_the_output_folder(trained_run, tmp_path, name):
    for kind in ("saved-model", "ctranslate2"):
        arguments = ("export", kind, trained_run, "--output", tmp_path / "out", "--name", name)
        assert_one_clear_line(run(*arguments), "The name of a served model is")
    assert list(tmp_path.iterdir()) == []
