import pytest

from tests.cli.command import assert_one_clear_line, run


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


def test_a_length_above_the_models_positions_is_refused(trained_run, tmp_path):
    arguments = ("export", "litert", trained_run, "--output", tmp_path)
    result = run(*arguments, "--max-input-length", 100_000)
    assert_one_clear_line(result, "`max_input_length` must be at least 1 and at most", "100000")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("option", ["--version", "--num-beams", "--quantization", "--warmup"])
def test_an_option_of_another_format_is_unknown(option, tmp_path):
    result = run("export", "litert", tmp_path, "--output", tmp_path, option, "1")
    assert result.exit_code == 2
    assert f"No such option '{option}'" in result.stderr
