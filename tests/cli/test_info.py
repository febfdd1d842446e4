import pytest

from aiayn_keras.models import TRANSFORMER_PRESETS
from tests.cli.command import assert_one_clear_line, run
from tests.export.random_model import build_random_model
from tests.number_words import train_tokenizer


def test_info_prints_the_papers_parameters():
    result = run("info", "transformer_base", "--vocabulary-size", 37000)
    assert result.exit_code == 0
    assert "63,045,632" in result.stdout


@pytest.mark.slow
def test_info_lists_every_preset(monkeypatch):
    deep = {"config": {"num_decoder_layers": 2}, "label_smoothing": 0.1}
    monkeypatch.setitem(TRANSFORMER_PRESETS, "transformer_deep", deep)
    result = run("info", "--all")
    assert result.exit_code == 0
    rows = {line.split()[0]: line.split()[1:] for line in result.stdout.splitlines()}
    assert rows.keys() >= TRANSFORMER_PRESETS.keys()
    base = ["6", "512", "2048", "8", "64", "64", "0.1", "0.1", "63,045,632"]
    assert rows["transformer_base"] == base
    assert rows["transformer_deep"][:2] == ["6+2", "512"]
    assert rows["transformer_base_k16"] == [*base[:4], "16", *base[5:8], "55,967,744"]


@pytest.mark.parametrize("arguments", [(), ("transformer_base", "--all")])
def test_info_is_told_what_to_describe(arguments):
    result = run("info", *arguments)
    assert result.exit_code == 2
    assert "--all" in result.stderr


def test_info_describes_a_model_folder(trained_run):
    result = run("info", trained_run)
    assert result.exit_code == 0
    assert "hidden_dim            32" in result.stdout


@pytest.mark.slow
def test_info_prints_the_depth_of_each_stack(tmp_path):
    assert "num_layers            6\n" in run("info", "transformer_base").stdout
    tokenizer = train_tokenizer()
    build_random_model(tokenizer, 3, num_encoder_layers=3).save_to_preset(tmp_path)
    lines = run("info", tmp_path).stdout.splitlines()
    assert "  num_encoder_layers    3" in lines
    assert "  num_decoder_layers    2" in lines
    assert not any(line.startswith("  num_layers") for line in lines)


def test_info_names_the_presets():
    assert_one_clear_line(run("info", "transformer_bsae"), "transformer_tiny, transformer_base")


def test_info_says_why_a_folder_is_not_a_model_folder(tmp_path):
    assert_one_clear_line(run("info", tmp_path), "is not a model folder: it has no task.json")
