"""`aiayn-keras export`, each format."""

import dataclasses
import json
import re
import shutil
from pathlib import Path

import h5py
import pytest

from aiayn_keras import TransformerSeq2SeqLM
from aiayn_keras.common.weight_files import NUMBER_FORMATS
from aiayn_keras.export.serving_options import ServingOptions
from aiayn_keras_cli import main
from aiayn_keras_cli.export import _listed
from tests.cli.command import SOURCES, assert_one_clear_line, run

DEMO = Path(__file__).parents[2] / "saved_models" / "demo_en_de_keras"


# ---- saved_model ----


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
    notes = json.loads((tmp_path / "mine" / "1" / "assets.extra" / "export.json").read_bytes())
    assert notes["load_seconds"] > 0
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
    chosen = (
        main.commands["export"]
        .commands["saved-model"]
        .make_context("saved-model", arguments)
        .params
    )
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
def test_the_files_of_a_training_are_read_first(trained_run, tmp_path, file, content, message):
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


def test_a_folder_whose_name_is_no_models_needs_a_name(tmp_path):
    folder = tmp_path / "my model"
    folder.mkdir()
    (folder / "task.json").write_text("{}")
    for kind in ("saved-model", "preset", "onnx"):
        result = run("export", kind, folder, "--output", tmp_path / "out")
        assert_one_clear_line(result, "Received: 'my model'", "give --name")


@pytest.mark.parametrize("kind", ["ctranslate2", "hf-marian", "onnx", "openvino", "litert"])
def test_a_place_that_is_taken_is_refused_before_the_model_is_loaded(tmp_path, kind):
    (tmp_path / "mine").mkdir()
    (tmp_path / "task.json").write_text("{}")
    result = run("export", kind, tmp_path, "--output", tmp_path, "--name", "mine")
    assert_one_clear_line(result, "mine exists already")


# ---- preset ----


@pytest.mark.parametrize("weights", NUMBER_FORMATS)
def test_preset_writes_a_model_folder_to_pass_on(trained_run, model, tmp_path, weights):
    result = run(
        *("export", "preset", trained_run, "--output", tmp_path),
        *("--name", "mine", "--weights", weights),
    )
    assert result.exit_code == 0, result.output
    folder = tmp_path / "mine"
    assert result.stdout.strip() == str(folder)
    with h5py.File(folder / "model.weights.h5") as file:
        types = set()
        file.visititems(lambda _, item: types.add(str(getattr(item, "dtype", None))))
    assert ("float16" in types) == (weights == "float16")
    assert (folder / "recipe.yaml").read_bytes() == (trained_run / "recipe.yaml").read_bytes()
    assert not (folder / "checkpoints").exists()
    translations = TransformerSeq2SeqLM.from_preset(str(folder)).translate(SOURCES)
    expected = model.translate(SOURCES)
    assert [each.score for each in translations] == pytest.approx(
        [each.score for each in expected], abs=0.02
    )


def test_preset_replaces_nothing(trained_run, tmp_path):
    (tmp_path / "mine").mkdir()
    arguments = ("export", "preset", trained_run, "--output", tmp_path, "--name", "mine")
    assert_one_clear_line(run(*arguments), "exists already")


# ---- ctranslate2 ----


def test_export_writes_a_folder_for_ctranslate2(trained_run, tmp_path):
    pytest.importorskip("ctranslate2")
    arguments = ("export", "ctranslate2", trained_run, "--output", tmp_path)
    result = run(*arguments, "--quantization", "int8")
    assert result.exit_code == 0, result.output
    folder = tmp_path / trained_run.name
    assert result.stdout.strip() == str(folder)
    assert {path.name for path in folder.iterdir()} >= {"model.bin", "sentencepiece.model"}
    assert_one_clear_line(run(*arguments), f"{folder} exists already")
    result = run(*arguments, "--name", "other", "--quantization", "int7")
    assert_one_clear_line(result, "int8", "'int7'")
    assert list(tmp_path.iterdir()) == [folder]


@pytest.mark.parametrize("option", ["--version", "--num-beams", "--long-text", "--warmup"])
def test_ctranslate2_knows_no_option_of_a_different_format(option, tmp_path):
    result = run("export", "ctranslate2", tmp_path, "--output", tmp_path, option, "1")
    assert result.exit_code == 2
    assert re.search(f"No such option(: {option}\\b| '{option}')", result.stderr)
    assert list(tmp_path.iterdir()) == []


# ---- hf_marian ----


def test_export_writes_a_folder_for_transformers(trained_run, tmp_path):
    pytest.importorskip("safetensors")
    arguments = ("export", "hf-marian", trained_run, "--output", tmp_path)
    result = run(*arguments, "--name", "mine", "--license", "mit")
    assert result.exit_code == 0, result.output
    assert result.stdout.strip() == str(tmp_path / "mine")
    assert {"model.safetensors", "vocab.json"} <= {p.name for p in (tmp_path / "mine").iterdir()}
    assert 'license: "mit"' in (tmp_path / "mine" / "README.md").read_text()
    assert_one_clear_line(run(*arguments, "--name", "mine"), "mine exists already")


# ---- onnx ----


def test_export_writes_a_folder_for_onnx_runtime(tmp_path):
    pytest.importorskip("onnx")
    pytest.importorskip("tokenizers")
    arguments = ("export", "onnx", DEMO, "--output", tmp_path)
    result = run(*arguments, "--weights", "int8", "--attention")
    assert result.exit_code == 0, result.output
    folder = tmp_path / DEMO.name
    assert "`cross_attentions.N`" in (folder / "README.md").read_text(encoding="utf-8")
    assert result.stdout.strip() == str(folder)
    assert {path.name for path in (folder / "onnx").iterdir()} == {
        "encoder_model_quantized.onnx",
        "decoder_model_merged_quantized.onnx",
    }
    assert_one_clear_line(run(*arguments), f"{folder} exists already")
    assert list(tmp_path.iterdir()) == [folder]


def test_onnx_refuses_an_unknown_number_format(tmp_path):
    result = run("export", "onnx", tmp_path, "--output", tmp_path, "--weights", "int4")
    assert result.exit_code == 2
    assert "'int4' is not one of 'float32', 'int8', 'int8-weights'" in result.stderr
    assert list(tmp_path.iterdir()) == []


# ---- openvino ----


def test_export_writes_a_folder_for_openvino(tmp_path):
    for package in ("openvino", "onnx", "tokenizers"):
        pytest.importorskip(package)
    arguments = ("--output", tmp_path, "--name", "small", "--weights", "float16")
    result = run("export", "openvino", DEMO, *arguments)
    assert result.exit_code == 0, result.output
    assert result.stdout.strip() == str(tmp_path / "small")
    assert {path.name for path in (tmp_path / "small").iterdir()} >= {
        "encoder_model.xml",
        "decoder_model.bin",
        "tokenizer.json",
    }


# ---- litert ----


@pytest.mark.slow
def test_export_writes_a_folder_for_litert(trained_run, tmp_path):
    arguments = ("export", "litert", trained_run, "--output", tmp_path, "--name", "small")
    result = run(*arguments, "--max-input-length", 5, "--max-length", 9, "--weights", "int8")
    assert result.exit_code == 0, result.output
    folder = tmp_path / "small"
    assert result.stdout.strip() == str(folder)
    names = {path.name for path in folder.iterdir()}
    assert names == {"README.md", "model.tflite", "sentencepiece.model"}
    text = (folder / "README.md").read_text("utf-8")
    assert "weights in int8" in text
    assert "at most 5 wordpieces, a translation at most 9" in " ".join(text.split())
    assert_one_clear_line(run(*arguments), f"{folder} exists already")


def test_more_hypotheses_than_beams_are_refused_by_their_options(trained_run, tmp_path):
    arguments = ("export", "saved-model", trained_run, "--output", tmp_path / "kits")
    result = run(*arguments, "--n-best", 9, "--num-beams", 8)
    assert result.exit_code == 2
    assert "--n-best 9 needs as many beams as that: add --num-beams 9" in result.stderr


def test_a_length_above_the_models_positions_is_refused(trained_run, tmp_path):
    arguments = ("export", "litert", trained_run, "--output", tmp_path)
    result = run(*arguments, "--max-input-length", 100_000)
    assert_one_clear_line(result, "`max_input_length` must be at least 1 and at most", "100000")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("option", ["--version", "--num-beams", "--quantization", "--warmup"])
def test_litert_knows_no_option_of_a_different_format(option, tmp_path):
    result = run("export", "litert", tmp_path, "--output", tmp_path, option, "1")
    assert result.exit_code == 2
    assert re.search(f"No such option(: {option}\\b| '{option}')", result.stderr)


def test_the_card_lists_what_was_mixed_in():
    corpus = {"name": "a", "mix": {"name": "b", "share": 0.04}}
    assert _listed(corpus) == "name a, mix (name b, share 0.04)"
