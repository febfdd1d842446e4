import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from aiayn_keras import TransformerSeq2SeqLM
from aiayn_keras.export.warmup_requests import WARMUP_FILE
from tests.export.served import Served
from tests.helpers import assert_close

TEXTS = [
    "The old bus arrived yesterday.",
    "She knows that the girl is happy.",
    "",
    "   ",
    "Half past three.",
    "I will call Maria because the forest costs 16 € – naïve ☃ words!",
]


@pytest.mark.slow
def test_bfloat16_is_the_models_own(trained_run, model, tmp_path):
    served = Served(model.export(tmp_path / "small", precision="bfloat16"))
    variables = {variable.dtype.name for variable in served.loaded.model_variables}
    assert "bfloat16" in variables
    half = TransformerSeq2SeqLM.from_preset(str(trained_run), dtype="bfloat16")
    expected = half.translate(TEXTS)
    answer = served("serving_default", text=TEXTS)
    assert answer["translation"].tolist() == [translation.text for translation in expected]
    assert_close(answer["score"], [t.score for t in expected], rtol=0.02, atol=0.02)


@pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="JAX is not installed")
def test_another_backend_exports_the_same_kit(exported, served, trained_run, tmp_path):
    """JAX; PyTorch takes the same way, and tests/export/test_litert.py takes it there."""
    script = (
        "import sys; from aiayn_keras import TransformerSeq2SeqLM;"
        "print(TransformerSeq2SeqLM.from_preset(sys.argv[1]).export(sys.argv[2]))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script, str(trained_run), str(tmp_path / "small")],
        env={**os.environ, "KERAS_BACKEND": "jax"},
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert ran.returncode == 0, ran.stderr
    kit = tmp_path / "small"
    for name in ("models.config", "batching.config", "docker-compose.yml", "README.md"):
        assert (kit / name).read_text("utf-8") == (exported.parent / name).read_text("utf-8")
    assert (kit / "1" / WARMUP_FILE).read_bytes() == (exported / WARMUP_FILE).read_bytes()
    other = Served(kit / "1")
    expected = served("translate_nbest", text=TEXTS)
    answer = other("translate_nbest", text=TEXTS)
    assert answer["translations"].tolist() == expected["translations"].tolist()
    assert_close(answer["scores"], expected["scores"])
    assert_close(other("align", text=TEXTS)["alignment"], served("align", text=TEXTS)["alignment"])


def test_the_last_line_of_a_process_that_fails_is_the_error(model, tmp_path, monkeypatch):
    (tmp_path / "tensorflow.py").write_text("raise ImportError('broken on this machine')")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    with pytest.raises(RuntimeError, match=r"could not export the model: .*broken on this machine"):
        model.export(tmp_path / "small", precision="bfloat16")
    assert list((tmp_path / "small").iterdir()) == []
