"""A training that goes on with a different backend, in a process of its own."""

import importlib.util
import json
import os
import subprocess
import sys

import keras
import pytest

from aiayn_keras.training import train
from tests.helpers import assert_close
from tests.training.changing import short_recipe, train_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(keras.config.backend() != "tensorflow", reason="One direction is enough."),
    pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="needs JAX"),
]
# Dropout differs between backends.
NO_DROPOUT = ("model.dropout=0.0", "evaluation.num_beams=1")


def test_a_training_goes_on_from_tensorflow_to_jax_and_back(tmp_path):
    recipe = short_recipe(*NO_DROPOUT)
    folder, expected = tmp_path / "run", tmp_path / "expected"
    train(recipe, expected)
    train_until(recipe, folder, 3)
    jax = short_recipe(*NO_DROPOUT, "training.updates=4")
    (tmp_path / "jax.yaml").write_text(jax.to_yaml(), encoding="utf-8")
    command = (sys.executable, "-m", "aiayn_keras_cli", "train", tmp_path / "jax.yaml")
    environment = {**os.environ, "KERAS_BACKEND": "jax", "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([*command, "--output", folder], env=environment, check=True)
    train(recipe, folder)
    ours, theirs = (json.loads((run / "history.json").read_text()) for run in (folder, expected))
    assert [row["updates"] for row in ours] == [2, 4, 6]
    for row, expected_row in zip(ours, theirs, strict=True):
        for name in ("learning_rate", "loss", "val_loss", "val_perplexity"):
            assert_close(row[name], expected_row[name], rtol=1e-4)
    changes = json.loads((folder / "changes.json").read_text())
    assert [change["backend"] for change in changes] == ["tensorflow", "jax", "tensorflow"]
    assert [change["updates"] for change in changes] == [0, 3, 4]
