"""Training metrics, means over real tokens."""

from typing import Any, NamedTuple

import keras
from keras import ops


class TokenStatistics(NamedTuple):
    """The statistics of logits from which both metrics are computed.

    Attributes:
        log_probs: Float tensor `(B, T)`, log-probabilities of the labels.
        is_best: Boolean tensor `(B, T)`, True where the label has the highest logit.
    """

    log_probs: Any
    is_best: Any


@keras.saving.register_keras_serializable(package="aiayn_keras")
class TokenAccuracy(keras.metrics.SparseCategoricalAccuracy):
    """Share of real tokens whose label gets the highest logit, given the true prefix."""

    def __init__(self, name="accuracy", dtype=None):
        super().__init__(name=name, dtype=dtype)

    def update_from_statistics(self, statistics, sample_weight=None):
        """Equivalent to `update_state`, from `TokenStatistics`."""
        keras.metrics.Mean.update_state(self, statistics.is_best, sample_weight)


@keras.saving.register_keras_serializable(package="aiayn_keras")
class Perplexity(keras.metrics.Mean):
    """`exp` of the mean cross-entropy per real token, without label smoothing (paper, Table 3).

    Takes integer labels `(B, T)`, logits `(B, T, V)` and weights `(B, T)`, 0 on padding. It is
    per wordpiece, as in the paper: comparable only under the same tokenizer.
    """

    def __init__(self, name="perplexity", dtype=None):
        super().__init__(name=name, dtype=dtype)
        self._direction = "down"  # Keras' callbacks read it: less is better

    def update_state(self, y_true, y_pred, sample_weight=None):
        loss = ops.sparse_categorical_crossentropy(
            y_true, ops.cast(y_pred, "float32"), from_logits=True
        )
        return super().update_state(loss, sample_weight=sample_weight)

    def update_from_statistics(self, statistics, sample_weight=None):
        """Equivalent to `update_state`, from `TokenStatistics`."""
        super().update_state(-statistics.log_probs, sample_weight=sample_weight)

    def result(self):
        return ops.exp(super().result())
