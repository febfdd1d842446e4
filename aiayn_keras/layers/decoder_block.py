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

    def decode_step(self, x, memory_key, memory_value, memory_mask, cache, index):
        """The same for one new position, with what is known of those before it.

        Cross-attention treats positions alone, so the W hypotheses of a sentence query its one
        memory as if they were W positions: nothing of the memory is copied.

        Args:
            x: Float tensor `(B·W, 1, D)`, the new position of every hypothesis.
            memory_key: Float tensor `(B, H, S, K)`, from `cross_attention.project_memory`.
            memory_value: Float tensor `(B, H, S, K_v)`, likewise.
            memory_mask: Boolean tensor `(B, 1, S)`, True where attention is allowed.
            cache: Self-attention keys and values, `(B·W, H, L, K)` each.
            index: Integer scalar, the new position.

        Returns:
            Output `(B·W, 1, D)` and the updated cache.
        """
        hidden_dim = x.shape[-1]
        num_sentences = keras.ops.shape(memory_key)[0]
        # 1. Self-attention to what has been written so far.
        y = self.self_attention_add_norm.sublayer_input(x)
        y, cache = self.self_attention.decode_step(y, cache, index)
        x = self.self_attention_add_norm(x, y, training=False)
        # 2. Attention to the encoder's output.
        x = keras.ops.reshape(x, (num_sentences, -1, hidden_dim))  # (B, W, D)
        y = self.cross_attention_add_norm.sublayer_input(x)
        y = self.cross_attention.attend(y, memory_key, memory_value, memory_mask, training=False)
        x = self.cross_attention_add_norm(x, y, training=False)
        # 3. Feed-forward network.
        y = self.feed_forward_add_norm.sublayer_input(x)
        y = self.feed_forward(y, training=False)
        x = self.feed_forward_add_norm(x, y, training=False)
        return keras.ops.reshape(x, (-1, 1, hidden_dim)), cache

    def compute_output_shape(self, x_shape, memory_shape):
        return x_shape
