"""Models that lack one part, for rows that the paper's Table 3 does not have.

Only the named part differs. Training, scoring and the search run the usual code, so
a subclass changes what both the layers and the search's frozen decoder read. For the TensorFlow
backend: on JAX the loss reads the embedding matrix past the layer's `call`.
"""

import math

import keras
from keras import ops

from aiayn_keras.layers import (
    AddNorm,
    DecoderBlock,
    EncoderBlock,
    MultiHeadAttention,
    ReversibleEmbedding,
)
from aiayn_keras.models import TransformerBackbone
from aiayn_keras.optimization import WarmupSchedule

registered = keras.saving.register_keras_serializable(package="experiments")


@registered
class MultipliedDense(keras.layers.Dense):
    """A `Dense` layer whose kernel is a constant times the trained matrix.

    Args:
        units: Width of the output.
        factor: The constant.
        **kwargs: As in `keras.layers.Dense`.
    """

    def __init__(self, units, factor=1.0, **kwargs):
        super().__init__(units, **kwargs)
        self.factor = factor

    @property
    def kernel(self):
        return super().kernel * self.factor

    def get_config(self):
        return {**super().get_config(), "factor": self.factor}


@registered
class UnscaledAttention(MultiHeadAttention):
    """`softmax(Q Kᵀ) V`: equation 1 without 1/√d_k, against which queries are multiplied by √d_k.

    Takes `MultiHeadAttention`'s arguments.
    """

    def _dense(self, units, name, scale=1.0):
        dense = super()._dense(units, name, scale)
        if name != "query":
            return dense
        return MultipliedDense.from_config(
            {**dense.get_config(), "factor": math.sqrt(self.key_dim)}
        )


@registered
class UnscaledEmbedding(ReversibleEmbedding):
    """An embedding that `PositionalEmbedding` multiplies by √d_model to no effect (paper 3.4).

    Lookups are divided by it; logits are not. Takes `ReversibleEmbedding`'s arguments.
    """

    def call(self, inputs, reverse=False):
        outputs = super().call(inputs, reverse=reverse)
        return outputs if reverse else outputs / math.sqrt(self.output_dim)

    def matrix(self):
        return super().matrix() / math.sqrt(self.output_dim)

    def output_kernel(self):
        return ops.transpose(super().matrix())


def norm_alone(x, sublayer, layer_norm, normalize_first=False, dropout=None):
    """`LayerNorm(Dropout(Sublayer(x)))`: `add_and_norm` without the residual connection."""
    y = sublayer(x)
    return layer_norm(y if dropout is None else dropout(y))


@registered
class NormAlone(AddNorm):
    """An `AddNorm` that adds nothing (paper 3.1 without residual connections)."""

    join = staticmethod(norm_alone)


@registered
class UnscaledEncoderBlock(EncoderBlock):
    """An `EncoderBlock` with `UnscaledAttention`."""

    attention_cls = UnscaledAttention


@registered
class UnscaledDecoderBlock(DecoderBlock):
    """A `DecoderBlock` with `UnscaledAttention`."""

    attention_cls = UnscaledAttention


@registered
class EncoderBlockWithoutResiduals(EncoderBlock):
    """An `EncoderBlock` with `NormAlone`."""

    add_norm_cls = NormAlone


@registered
class DecoderBlockWithoutResiduals(DecoderBlock):
    """A `DecoderBlock` with `NormAlone`."""

    add_norm_cls = NormAlone


@registered
class BackboneWithUnscaledAttention(TransformerBackbone):
    """A `TransformerBackbone` without 1/√d_k in its attention (paper 3.2.1)."""

    encoder_block_cls, decoder_block_cls = UnscaledEncoderBlock, UnscaledDecoderBlock


@registered
class BackboneWithUnscaledEmbedding(TransformerBackbone):
    """A `TransformerBackbone` without √d_model times the embeddings (paper 3.4)."""

    embedding_cls = UnscaledEmbedding


@registered
class BackboneWithoutResiduals(TransformerBackbone):
    """A `TransformerBackbone` without residual connections (paper 3.1)."""

    encoder_block_cls = EncoderBlockWithoutResiduals
    decoder_block_cls = DecoderBlockWithoutResiduals


@registered
class NoWarmup(WarmupSchedule):
    """The `WarmupSchedule` with its peak instead of the rise, and the same decay after it."""

    def __call__(self, step):
        peak = (self.warmup_steps - 1) * self.gradient_accumulation_steps  # steps count from 0
        return super().__call__(ops.maximum(ops.cast(step, "int32"), peak))
