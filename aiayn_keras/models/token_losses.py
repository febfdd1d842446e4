"""The loss of a step, with `TokenStatistics` instead of logits, computed in parts of a batch."""

from keras import ops

from aiayn_keras.backend import (
    changes_of,
    divide_rows,
    is_known,
    parts_of_batch,
    projected_cross_entropy,
    projects_in_loss,
)
from aiayn_keras.layers import ReversibleEmbedding
from aiayn_keras.optimization import (
    LabelSmoothedCrossEntropy,
    TokenStatistics,
    label_smoothed_cross_entropy,
    token_statistics,
    token_weights,
)

_REDUCTIONS = ("mean_with_sample_weight", "sum")
"""Reductions of the loss that are sums of weighted losses."""
_MAY_READ_LOGITS = ("call", "compute_loss", "compute_metrics", "train_step", "test_step")


def computes_statistics(model):
    """True if `loss_and_statistics` can compute the steps of a compiled model, and gains by it.

    Metrics and losses other than this package's need logits, and so may methods of a subclass.
    """
    return (
        model._compiled_metrics.of_tokens is not None
        and type(model.loss) is LabelSmoothedCrossEntropy
        and model.loss.reduction in _REDUCTIONS
        and all(is_known(getattr(model, name)) for name in _MAY_READ_LOGITS)
        and (_projects_in_loss(model) or _num_parts(model) > 1)
    )


def _projects_in_loss(model):
    embedding = model.backbone.token_embedding
    return (
        projects_in_loss()
        and embedding.quantization_mode is None
        and embedding.logits_bias is None
        and type(embedding) is ReversibleEmbedding  # not one whose `call` is another
        and not changes_of(embedding)
        # float16 gradients must be scaled before they are rounded.
        and model.backbone.compute_dtype != "float16"
    )


def _num_parts(model):
    """Number of parts of a batch: one if a layer may look at several rows, or adds to the loss."""
    if model.jit_compile or parts_of_batch() == 1:
        return 1
    has_rows_apart = all(
        is_known(type(layer)) and not changes_of(layer) and layer.activity_regularizer is None
        for layer in model._flatten_layers(include_self=False)
    )
    return parts_of_batch() if has_rows_apart else 1


def loss_and_statistics(model, x, y, sample_weight, training):
    """The loss of a batch, losses added by layers included, and the statistics for the metrics.

    Args:
        model: A compiled `TransformerSeq2SeqLM` for which `computes_statistics` is true.
        x: Dictionary of the backbone's inputs.
        y: Integer tensor `(B, T)`, labels.
        sample_weight: Weights of the tokens, see `token_weights`, or `None`.
        training: Whether to drop units.

    Returns:
        Tuple of a float32 scalar and `TokenStatistics`.
    """
    weights = token_weights(1 if sample_weight is None else sample_weight, y)
    if model.loss.reduction == "mean_with_sample_weight":
        weights = ops.divide_no_nan(weights, ops.sum(weights))
    model._clear_losses()
    num_parts = _num_parts(model)
    if num_parts == 1:
        loss, statistics = _of_part(model, x, y, weights, training)
    else:
        parts = divide_rows((x, y, weights), num_parts)
        losses, each = zip(*(_of_part(model, *part, training) for part in parts), strict=True)
        loss = sum(losses)
        statistics = TokenStatistics(*map(ops.concatenate, zip(*each, strict=True)))
    # The losses of regularizers, and of `add_loss` in parts of the user's own.
    return loss + sum(map(model._aggregate_additional_loss, model.losses)), statistics


def _of_part(model, x, y, weights, training):
    """Sum of the weighted losses, and the `TokenStatistics`."""
    hidden_states = model.backbone(x, training=training)["decoder_sequence_output"]
    embedding, label_smoothing = model.backbone.token_embedding, model.loss.label_smoothing
    if not _projects_in_loss(model):
        logits = embedding(hidden_states, reverse=True)
        losses = label_smoothed_cross_entropy(y, logits, label_smoothing)
        return ops.sum(losses * weights), token_statistics(y, logits)
    if embedding.tie_weights:
        matrix = embedding.matrix()
    else:
        matrix = ops.transpose(embedding.output_kernel())
    loss, *statistics = projected_cross_entropy(hidden_states, matrix, y, weights, label_smoothing)
    return loss, TokenStatistics(*statistics)
