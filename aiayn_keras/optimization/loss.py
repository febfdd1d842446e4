"""The training loss (paper 5.4), and the metrics: means over real tokens."""

from typing import Any, NamedTuple

import keras
from keras import ops

from aiayn_keras.backend import mean_over_replicas
from aiayn_keras_light.checks import check_number


def label_smoothed_cross_entropy(labels, logits, label_smoothing):
    """Cross-entropy of every token against a smoothed one-hot target, in nats.

    The target gives `1 - ε` to the label and spreads `ε` evenly over the whole vocabulary, the
    label included (https://arxiv.org/abs/1512.00567, section 7).

    Args:
        labels: Integer tensor `(B, T)`.
        logits: Float tensor `(B, T, V)`.
        label_smoothing: The paper's ε_ls, in [0, 1).

    Returns:
        Float32 tensor `(B, T)`.

    Raises:
        ValueError: For labels whose shape is not that of the logits without its last axis.
    """
    labels = ops.cast(labels, "int32")
    _check_shapes(labels, logits)
    vocabulary_size = logits.shape[-1]
    off_label = label_smoothing / vocabulary_size
    on_label = 1.0 - label_smoothing + off_label
    labels = ops.expand_dims(labels, axis=-1)

    # Passes over all logits take most of a small model's time. Automatic differentiation would make
    # more of them than the gradient needs, which is `softmax(logits) - target`.
    @ops.custom_gradient
    def cross_entropy(logits):
        scores = ops.cast(logits, "float32")
        probabilities = ops.softmax(scores, axis=-1)
        # Softmax is fast everywhere, and its maximum reveals the normalizer.
        log_normalizer = ops.max(scores, axis=-1) - ops.log(ops.max(probabilities, axis=-1))
        of_label = ops.squeeze(ops.take_along_axis(scores, labels, axis=-1), axis=-1)
        loss = log_normalizer - (1.0 - label_smoothing) * of_label
        if label_smoothing:
            loss = loss - label_smoothing * ops.mean(scores, axis=-1)

        def gradient(*args, upstream=None):
            upstream = args[0] if upstream is None else upstream  # the backends call it differently
            is_label = ops.equal(ops.arange(vocabulary_size, dtype="int32"), labels)
            # Not numbers, which `where` would make tensors of Keras' `floatx`.
            target = ops.where(is_label, *map(_float32, (on_label, off_label)))
            gradient = (probabilities - target) * ops.expand_dims(upstream, axis=-1)
            return ops.cast(gradient, logits.dtype)

        return loss, gradient

    return cross_entropy(logits)


def _float32(number):
    return ops.convert_to_tensor(number, dtype="float32")


def _check_shapes(labels, logits):
    """Raises a ValueError for labels that would fail in the backend, or be broadcast."""
    sizes = zip(labels.shape, logits.shape[:-1], strict=False)
    differ = any(None not in pair and pair[0] != pair[1] for pair in sizes)
    if differ or len(labels.shape) != len(logits.shape) - 1:
        raise ValueError(
            "`labels` (in `fit`, `y`) must be integer ids with the shape of the logits without its "
            f"last axis. Received: labels of shape {tuple(labels.shape)}, logits of shape "
            f"{tuple(logits.shape)}. Give `labels.argmax(-1)` instead of one-hot labels, and "
            "`labels[..., 0]` instead of labels with a last axis of 1."
        )


def token_weights(sample_weight, labels):
    """Gives every token a weight; Keras would divide by the sum of the weights of rows.

    Args:
        sample_weight: Tensor or array `(B, T)`; or `(B,)` or `(B, 1)`, one weight for each row.
        labels: Integer tensor `(B, T)`.

    Returns:
        Float32 tensor `(B, T)`.
    """
    weights, labels = ops.cast(sample_weight, "float32"), ops.convert_to_tensor(labels)
    while weights.ndim < labels.ndim:
        weights = ops.expand_dims(weights, axis=-1)
    return weights * ops.ones_like(labels, dtype="float32")


@keras.saving.register_keras_serializable(package="aiayn_keras")
class LabelSmoothedCrossEntropy(keras.losses.Loss):
    """Label-smoothed cross-entropy on integer labels, a mean over real tokens (paper 5.4).

    Tokens with sample weight 0 are padding: they add nothing to the sum or the divisor. The mean is
    that of the whole batch, on however many devices.

    Args:
        label_smoothing: Share of the target spread over the vocabulary (ε_ls), at most 0.99.
        reduction: As in `keras.losses.Loss`; the default divides by the sum of the weights.
        name: Name of the loss.
        dtype: Defaults to float32, whatever Keras' `floatx` is. In half precision Keras would round
            the labels to other tokens.

    Call arguments:
        y_true: Integer tensor `(B, T)`, labels.
        y_pred: Float tensor `(B, T, V)`, logits.
        sample_weight: Float tensor `(B, T)`, 0 on padding; or `(B,)`, one weight for each row.

    Returns:
        Float32 scalar, nats per token.

    Raises:
        ValueError: For a `dtype` of half precision, and for labels whose shape is not that of the
            logits without its last axis.
    """

    def __init__(
        self,
        label_smoothing=0.1,
        reduction="mean_with_sample_weight",
        name="label_smoothed_cross_entropy",
        dtype=None,
    ):
        super().__init__(name=name, reduction=reduction, dtype=dtype or "float32")
        if self.dtype not in ("float32", "float64"):
            raise ValueError(
                f"`dtype` must be float32 or float64. Received: dtype={self.dtype}. Leave it out: "
                "logits of every precision are taken."
            )
        self.label_smoothing = check_number("label_smoothing", label_smoothing, 0, 0.99)

    def __call__(self, y_true, y_pred, sample_weight=None):
        if sample_weight is not None:
            sample_weight = token_weights(sample_weight, y_true)
        loss = super().__call__(y_true, y_pred, sample_weight)
        if self.reduction != "mean_with_sample_weight":
            return loss
        weights = ops.ones_like(y_true) if sample_weight is None else sample_weight
        return mean_over_replicas(loss, ops.cast(weights, loss.dtype))

    def call(self, y_true, y_pred):
        return label_smoothed_cross_entropy(y_true, y_pred, self.label_smoothing)

    def get_config(self):
        config = super().get_config()
        config.update({"label_smoothing": self.label_smoothing})
        return config


class TokenStatistics(NamedTuple):
    """The statistics of logits from which both metrics are computed.

    Attributes:
        log_probs: Float tensor `(B, T)`, log-probabilities of the labels.
        is_best: Boolean tensor `(B, T)`, True where the label has the highest logit.
    """

    log_probs: Any
    is_best: Any


def token_statistics(labels, logits):
    """The `TokenStatistics` of integer labels `(B, T)` and logits `(B, T, V)`."""
    is_best = ops.equal(ops.argmax(logits, axis=-1), ops.cast(labels, "int32"))
    return TokenStatistics(_log_probs(labels, logits), is_best)


def _log_probs(labels, logits):
    logits = ops.cast(logits, "float32")
    return -ops.sparse_categorical_crossentropy(labels, logits, from_logits=True)


@keras.saving.register_keras_serializable(package="aiayn_keras")
class TokenAccuracy(keras.metrics.SparseCategoricalAccuracy):
    """Share of real tokens whose label gets the highest logit, given the true prefix.

    Counted in float32 unless another `dtype` is given: in half precision, 2,048 and 1 are 2,048.
    """

    def __init__(self, name="accuracy", dtype="float32"):
        super().__init__(name=name, dtype=dtype)

    def update_from_statistics(self, statistics, sample_weight=None):
        """Equivalent to `update_state`, from `TokenStatistics`."""
        keras.metrics.Mean.update_state(self, statistics.is_best, sample_weight)


@keras.saving.register_keras_serializable(package="aiayn_keras")
class Perplexity(keras.metrics.Mean):
    """`exp` of the mean cross-entropy per real token, without label smoothing (paper, Table 3).

    Takes integer labels `(B, T)`, logits `(B, T, V)` and weights `(B, T)`, 0 on padding. It is
    per wordpiece, as in the paper: comparable only under the same tokenizer. It is counted in
    float32 unless another `dtype` is given.
    """

    def __init__(self, name="perplexity", dtype="float32"):
        super().__init__(name=name, dtype=dtype)
        self._direction = "down"  # Keras' callbacks read it: lower is better

    def update_state(self, y_true, y_pred, sample_weight=None):
        return super().update_state(-_log_probs(y_true, y_pred), sample_weight=sample_weight)

    def update_from_statistics(self, statistics, sample_weight=None):
        """Equivalent to `update_state`, from `TokenStatistics`."""
        super().update_state(-statistics.log_probs, sample_weight=sample_weight)

    def result(self):
        return ops.exp(super().result())
