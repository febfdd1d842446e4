import pytest

from tests.cli.command import assert_one_clear_line, run


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
def test_an_option_of_another_format_is_unknown(option, tmp_path):
    result = run("export", "ctranslate2", tmp_path, "--output", tmp_path, option, "1")
    assert result.exit_code == 2
    assert f"No such option '{option}'" in result.stderr
    assert list(tmp_path.iterdir()) == []
