"""Mistakes made on purpose in our code: the comparisons must find them."""

import functools

import keras
import numpy as np
import pytest
from keras import ops

from aiayn_keras import layers
from aiayn_keras.layers import attention, masks, positional_embedding
from tests.fidelity import cases
from tests.fidelity.against_torch_models import BASE_SIZE
from tests.fidelity.registry import COMPARISONS

pytestmark = pytest.mark.skipif(
    keras.config.backend() != "tensorflow",
    reason="The comparisons are the same on every backend; one is enough to see them fail.",
)

BY_REFERENCE = {comparison.reference: comparison for comparison in COMPARISONS}

KERAS = ["keras.layers.MultiHeadAttention", "keras.layers.MultiHeadAttention, no biases"]
TORCH_ATTENTION = ["torch.nn.MultiheadAttention", "torch.nn.MultiheadAttention, no biases"]
POST_NORM = ["torch.nn.TransformerEncoderLayer", "torch.nn.TransformerDecoderLayer"]
PRE_NORM = [f"{name}, pre-norm" for name in POST_NORM]
SMALL = "torch.nn.Transformer, small, pre-norm"
MARIAN, MARIAN_SWISH = "transformers.MarianMTModel, relu", "transformers.MarianMTModel, swish"
MODELS = [SMALL, MARIAN]


def unscaled_scores(patch):
    weights = attention.attention_weights

    def unscaled(query, key, mask=None):
        return weights(query * query.shape[-1] ** 0.5, key, mask)

    patch.setattr(attention, "attention_weights", unscaled)


def mask_ignored(patch):
    weights = attention.attention_weights
    patch.setattr(attention, "attention_weights", lambda query, key, mask: weights(query, key))


def heads_joined_in_the_wrong_order(patch):
    def join(self, x):
        return ops.reshape(x, (-1, ops.shape(x)[2], self.num_heads * self.value_dim))

    patch.setattr(layers.MultiHeadAttention, "_join_heads", join)


def query_s_gradient_lost(patch):
    """The output stays as it is: only gradients can tell."""
    call = layers.MultiHeadAttention.call

    def without_gradient(self, query, *args, **options):
        return call(self, ops.stop_gradient(query), *args, **options)

    patch.setattr(layers.MultiHeadAttention, "call", without_gradient)


def other_epsilon(patch):
    init = layers.AddNorm.__init__

    def with_tensor2tensor_s(self, **options):
        init(self, **{**options, "epsilon": 1e-6})

    patch.setattr(layers.AddNorm, "__init__", with_tensor2tensor_s)


def residual_forgotten(patch):
    def without_input(self, x, sublayer):
        return self.layer_norm(self.dropout_layer(sublayer(x)))

    patch.setattr(layers.AddNorm, "call", without_input)


def other_activation(patch):
    init = layers.PositionwiseFeedForward.__init__

    def with_gelu(self, *args, **options):
        init(self, *args, **{**options, "activation": "gelu"})

    patch.setattr(layers.PositionwiseFeedForward, "__init__", with_gelu)


def unscaled_embedding(patch):
    call = layers.PositionalEmbedding.call

    def unscaled(self, x, padding_mask, training=None):
        return call(self, x / x.shape[-1] ** 0.5, padding_mask, training=training)

    patch.setattr(layers.PositionalEmbedding, "call", unscaled)


def sines_before_cosines(patch):
    interleaved = positional_embedding.sinusoidal_encoding

    def joined(length, hidden_dim):
        encoding = interleaved(length, hidden_dim)
        return np.concatenate([encoding[:, 0::2], encoding[:, 1::2]], axis=1)

    patch.setattr(positional_embedding, "sinusoidal_encoding", joined)


def future_seen(patch):
    patch.setattr(
        masks,
        "make_causal_mask",
        lambda padding_mask: ops.ones_like(padding_mask, dtype="bool")[:, None],
    )


def padding_seen(patch):
    mask = masks.make_attention_mask
    patch.setattr(
        masks,
        "make_attention_mask",
        lambda query, key: mask(ops.ones_like(query), ops.ones_like(key)),
    )


def other_smoothing(patch):
    loss = cases.LabelSmoothedCrossEntropy
    patch.setattr(cases, "LabelSmoothedCrossEntropy", lambda smoothing: loss(smoothing + 0.01))


def padding_in_the_loss(patch):
    """Divides by all positions, though padding adds nothing."""
    loss = functools.partial(cases.LabelSmoothedCrossEntropy, reduction="sum_over_batch_size")
    patch.setattr(cases, "LabelSmoothedCrossEntropy", loss)


MISTAKES = [
    (unscaled_scores, ["NumPy, attention", *KERAS, *TORCH_ATTENTION]),
    (mask_ignored, ["NumPy, encoder block", *KERAS, *TORCH_ATTENTION, *POST_NORM, *PRE_NORM]),
    (heads_joined_in_the_wrong_order, [*KERAS, *TORCH_ATTENTION]),
    (query_s_gradient_lost, [*KERAS, *TORCH_ATTENTION, *POST_NORM, *PRE_NORM, MARIAN]),
    (other_epsilon, [*POST_NORM, *PRE_NORM, SMALL]),
    (residual_forgotten, ["NumPy, decoder block", *POST_NORM, *PRE_NORM]),
    (other_activation, [*POST_NORM, *PRE_NORM, MARIAN_SWISH]),
    (unscaled_embedding, MODELS),
    (sines_before_cosines, MODELS),
    (future_seen, MODELS),
    (padding_seen, MODELS),
    (other_smoothing, MODELS),
    (padding_in_the_loss, MODELS),
]


@pytest.mark.parametrize(
    ("mistake", "reference"),
    [
        pytest.param(mistake, reference, id=f"{mistake.__name__}-{reference}")
        for mistake, references in MISTAKES
        for reference in references
    ],
)
def test_the_comparison_finds_the_mistake(mistake, reference, monkeypatch):
    comparison = BY_REFERENCE[reference]
    if comparison.needs is not None:
        pytest.importorskip(comparison.needs)
    mistake(monkeypatch)
    assert comparison.run().beyond(100 * comparison.bound)


def test_every_comparison_has_been_seen_to_fail():
    seen = {reference for _, references in MISTAKES for reference in references}
    # The base size is the small model with larger numbers, and takes as long as all the others.
    assert seen == BY_REFERENCE.keys() - {BASE_SIZE}
