"""One layer of the decoder (paper 3.1, the right half of Figure 1)."""

import keras

from aiayn_keras.layers.encoder_block import EncoderBlock


@keras.saving.register_keras_serializable(package="aiayn_keras")
class DecoderBlock(EncoderBlock):
    """An encoder block with attention to the encoder's output in its middle (paper 3.1).

    Takes `EncoderBlock`'s arguments.

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
        self.cross_attention_add_norm.build(x_shape, x_shape)

    def call(self, x, memory, self_mask=None, memory_mask=None, training=None):
        # 1. Self-attention to what has been written so far.
        y = self.self_attention_add_norm.sublayer_input(x)
        y = self.self_attention(y, y, self_mask, training=training)
        x = self.self_attention_add_norm(x, y, training=training)
        # 2. Attention to the encoder's output.
        y = self.cross_attention_add_norm.sublayer_input(x)
        y = self.cross_attention(y, memory, memory_mask, training=training)
        x = self.cross_attention_add_norm(x, y, training=training)
        # 3. Feed-forward network.
        y = self.feed_forward_add_norm.sublayer_input(x)
        y = self.feed_forward(y, training=training)
        return self.feed_forward_add_norm(x, y, training=training)

    def cross_attention_weights(self, x, memory, self_mask=None, memory_mask=None):
        """Weights `(B, H, T, S)` of the attention to the memory, in float32, to look at."""
        y = self.self_attention_add_norm.sublayer_input(x)
        y = self.self_attention(y, y, self_mask, training=False)
        x = self.self_attention_add_norm(x, y, training=False)
        x = self.cross_attention_add_norm.sublayer_input(x)
        return self.cross_attention.weights_of(x, memory, memory_mask)

    def compute_output_shape(self, x_shape, memory_shape):
        return x_shape
