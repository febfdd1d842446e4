from types import SimpleNamespace

import numpy as np
import pytest

from aiayn_keras.training.fitting import Checkpoints, _in_float32
from aiayn_keras.training.validation import Validation


def validation_with(figure):
    """A `Validation` that only knows an own function, which gives this figure."""
    validation = object.__new__(Validation)
    validation._monitor = "mine:figure"
    validation._pairs = SimpleNamespace(sources=("a", "b"))
    validation._own_figure = lambda hypotheses, references, sources: figure
    return validation


@pytest.mark.parametrize("figure", [3, 2.5, np.float32(2.5)])
def test_an_own_figure_is_a_number(figure):
    measured = validation_with(figure)._measure_own(["x", "y"], ["x", "z"])
    assert type(measured) is float
    assert measured == figure


@pytest.mark.parametrize("figure", [None, "3", True, np.nan, np.inf, [2.5]])
def test_an_own_figure_that_is_not_a_number_is_refused(figure):
    with pytest.raises(ValueError, match=r"`training.monitor`=mine:figure must return a finite"):
        validation_with(figure)._measure_own(["x", "y"], ["x", "z"])


# === Divergence ===


def test_figures_beyond_float32_are_logged_as_infinite():
    assert _in_float32(1e38) == 1e38
    assert _in_float32(1e39) == np.inf
    assert _in_float32(-1e39) == -np.inf
    assert _in_float32(np.inf) == np.inf


def test_a_perplexity_worse_than_chance_is_told(caplog):
    checkpoints = object.__new__(Checkpoints)
    checkpoints.validation = SimpleNamespace(vocabulary_size=1000)
    checkpoints._warn_if_worse_than_chance(999.0, 20)
    assert not caplog.records
    for perplexity in (1001.0, np.inf, np.nan):
        checkpoints._warn_if_worse_than_chance(perplexity, 20)
    assert len(caplog.records) == 3
    assert (
        "At update 20 the perplexity on the validation text, 1e+03, is above 1,000, that of "
        in (caplog.text)
    )
    assert "optimizer.peak_learning_rate" in caplog.text
