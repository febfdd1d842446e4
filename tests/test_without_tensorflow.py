"""Training, translating and saving where TensorFlow is not installed."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("tensorflow") is not None,
    reason="TensorFlow is installed here; `make test-without-tensorflow` runs this without it",
)

PROGRAM = """
import json, sys

import keras
import keras_hub

from aiayn_keras import (
    BeamSampler,
    TransformerBackbone,
    TransformerSeq2SeqLM,
    TransformerSeq2SeqLMPreprocessor,
    TransformerTokenizer,
)

sources = [f"{a} {b}" for a in ("eins", "zwei", "fünf") for b in ("acht", "neun", "drei")] * 8
targets = [f"{a} {b}" for a in ("one", "two", "five") for b in ("eight", "nine", "three")] * 8
tokenizer = TransformerTokenizer.train(sources + targets, 40)
backbone = TransformerBackbone(
    tokenizer.vocabulary_size(),
    num_layers=1,
    num_heads=2,
    hidden_dim=32,
    intermediate_dim=32,
    dropout=0.0,
    max_sequence_length=70,
)
model = TransformerSeq2SeqLM(backbone, TransformerSeq2SeqLMPreprocessor(tokenizer, 16, 16))
model.compile(keras.optimizers.Adam(1e-2))
pairs = {"encoder_text": sources, "decoder_text": targets}
history = model.fit(pairs, batch_size=24, epochs=20, shuffle=False, verbose=0).history
translations = model.translate(sources[:9])
prompts = {"encoder_text": sources[:9], "decoder_text": [""] * 9}
generated = model.generate(prompts)
model.save_to_preset(sys.argv[1])
loaded = keras_hub.models.Seq2SeqLM.from_preset(sys.argv[1])
print(json.dumps({
    "backend": keras.config.backend(),
    "loss": history["loss"],
    "targets": targets[:9],
    "translated": [translation.text for translation in translations],
    "scores": [translation.score for translation in translations],
    "rescored": model.score(sources[:9], [t.text for t in translations]).tolist(),
    "generated": generated,
    "loaded": type(loaded).__name__,
    "translated after loading": [translation.text for translation in loaded.translate(sources[:9])],
    "generated after loading": loaded.generate(prompts),
    "modules": sorted(
        name for name in sys.modules if name.split(".")[0] in ("tensorflow", "tensorflow_text")
    ),
}))
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The output of a fresh process, where nothing has been imported yet."""
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path_factory.mktemp("preset"))],
        env={"KERAS_BACKEND": "jax", **os.environ},
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout.splitlines()[-1])


def test_tensorflow_is_never_imported(report):
    assert report["backend"] in ("jax", "torch")
    assert report["modules"] == []


def test_a_model_learns_from_strings(report):
    assert report["loss"][-1] < report["loss"][0] / 2
    correct = map(str.__eq__, report["translated"], report["targets"])
    assert sum(correct) >= 7


def test_scores_are_those_of_scoring_the_translations(report):
    assert report["scores"] == pytest.approx(report["rescored"], abs=1e-3)


def test_generate_gives_the_best_translation(report):
    assert report["generated"] == report["translated"]


def test_a_preset_translates_the_same(report):
    assert report["loaded"] == "TransformerSeq2SeqLM"
    assert report["translated after loading"] == report["translated"]
    assert report["generated after loading"] == report["generated"]


def test_a_recipe_is_trained(trained_run):
    assert (trained_run / "task.json").is_file()
    assert not (trained_run / "tensorboard").exists()
    assert "tensorflow" not in sys.modules
