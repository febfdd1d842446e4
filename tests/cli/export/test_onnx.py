from pathlib import Path

import pytest

from tests.cli.command import assert_one_clear_line, run

DEMO = Path(__file__).parents[3] / "saved_models" / "demo_en_de_keras"


def test_export_writes_a_folder_for_onnx_runtime(tmp_path):
    pytest.importorskip("onnx")
    pytest.importorskip("tokenizers")
    arguments = ("export", "onnx", DEMO, "--output", tmp_path)
    result = run(*arguments, "--weights", "int8")
    assert result.exit_code == 0, result.output
    folder = tmp_path / DEMO.name
    assert result.stdout.strip() == str(folder)
    assert {path.name for path in (folder / "onnx").iterdir()} == {
        "encoder_model_quantized.onnx",
        "decoder_model_merged_quantized.onnx",
    }
    assert_one_clear_line(run(*arguments), f"{folder} exists already")
    assert list(tmp_path.iterdir()) == [folder]


def test_an_unknown_number_format_is_refused(tmp_path):
    result = run("export", "onnx", tmp_path, "--output", tmp_path, "--weights", "int4")
    assert result.exit_code == 2
    assert "'int4' is not one of 'float32', 'int8'" in result.stderr
    assert list(tmp_path.iterdir()) == []
