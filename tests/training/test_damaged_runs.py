"""A sample of `tests.claims.runs`: twelve damaged trainings.

One backend is enough, and PyTorch has nothing to compile.
"""

import subprocess
import sys

import keras
import pytest

pytestmark = pytest.mark.skipif(
    keras.config.backend() != "torch", reason="One backend is enough, the quickest one."
)


def test_damaged_trainings_go_on_to_the_same_weights_or_are_refused():
    result = subprocess.run(
        [sys.executable, "-m", "tests.claims.runs", "--cases", "12", "--seed", "1"],
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stdout + result.stderr[-2000:]
    assert "12 cases in" in result.stdout
