"""Keras' and TensorFlow's own ways of using many devices train as one device does."""

import json
import os
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest

from tests.helpers import assert_close

BACKEND = keras.config.backend()


@pytest.mark.slow
@pytest.mark.skipif(BACKEND == "torch", reason="PyTorch trains on one device.")
@pytest.mark.parametrize("count", [2, 4])
def test_many_devices_train_from_strings_as_one_does(count, tmp_path):
    output = tmp_path / "results.json"
    subprocess.run(
        [sys.executable, "-m", "tests.models.strategies", output, str(count)],
        check=True,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "KERAS_BACKEND": BACKEND},
    )
    one, many = (json.loads(output.read_text("utf-8"))[name] for name in ("one", "many"))
    for name in ("loss", "accuracy", "perplexity"):
        assert_close(many["history"][name], one["history"][name], 1e-4, 1e-4)
        assert_close(many["measured"][name], one["measured"][name], 1e-4, 1e-4)
    assert_close(many["unweighted"], one["unweighted"], 1e-4, 1e-4)
    assert_close(np.array(many["logits"]), np.array(one["logits"]), 1e-4, 1e-4)
    assert many["translations"] == one["translations"]
    for ours, theirs in zip(many["weights"], one["weights"], strict=True):
        assert_close(np.array(ours), np.array(theirs), 0, 1e-4)
