"""One layer of the encoder (paper 3.1, the left half of Figure 1)."""

import keras

from aiayn_keras.layers.transformer_block import TransformerBlock


def encoder_layer(block, x, attend_to_self):
    """Runs the sublayers of an encoder layer in order (paper 3.1).

    Args:
        block: An `EncoderBlock`, or anything with its attributes `self_attention_add_norm`,
            `feed_forward` and `feed_forward_add_norm`.
        x: Float tensor `(B, S, D)`.
        attend_to_self: Function of a tensor `(B, S, D)`: self-attention.

    Returns:
        Float tensor `(B, S, D)`.
    """
    x = block.self_attention_add_norm(x, sublayer=attend_to_self)
    return block.feed_forward_add_norm(x, sublayer=block.feed_forward)


@keras.saving.register_keras_serializable(package="aiayn_keras")
class EncoderBlock(TransformerBlock):
    """Self-attention, then a feed-forward network, each in an `AddNorm` (paper 3.1).

    Args:
        num_heads: Number of heads (the paper's h).
        key_dim: Width of the queries and keys of one head (d_k).
        intermediate_dim: Width of the feed-forward network's hidden layer (d_ff).
        value_dim: Width of the values of one head (d_v). Defaults to `key_dim`.
        activation: The feed-forward network's non-linearity.
        dropout: Share of each sublayer's output dropped in training (P_drop).
        attention_dropout: Share of attention weights dropped in training.
        activation_dropout: Share of hidden feed-forward units dropped in training.
        attention_bias: Whether the attention projections have biases.
        normalize_first: Pre-norm instead of the paper's post-norm.
        layer_norm_epsilon: Added to the variance in layer normalization.

    Call arguments:
        x: Float tensor `(B, S, D)`.
        mask: Boolean tensor `(B, S, S)`, True where attention is allowed; or `(B, S)`, True for the
            positions that may be attended to, as Keras hands on from an embedding's `mask_zero`.

    Returns:
        Float tensor `(B, S, D)`.
    """

    def call(self, x, mask=None, training=None):
        return encoder_layer(self, x, lambda y: self.self_attention(y, y, mask, training=training))

    def compute_output_shape(self, x_shape):
        return x_shape
