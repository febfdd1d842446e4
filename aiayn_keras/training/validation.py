"""Figures of the model in training on the validation sentences, with the EMA of its weights."""

import logging

import numpy as np

from aiayn_keras.training.adapters import merged_weights
from aiayn_keras.training.bleu import evaluate_bleu
from aiayn_keras.training.ema import ema_weights

logger = logging.getLogger(__name__)


def copy_weights(model, translator):
    """Gives a translator the weights of the model in training, if it is a copy.

    A copy has no adapters: they are merged.
    """
    if translator.backbone is not model.backbone:
        translator.backbone.set_weights(merged_weights(model.backbone))


class Validation:
    """Measures a `TrainingRun`'s model as it is, between two updates.

    Args:
        run: The `TrainingRun`.
    """

    def __init__(self, run):
        self._model, self._translator = run.model, run.translator
        self._pairs, self._evaluation = run.corpus.validation, run.recipe.evaluation
        tokenizer = self._translator.preprocessor.tokenizer
        self._num_tokens = sum(
            len(ids) + 1 for ids in tokenizer.of_targets()(list(self._pairs.targets))
        )

    def perplexity(self):
        """Perplexity per wordpiece."""
        with ema_weights(self._model):
            copy_weights(self._model, self._translator)
            scores = self._translator.score(self._pairs.sources, self._pairs.targets)
        return float(np.exp(-scores.sum(dtype="float64") / self._num_tokens))

    def bleu(self):
        """BLEU, 0 to 100."""
        with ema_weights(self._model):
            copy_weights(self._model, self._translator)
            bleu = evaluate_bleu(self._translator, self._pairs, self._evaluation)
        logger.info("Validation BLEU: %s", bleu)
        return bleu.score
