"""Figures on validation text, and the functions and callbacks of the user's own in a recipe."""

import logging
import math
import numbers

import numpy as np

from aiayn_keras.common.own_modules import import_own_module
from aiayn_keras.training.averaging import ema_weights
from aiayn_keras.training.building import copy_weights
from aiayn_keras.training.recipe_sections import MONITORS
from aiayn_keras.training.translation_scores import (
    corpus_bleu,
    corpus_chrf,
    engine_of_recipe,
    translate_as_recipe,
)

logger = logging.getLogger(__name__)


_MAX_SHARED = 0.01
"""Maximum share of the pairs to measure with that may be in the training text without a warning."""


def warn_of_shared_pairs(training_text, text):
    """Warns if a text to measure a training with is a part of what it learns from.

    Args:
        training_text: Iterable over the training pairs.
        text: `ParallelText`.
    """
    pairs = set(text)
    num_shared = len(pairs.intersection(training_text))
    if num_shared > _MAX_SHARED * len(pairs):
        logger.warning(
            "%s: %s of %s different pairs are in the training text, too, so scores on them say "
            "little about other text. `aiayn-keras check RECIPE --clean FILE` leaves them out of "
            "the training text.",
            text.name,
            f"{num_shared:,}",
            f"{len(pairs):,}",
        )


def load_own(field, name):
    """Imports what a recipe names as `"my_module:my_object"`.

    Args:
        field: Name of the field, for messages.
        name: The module and the object in it.

    Returns:
        The object, a function or a class.

    Raises:
        ImportError: If the module cannot be imported.
        ValueError: If it does not have the object, or that cannot be called.
    """
    module, _, attribute = name.partition(":")
    found = getattr(import_own_module(module), attribute, None)
    if not callable(found):
        has = "has no" if found is None else "holds something that cannot be called under"
        raise ValueError(
            f"`{field}`={name}: the module {module} {has} {attribute}. Give a function or a class "
            "of the module, as `my_module:name`."
        )
    return found


def load_monitor(training):
    """Imports the function of a `TrainingSection`'s own `monitor`; returns `None` for others."""
    if training.monitor in MONITORS:
        return None
    return load_own("training.monitor", training.monitor)


class Validation:
    """Measures the model of a `TrainingRun` on its validation text.

    Where the optimizer keeps a moving average of the weights, `perplexity` and `translations`
    measure that average.

    Args:
        run: The `TrainingRun`.

    Attributes:
        vocabulary_size: Number of wordpieces of the target side.
        engine: Name of the engine that translates the text, such as `"keras"`.

    Raises:
        EngineError: If the recipe's engine cannot do its search.
    """

    def __init__(self, run):
        self._model, self._translator = run.model, run.translator
        self._pairs, self._evaluation = run.corpus.validation, run.recipe.evaluation
        self._monitor = run.recipe.training.monitor
        self._own_figure = load_monitor(run.recipe.training)
        self.engine = engine_of_recipe(self._translator, self._evaluation)
        tokenizer = self._translator.preprocessor.tokenizer
        self._num_tokens = sum(
            len(ids) + 1 for ids in tokenizer.of_targets()(list(self._pairs.targets))
        )
        self.vocabulary_size = tokenizer.of_targets().vocabulary_size()

    def perplexity(self):
        """Computes the perplexity per wordpiece; infinite if it is too large for a number."""
        with ema_weights(self._model):
            return self._perplexity()

    def translations(self):
        """Translates the text; returns `bleu`, `chrf` (0 to 100), and `figure` if there is one."""
        with ema_weights(self._model):
            figures = self._translations()
        shown = ", ".join(f"{name} {each:.2f}" for name, each in figures.items())
        logger.info("Validation %s (engine %s)", shown, self.engine)
        return figures

    def of_these_weights(self):
        """Measures `perplexity`, `bleu`, `chrf` and `figure` of the weights in the model."""
        return {"perplexity": self._perplexity(), **self._translations()}

    def _perplexity(self):
        copy_weights(self._model, self._translator)
        scores = self._translator.score(self._pairs.sources, self._pairs.targets)
        with np.errstate(over="ignore"):
            return float(np.exp(-scores.sum(dtype="float64") / self._num_tokens))

    def _translations(self):
        copy_weights(self._model, self._translator)
        evaluation, references = self._evaluation, list(self._pairs.targets)
        texts = translate_as_recipe(self._translator, self._pairs.sources, evaluation)
        bleu = corpus_bleu(texts, references, evaluation.bleu_tokenizer, evaluation.lowercase)
        figures = {
            "bleu": bleu.score,
            "chrf": corpus_chrf(texts, references, evaluation.lowercase).score,
        }
        if self._own_figure is not None:
            figures["figure"] = self._measure_own(texts, references)
        return figures

    def _measure_own(self, texts, references):
        remedy = (
            "The checkpoint is kept: mend the function, then run the same command again to go on."
        )
        try:
            figure = self._own_figure(texts, references, list(self._pairs.sources))
        except Exception as error:
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            raise ValueError(
                f"`training.monitor`={self._monitor} raised {reason:.200}. {remedy}"
            ) from error
        is_number = isinstance(figure, numbers.Real | np.number) and not isinstance(figure, bool)
        if not (is_number and math.isfinite(figure)):
            raise ValueError(
                f"`training.monitor`={self._monitor} must return a finite number, higher for "
                f"better translations. Received: {figure!r:.100}. {remedy}"
            )
        return float(figure)
