"""One layer of the decoder (paper 3.1, the right half of Figure 1)."""

import keras

from aiayn_keras.layers.encoder_block import TransformerBlock


def decoder_layer(block, x, attend_to_self, attend_to_memory):
    """Runs the sublayers of a decoder layer in order (paper 3.1).

    Training, decoding with a cache, scoring and attention maps all run through this function.

    Args:
        block: A `DecoderBlock`, or anything with its attributes `self_attention_add_norm`,
            `cross_attention_add_norm`, `feed_forward` and `feed_forward_add_norm`.
        x: Float tensor `(..., D)`.
        attend_to_self: Function of a tensor like `x`: attention to the target so far.
        attend_to_memory: Function of a tensor like `x`: attention to the encoder's output.

    Returns:
        Float tensor of `x`'s shape.
    """
    x = block.self_attention_add_norm(x, sublayer=attend_to_self)
    x = block.cross_attention_add_norm(x, sublayer=attend_to_memory)
    return block.feed_forward_add_norm(x, sublayer=block.feed_forward)


@keras.saving.register_keras_serializable(package="aiayn_keras")
class DecoderBlock(TransformerBlock):
    """Self-attention, attention to the encoder's output, a feed-forward network (paper 3.1).

    Each is in an `AddNorm`. Takes `EncoderBlock`'s arguments.

    Call arguments:
        x: Float tensor `(B, T, D)`.
        memory: Float tensor `(B, S, D)`, the encoder's output.
        self_mask: Boolean tensor `(B, T, T)`, True where attention is allowed: it must hide the
            future.
        memory_mask: Boolean tensor `(B, T, S)`, True where attention is allowed.

    Returns:
        Float tensor `(B, T, D)`.
    """

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)

        # === Layers ===
        self.cross_attention = self._attention("cross_attention")
        self.cross_attention_add_norm = self._add_norm("cross_attention_add_norm")

    def build(self, x_shape, memory_shape):
        super().build(x_shape)
        self.cross_attention.build(x_shape, memory_shape)
        self.cross_attention_add_norm.build(x_shape)

    def call(self, x, memory, self_mask=None, memory_mask=None, training=None):
        return decoder_layer(
            self,
            x,
            lambda y: self.self_attention(y, y, self_mask, training=training),
            lambda y: self.cross_attention(y, memory, memory_mask, training=training),
        )

    def compute_output_shape(self, x_shape, memory_shape):
        return x_shape
