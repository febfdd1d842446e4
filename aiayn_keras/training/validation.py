"""The exponential moving average (EMA) of the weights, used in their place for a while.

It is Keras': it starts with the weights after the first update and is not debiased, so that these
still have a share of `ema_momentum` to the power of the moves since (37 % after 1,000 at 0.999).
Under gradient accumulation it moves once a batch, not once an update.
"""

import contextlib
import logging

import keras
import numpy as np

from aiayn_keras.training.adapters import merged_weights
from aiayn_keras.training.bleu import evaluate_bleu


@contextlib.contextmanager
def ema_weights(model):
    """Context manager in which the model has the EMA of its weights, if the optimizer keeps one."""
    kept = _copies(model.trainable_variables)
    model.optimizer.finalize_variable_values(model.trainable_variables)
    # A copy, since a compiled step of JAX uses up the arrays of the model, not the optimizer's.
    _assign(model.trainable_variables, _copies(model.trainable_variables))
    try:
        yield
    finally:
        _assign(model.trainable_variables, kept)


def _copies(variables):
    return [keras.ops.copy(variable) for variable in variables]


def _assign(variables, values):
    for variable, value in zip(variables, values, strict=True):
        variable.assign(value)


class ValidateEMA(keras.callbacks.Callback):
    """Lets `fit` measure the validation loss with the EMA of the weights."""

    def __init__(self):
        super().__init__()
        self._validation = contextlib.ExitStack()

    def on_test_begin(self, logs=None):
        self._validation.enter_context(ema_weights(self.model))

    def on_test_end(self, logs=None):
        self._validation.close()


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
