"""One layer of the decoder (paper 3.1, the right half of Figure 1)."""

import keras

from aiayn_keras.layers.encoder_block import TransformerBlock
from aiayn_keras.layers.masks import (
    check_attention_mask,
    check_padding_mask,
    detach_mask,
    join_masks,
)


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
        self_attention_mask: Boolean tensor `(B, T, T)`, True where attention to the target is
            allowed; the first and second axes may be 1.
        cross_attention_mask: Boolean tensor `(B, T, S)`, likewise for the memory.
        x_mask: Boolean tensor `(B, T)`, True on real positions, or integers that number sentences,
            0 for padding. Defaults to the mask that Keras has attached to `x`, which the output
            carries on.
        memory_mask: Boolean or integer tensor `(B, S)`, likewise for `memory`.
        use_causal_mask: Whether a position attends to no later one of the target (paper 3.2.3).
            Defaults to True, even if other masks are given.
        return_attention_scores: Whether to return the attention weights, too.

    Returns:
        Float tensor `(B, T, D)`, or with `return_attention_scores` a tuple of it and the float32
        weights of self-attention `(B, H, T, T)` and of attention to the memory `(B, H, T, S)`.

    Raises:
        ValueError: For a mask of floats, or one whose rank or shape does not fit.

    Example:
        >>> block = DecoderBlock(num_heads=3, key_dim=4, intermediate_dim=48)
        >>> tuple(block(keras.ops.ones((2, 7, 12)), keras.ops.ones((2, 5, 12))).shape)
        (2, 7, 12)
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

    def call(
        self,
        x,
        memory,
        self_attention_mask=None,
        cross_attention_mask=None,
        training=None,
        x_mask=None,
        memory_mask=None,
        use_causal_mask=True,
        return_attention_scores=False,
    ):
        x_mask = check_padding_mask("x_mask", x_mask, x)
        memory_mask = check_padding_mask("memory_mask", memory_mask, memory)
        to_self = check_attention_mask("self_attention_mask", self_attention_mask, x, x.shape[1])
        to_self = join_masks(x, x, to_self, x_mask, x_mask, use_causal_mask)
        to_memory = check_attention_mask(
            "cross_attention_mask", cross_attention_mask, x, memory.shape[1]
        )
        to_memory = join_masks(x, memory, to_memory, x_mask, memory_mask)
        x, memory = detach_mask(x, x_mask), detach_mask(memory, memory_mask)
        scores = [] if return_attention_scores else None
        x = decoder_layer(
            self,
            x,
            self._function_of(self.self_attention, None, to_self, training, scores),
            self._function_of(self.cross_attention, memory, to_memory, training, scores),
        )
        return (x, *scores) if return_attention_scores else x

    def compute_output_shape(self, x_shape, memory_shape):
        return x_shape

    def compute_output_spec(self, x, memory, *args, return_attention_scores=False, **kwargs):
        output = super().compute_output_spec(x, memory, *args, **kwargs)
        if not return_attention_scores:
            return output
        self_weights = self.self_attention.weights_spec(x, x)
        return output, self_weights, self.cross_attention.weights_spec(x, memory)
