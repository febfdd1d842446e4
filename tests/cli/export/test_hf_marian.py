import pytest

from tests.cli.command import assert_one_clear_line, run


def test_export_writes_a_folder_for_transformers(trained_run, tmp_path):
    pytest.importorskip("safetensors")
    arguments = ("export", "hf-marian", trained_run, "--output", tmp_path)
    result = run(*arguments, "--name", "mine", "--license", "mit")
    assert result.exit_code == 0, result.output
    assert result.stdout.strip() == str(tmp_path / "mine")
    assert {"model.safetensors", "vocab.json"} <= {p.name for p in (tmp_path / "mine").iterdir()}
    assert 'license: "mit"' in (tmp_path / "mine" / "README.md").read_text()
    assert_one_clear_line(run(*arguments, "--name", "mine"), "mine exists already")
