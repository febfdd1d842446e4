from types import SimpleNamespace

import numpy as np
import pytest

from aiayn_keras.data import ParallelText
from aiayn_keras.decoding.translation_search import ENGINES, Engine
from aiayn_keras.training.fitting import Checkpoints, _in_float32
from aiayn_keras.training.option_sections import EvaluationSection
from aiayn_keras.training.translation_scores import engine_of_recipe, translate_as_recipe
from aiayn_keras.training.validation import Validation, warn_of_shared_pairs
from tests.random_parser import SOURCES, build_random_parser


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


def test_an_own_figure_that_raises_is_named():
    def fail(hypotheses, references, sources):
        raise KeyError("tea\ncup")

    validation = validation_with(None)
    validation._own_figure = fail
    with pytest.raises(ValueError, match=r"=mine:figure raised KeyError: .*\. The checkpoint is"):
        validation._measure_own(["x", "y"], ["x", "z"])


# === Divergence ===


def test_figures_beyond_float32_are_logged_as_infinite():
    assert _in_float32(1e38) == 1e38
    assert _in_float32(1e39) == np.inf
    assert _in_float32(-1e39) == -np.inf
    assert _in_float32(np.inf) == np.inf


@pytest.mark.parametrize(
    ("before", "perplexity", "is_told"),
    [
        ([], 999.0, False),
        ([], 9_999.0, False),  # random weights may be worse than chance
        ([], 10_001.0, True),
        ([], np.inf, True),
        ([], np.nan, True),
        ([5_000.0], 4_000.0, False),
        ([np.inf], np.inf, True),
        ([5_000.0], 6_000.0, True),
        ([50.0, 2_000.0], 999.0, False),
        ([50.0, 2_000.0], 1_500.0, True),
    ],
)
def test_a_perplexity_that_is_worse_than_chance_is_told(caplog, before, perplexity, is_told):
    checkpoints = object.__new__(Checkpoints)
    checkpoints.validation = SimpleNamespace(vocabulary_size=1000)
    checkpoints.history = [{"val_perplexity": each} for each in before]
    checkpoints._warn_if_diverging(perplexity, 20)
    assert len(caplog.records) == is_told
    if is_told:
        assert "At update 20 the perplexity on the validation text" in caplog.text
        assert "above 1,000, that of guessing at random: the training diverges" in caplog.text
        assert "optimizer.peak_learning_rate" in caplog.text


def test_a_text_that_is_learned_from_is_warned_of(caplog):
    learned = [(f"s{n}", f"t{n}") for n in range(300)]
    some = ParallelText(["s1", "s1", "x"], ["t1", "t1", "t2"], name="valid.tsv")
    warn_of_shared_pairs(iter(learned), some)
    assert "valid.tsv: 1 of 2 different pairs are in the training text" in caplog.text
    caplog.clear()
    many = ParallelText([f"s{n}" for n in range(299, 500)], [f"t{n}" for n in range(299, 500)])
    warn_of_shared_pairs(learned, many)
    warn_of_shared_pairs((), some)
    assert not caplog.text


def test_the_engine_of_the_recipe_searches(monkeypatch):
    batches = []

    class EngineDouble(Engine):
        """Test double of another program: our own search, which is noted."""

        def __init__(self, model):
            pass

        @staticmethod
        def obstacle(models, options, is_made=False):
            return None

        def find(self, options, own_find, *tensors):
            batches.append(tensors)
            return own_find(*tensors)

    monkeypatch.setitem(ENGINES, "double", EngineDouble)
    model = build_random_parser()
    for engine, is_used in (("keras", False), ("double", True)):
        evaluation = EvaluationSection(engine=engine, num_beams=1, max_length=5)
        translate_as_recipe(model, SOURCES, evaluation)
        assert bool(batches) == is_used
        assert engine_of_recipe(model, evaluation) == engine
