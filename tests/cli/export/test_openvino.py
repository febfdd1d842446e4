from pathlib import Path

import pytest

from tests.cli.command import run

DEMO = Path(__file__).parents[3] / "saved_models" / "demo_en_de_keras"


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
