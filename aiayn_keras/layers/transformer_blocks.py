"""One layer of the encoder, and one of the decoder (paper 3.1, the two halves of Figure 1).

`TransformerBlock` holds the parts that both have.
"""

import keras
from keras import ops

from aiayn_keras.layers.add_norm import AddNorm, FixedSettings, with_training
from aiayn_keras.layers.attention import MultiHeadAttention
from aiayn_keras.layers.feed_forward import PositionwiseFeedForward
from aiayn_keras.layers.masks import (
    check_attention_mask,
    check_padding_mask,
    detach_mask,
    join_masks,
)


class TransformerBlock(FixedSettings, keras.layers.Layer):
    """Self-attention and a feed-forward network, each with its `AddNorm`.

    The base of `EncoderBlock`, which describes the arguments, and of `DecoderBlock`.
    `encoder_layer` and `decoder_layer` state the order of the sublayers.
    """

    fixed_settings = frozenset(
        {
            *("num_heads", "key_dim", "value_dim", "intermediate_dim", "activation", "dropout"),
            *("attention_dropout", "activation_dropout", "attention_bias", "normalize_first"),
            "layer_norm_epsilon",
        }
    )
    attention_cls, add_norm_cls = MultiHeadAttention, AddNorm
    feed_forward_cls = PositionwiseFeedForward

    def __init__(
        self,
        num_heads,
        key_dim,
        intermediate_dim,
        value_dim=None,
        activation="relu",
        dropout=0.1,
        attention_dropout=0.0,
        activation_dropout=0.0,
        attention_bias=False,
        normalize_first=False,
        layer_norm_epsilon=1e-6,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.num_heads = num_heads
        self.key_dim = key_dim
        self.value_dim = value_dim
        self.intermediate_dim = intermediate_dim
        self.activation = keras.activations.get(activation)
        self.dropout = dropout
        self.attention_dropout = attention_dropout
        self.activation_dropout = activation_dropout
        self.attention_bias = attention_bias
        self.normalize_first = normalize_first
        self.layer_norm_epsilon = layer_norm_epsilon

        # === Layers ===
        self.self_attention = self._attention("self_attention")
        self.self_attention_add_norm = self._add_norm("self_attention_add_norm")
        self.feed_forward = self.feed_forward_cls(
            intermediate_dim,
            activation=activation,
            dropout=activation_dropout,
            dtype=self.dtype_policy,
            name="feed_forward",
        )
        self.feed_forward_add_norm = self._add_norm("feed_forward_add_norm")

    def _attention(self, name):
        return self.attention_cls(
            self.num_heads,
            self.key_dim,
            value_dim=self.value_dim,
            use_bias=self.attention_bias,
            dropout=self.attention_dropout,
            dtype=self.dtype_policy,
            name=name,
        )

    def _function_of(self, attention, memory, mask, training, scores):
        """An attention as a function of its queries, which are also its memory if that is None.

        It appends its weights to `scores`, if that is a list.
        """

        def attend(query):
            keys = query if memory is None else memory
            if scores is None:
                return attention(query, keys, mask, training=training)
            output, weights = attention(
                query, keys, mask, training=training, return_attention_scores=True
            )
            scores.append(weights)
            return output

        return attend

    def _add_norm(self, name):
        return self.add_norm_cls(
            dropout=self.dropout,
            epsilon=self.layer_norm_epsilon,
            normalize_first=self.normalize_first,
            dtype=self.dtype_policy,
            name=name,
        )

    def compute_mask(self, x, previous_mask):
        # Numbers of sentences would be weights to a loss.
        return None if previous_mask is None else ops.cast(previous_mask, "bool")

    def build(self, x_shape):
        self.self_attention.build(x_shape, x_shape)
        self.self_attention_add_norm.build(x_shape)
        self.feed_forward.build(x_shape)
        self.feed_forward_add_norm.build(x_shape)

    def get_config(self):
        config = super().get_config()
        config.update(
            {
                "num_heads": self.num_heads,
                "key_dim": self.key_dim,
                "value_dim": self.value_dim,
                "intermediate_dim": self.intermediate_dim,
                "activation": keras.activations.serialize(self.activation),
                "dropout": self.dropout,
                "attention_dropout": self.attention_dropout,
                "activation_dropout": self.activation_dropout,
                "attention_bias": self.attention_bias,
                "normalize_first": self.normalize_first,
                "layer_norm_epsilon": self.layer_norm_epsilon,
            }
        )
        return config


def encoder_layer(block, x, attend_to_self, training=None):
    """Runs the sublayers of an encoder layer in order (paper 3.1).

    Args:
        block: An `EncoderBlock`, or anything with its attributes `self_attention_add_norm`,
            `feed_forward` and `feed_forward_add_norm`.
        x: Float tensor `(B, S, D)`.
        attend_to_self: Function of a tensor `(B, S, D)`: self-attention.
        training: Whether to drop units; None if Keras is to know.

    Returns:
        Float tensor `(B, S, D)`.
    """
    x = with_training(block.self_attention_add_norm, training)(x, sublayer=attend_to_self)
    return _add_feed_forward(block, x, training)


def _add_feed_forward(block, x, training):
    feed_forward = with_training(block.feed_forward, training)
    return with_training(block.feed_forward_add_norm, training)(x, sublayer=feed_forward)


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
        attention_mask: Boolean tensor `(B, S, S)`, True where attention is allowed; the first and
            second axes may be 1.
        mask: Boolean tensor `(B, S)`, True on real positions, or integers that number sentences, 0
            for padding: no position attends to padding. Defaults to the mask that Keras has
            attached to `x`, such as that of an embedding with `mask_zero`. The output carries it
            on.
        use_causal_mask: Whether to hide later positions from each position.
        return_attention_scores: Whether to return the attention weights, too.

    Returns:
        Float tensor `(B, S, D)`, or with `return_attention_scores` a tuple of it and the float32
        weights `(B, H, S, S)`.

    Raises:
        ValueError: For a mask of floats, or one whose rank or shape does not fit.

    Example:
        >>> tokens = keras.ops.convert_to_tensor([[5, 8, 3, 0, 0], [2, 9, 0, 0, 0]])
        >>> x = keras.layers.Embedding(10, 12, mask_zero=True)(tokens)
        >>> tuple(EncoderBlock(num_heads=3, key_dim=4, intermediate_dim=48)(x).shape)
        (2, 5, 12)
    """

    def call(
        self,
        x,
        attention_mask=None,
        training=None,
        mask=None,
        use_causal_mask=False,
        return_attention_scores=False,
    ):
        mask = check_padding_mask("mask", mask, x)
        attention_mask = check_attention_mask("attention_mask", attention_mask, x, x.shape[1])
        attention_mask = join_masks(x, x, attention_mask, mask, mask, use_causal_mask)
        x = detach_mask(x, mask)
        scores = [] if return_attention_scores else None
        attend = self._function_of(self.self_attention, None, attention_mask, training, scores)
        x = encoder_layer(self, x, attend, training)
        return (x, *scores) if return_attention_scores else x

    def compute_output_shape(self, x_shape):
        return x_shape

    def compute_output_spec(self, x, *args, return_attention_scores=False, **kwargs):
        output = super().compute_output_spec(x, *args, **kwargs)
        if not return_attention_scores:
            return output
        return output, self.self_attention.weights_spec(x, x)


def decoder_layer(block, x, attend_to_self, attend_to_memory, training=None):
    """Runs the sublayers of a decoder layer in order (paper 3.1).

    Training, decoding with a cache, scoring and attention maps all run through this function.

    Args:
        block: A `DecoderBlock`, or anything with its attributes `self_attention_add_norm`,
            `cross_attention_add_norm`, `feed_forward` and `feed_forward_add_norm`.
        x: Float tensor `(..., D)`.
        attend_to_self: Function of a tensor like `x`: attention to the target so far.
        attend_to_memory: Function of a tensor like `x`: attention to the encoder's output.
        training: As in `encoder_layer`.

    Returns:
        Float tensor of `x`'s shape.
    """
    x = with_training(block.self_attention_add_norm, training)(x, sublayer=attend_to_self)
    x = with_training(block.cross_attention_add_norm, training)(x, sublayer=attend_to_memory)
    return _add_feed_forward(block, x, training)


@keras.saving.register_keras_serializable(package="aiayn_keras")
class DecoderBlock(TransformerBlock):
    """Self-attention, attention to the encoder's output, a feed-forward network (paper 3.1).

    Each is in an `AddNorm`. Takes `EncoderBlock`'s arguments.

    Call arguments:
        x: Float tensor `(B, T, D)`.
        memory: Float tensor `(B, S, D)`, the encoder's output.
        self_attention_mask: Boolean tensor `(B, T, T)`, True where attention to the target is
            allowed; the first and second axes may be 1.
        cross_attention_mask: Boolean tensor `(B, T, S)`, the same for attention to the memory.
        x_mask: Boolean tensor `(B, T)`, True on real positions, or integers that number sentences,
            0 for padding. Defaults to the mask that Keras has attached to `x`, which the output
            carries on.
        memory_mask: Boolean or integer tensor `(B, S)`, the same for `memory`.
        use_causal_mask: Whether to hide later positions of the target from each (paper 3.2.3).
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
            training,
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
