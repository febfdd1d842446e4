"""The solutions run, one after the other in this process: as notebooks, each would load TensorFlow.

Their notebooks hold the same code (`test_notebooks.py`). `make tutorials` runs the lessons.
"""

import runpy

import keras
import matplotlib.pyplot as plt
import pytest

from tests.tutorials.test_notebooks import SOLUTIONS


@pytest.mark.filterwarnings("default")  # as in a notebook
@pytest.mark.skipif(keras.config.backend() != "tensorflow", reason="One backend is enough.")
@pytest.mark.parametrize("source", SOLUTIONS, ids=lambda source: source.stem)
@pytest.mark.slow
def test_solutions_find_their_answers(source, monkeypatch):
    monkeypatch.chdir(source.parent)
    monkeypatch.syspath_prepend(source.parent)
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "3")  # which they set: undone afterwards
    monkeypatch.setattr(plt, "show", lambda: plt.close("all"))
    runpy.run_path(str(source))
