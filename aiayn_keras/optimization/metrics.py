"""Metrics of training; both are means over real tokens."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="aiayn_keras")
class TokenAccuracy(keras.metrics.SparseCategoricalAccuracy):
    """Share of real tokens whose label gets the highest logit, with the true prefix given."""

    def __init__(self, name="accuracy", dtype=None):
        super().__init__(name=name, dtype=dtype)


@keras.saving.register_keras_serializable(package="aiayn_keras")
class Perplexity(keras.metrics.Mean):
    """`exp` of the mean cross-entropy per real token, without label smoothing (paper, Table 3).

    Takes integer labels `(B, T)`, logits `(B, T, V)` and weights `(B, T)`, 0 on padding. It is
    per wordpiece, as in the paper: comparable only under the same tokenizer.
    """

    def __init__(self, name="perplexity", dtype=None):
        super().__init__(name=name, dtype=dtype)

    def update_state(self, y_true, y_pred, sample_weight=None):
        loss = ops.sparse_categorical_crossentropy(
            y_true, ops.cast(y_pred, "float32"), from_logits=True
        )
        return super().update_state(loss, sample_weight=sample_weight)

    def result(self):
        return ops.exp(super().result())
