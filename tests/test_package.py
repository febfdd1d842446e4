"""Importing the package alone: public names, and models that Keras and KerasHub load."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import keras
import pytest

import aiayn_keras
from aiayn_keras import TransformerSeq2SeqLM

LOAD = """
import sys
sys.argv[0] = "aiayn-keras"
import aiayn_keras
import keras, keras_hub
preset, file = sys.argv[1:]
print(type(keras_hub.models.Seq2SeqLM.from_preset(preset)).__name__)
print(type(keras.saving.load_model(file)).__name__)
from aiayn_keras import *
print({"saved_model", "ctranslate2"} <= TransformerSeq2SeqLM.exporters.keys())
"""


@pytest.mark.slow
def test_keras_and_kerashub_load_our_models_after_the_import(trained_run, tmp_path):
    file = tmp_path / "model.keras"
    # Without its tokenizer, whose vocabulary a `.keras` file does not hold.
    TransformerSeq2SeqLM(TransformerSeq2SeqLM.from_preset(str(trained_run)).backbone).save(file)
    result = subprocess.run(
        [sys.executable, "-c", LOAD, str(trained_run), str(file)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == ["TransformerSeq2SeqLM", "TransformerSeq2SeqLM", "True"]


def test_the_package_only_imports():
    program = ast.parse(Path(aiayn_keras.__file__).read_text("utf-8"))
    docstring, *imports, names = program.body
    assert isinstance(docstring, ast.Expr)
    assert all(isinstance(each, ast.ImportFrom) for each in imports)
    assert ast.unparse(names).startswith("__all__ = ")


def test_every_public_name_is_there():
    for name in aiayn_keras.__all__:
        assert getattr(aiayn_keras, name) is not None
    assert set(dir(aiayn_keras)) >= set(aiayn_keras.__all__)
    assert keras.saving.get_registered_object("aiayn_keras>TransformerBackbone")


def test_an_unknown_name_is_an_error_that_names_it():
    with pytest.raises(AttributeError, match="'aiayn_keras' has no attribute 'Transfromer'"):
        aiayn_keras.Transfromer  # noqa: B018


def test_the_paper_s_parts_and_the_packages_of_data_and_exports_are_at_the_top():
    for name in ("DecoderBlock", "EncoderBlock", "MultiHeadAttention", "PositionalEmbedding"):
        assert getattr(aiayn_keras, name) is getattr(aiayn_keras.layers, name)
    assert aiayn_keras.data.TokenBatches
    assert aiayn_keras.export.export_saved_model
