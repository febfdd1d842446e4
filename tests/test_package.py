"""Importing the package alone: public names, and models that Keras and KerasHub load."""

import os
import subprocess
import sys

import keras
import pytest

import aiayn_keras
from aiayn_keras import TransformerSeq2SeqLM

LOAD = """
import sys
import aiayn_keras
import keras, keras_hub
preset, file = sys.argv[1:]
print(type(keras_hub.models.Seq2SeqLM.from_preset(preset)).__name__)
print(type(keras.saving.load_model(file)).__name__)
"""
AS_COMMAND = """
import sys
sys.argv[0] = "aiayn-keras"
import aiayn_keras
assert "keras" not in sys.modules
names = {"export"} | set(dir(aiayn_keras))
assert names >= set(aiayn_keras.__all__)
assert aiayn_keras.TransformerSeq2SeqLM.__module__ == "aiayn_keras.models.transformer_seq2seq_lm"
from aiayn_keras import *
assert {"saved_model", "ctranslate2"} <= TransformerSeq2SeqLM.exporters.keys()
print("well")
"""


def run_python(program, *arguments):
    result = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


def test_keras_and_kerashub_load_our_models_after_the_import(trained_run, tmp_path):
    file = tmp_path / "model.keras"
    # Without its tokenizer, whose vocabulary a `.keras` file does not hold.
    TransformerSeq2SeqLM(TransformerSeq2SeqLM.from_preset(str(trained_run)).backbone).save(file)
    assert run_python(LOAD, trained_run, file) == ["TransformerSeq2SeqLM"] * 2


def test_the_command_has_the_public_names_without_waiting_for_keras():
    assert run_python(AS_COMMAND) == ["well"]


def test_every_public_name_is_there():
    for name in aiayn_keras.__all__:
        assert getattr(aiayn_keras, name) is not None
    assert set(dir(aiayn_keras)) >= set(aiayn_keras.__all__)
    assert keras.saving.get_registered_object("aiayn_keras>TransformerBackbone")


def test_a_name_that_is_not_there_is_named():
    with pytest.raises(AttributeError, match="'aiayn_keras' has no attribute 'Transfromer'"):
        aiayn_keras.Transfromer  # noqa: B018
