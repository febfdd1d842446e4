"""Attention (paper 3.2): equation 1 as two pure functions, and many heads of it as a layer."""

import math

import keras
from keras import ops

from aiayn_keras.backend import float32_matmul_transposed, lean_ops, project_together
from aiayn_keras.layers.add_norm import Dropout, FixedSettings
from aiayn_keras.layers.masks import check_attention_mask, check_padding_mask, join_masks
from aiayn_keras_light.checks import MAX_SIZE, check_integer

# Finite, so that a fully masked row stays finite, in float16 too.
MASKED_SCORE = -3e4

# Half of Glorot's variance for queries, keys and values, as if the three were one matrix. The
# paper names no initialization; fairseq and PyTorch start the same way, and with the full variance
# deep post-norm encoders tend to give every position the same output.
_PROJECTION_SCALE = 0.5


def attention_weights(query, key, mask=None):
    """`softmax(Q Kᵀ / √d_k)`, the left half of equation 1, in float32.

    A query whose keys are all masked spreads its weight evenly over them.

    Args:
        query: Float tensor `(B, H, T, K)`.
        key: Float tensor `(B, H, S, K)`.
        mask: Boolean tensor that broadcasts to `(B, H, T, S)`, True where attention is allowed.

    Returns:
        Float32 tensor `(B, H, T, S)` whose rows sum to one.
    """
    key_dim = query.shape[-1]
    query = lean_ops.multiply(query, lean_ops.cast(1.0 / math.sqrt(key_dim), query.dtype))
    scores = float32_matmul_transposed(query, key)  # (B, H, T, S)
    if mask is not None:
        scores = lean_ops.where(mask, scores, MASKED_SCORE)
    if scores.shape[-1] == 1:  # Keras warns of a softmax over one score.
        return lean_ops.ones_like(scores)
    return lean_ops.softmax(scores, axis=-1)


def scaled_dot_product_attention(query, key, value, mask=None, dropout=None):
    """`softmax(Q Kᵀ / √d_k) V`: equation 1.

    Args:
        query: Float tensor `(B, H, T, K)`.
        key: Float tensor `(B, H, S, K)`.
        value: Float tensor `(B, H, S, K_v)`.
        mask: Boolean tensor that broadcasts to `(B, H, T, S)`, True where attention is allowed.
        dropout: Function applied to the weights, such as a `keras.layers.Dropout`.

    Returns:
        Float tensor `(B, H, T, K_v)` of `value`'s dtype.
    """
    weights = attention_weights(query, key, mask)
    if dropout is not None:
        weights = dropout(weights)
    return lean_ops.matmul(lean_ops.cast(weights, value.dtype), value)


@keras.saving.register_keras_serializable(package="aiayn_keras")
class MultiHeadAttention(FixedSettings, keras.layers.Layer):
    """`num_heads` attentions in parallel, joined and projected (paper 3.2.2).

    Args:
        num_heads: Number of heads (the paper's h).
        key_dim: Width of the queries and keys of one head (d_k).
        value_dim: Width of the values of one head (d_v). Defaults to `key_dim`.
        use_bias: Whether the four projections have a bias. The paper has none.
        dropout: Share of attention weights dropped in training, in [0, 1).

    Call arguments:
        query: Float tensor `(B, T, D)`, the source of the queries.
        memory: Float tensor `(B, S, D)`, the source of keys and values; `query` itself in
            self-attention.
        attention_mask: Boolean tensor `(B, T, S)`, True where attention is allowed; the first and
            second axes may be 1.
        query_mask: Boolean tensor `(B, T)`, True on real positions, or integers that number
            sentences, 0 for padding. Defaults to the mask that Keras has attached to `query`,
            which the output carries on.
        memory_mask: Boolean or integer tensor `(B, S)`, of the same kind; no query attends to
            padding. Defaults to the mask that Keras has attached to `memory`.
        use_causal_mask: Whether to hide from each query the positions after its own.
        return_attention_scores: Whether to return the attention weights, too. As in Keras, dropout
            does not change them.

    Returns:
        Float tensor `(B, T, D)`, or with `return_attention_scores` a tuple of it and the float32
        weights `(B, H, T, S)`. A query that may attend to nothing attends to everything evenly.

    Raises:
        TypeError: For a number of heads or a width that is not an integer.
        ValueError: For a number that is not positive; for a mask of floats, or one whose rank or
            shape does not fit; for a `query_mask` that numbers sentences without a `memory_mask`;
            for a `query` or `memory` that does not have three axes; for `return_attention_scores`
            in a subclass that attends in its own way and does not say in `weights_of` how.

    Example:
        >>> attention = MultiHeadAttention(num_heads=3, key_dim=4)
        >>> tuple(attention(keras.ops.ones((2, 7, 12)), keras.ops.ones((2, 5, 12))).shape)
        (2, 7, 12)
    """

    fixed_settings = frozenset({"use_bias", "dropout"})

    def __init__(self, num_heads, key_dim, value_dim=None, use_bias=False, dropout=0.0, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.num_heads = check_integer("num_heads", num_heads, 1, MAX_SIZE)
        self.key_dim = check_integer("key_dim", key_dim, 1, MAX_SIZE)
        self.value_dim = self.key_dim
        if value_dim is not None:
            self.value_dim = check_integer("value_dim", value_dim, 1, MAX_SIZE)
        self.use_bias = use_bias
        self.dropout = dropout

        # === Layers ===
        self.query_dense = self._dense(self.num_heads * self.key_dim, "query", _PROJECTION_SCALE)
        self.key_dense = self._dense(self.num_heads * self.key_dim, "key", _PROJECTION_SCALE)
        self.value_dense = self._dense(self.num_heads * self.value_dim, "value", _PROJECTION_SCALE)
        self.dropout_layer = Dropout(dropout, dtype="float32", name="dropout")

    def _dense(self, units, name, scale=1.0):
        return keras.layers.Dense(
            units,
            use_bias=self.use_bias,
            kernel_initializer=keras.initializers.VarianceScaling(scale, "fan_avg", "uniform"),
            dtype=self.dtype_policy,
            name=name,
        )

    def build(self, query_shape, memory_shape):
        _check_ranks(query=query_shape, memory=memory_shape)
        self.query_dense.build(query_shape)
        self.key_dense.build(memory_shape)
        self.value_dense.build(memory_shape)
        self.output_dense = self._dense(query_shape[-1], "output")
        self.output_dense.build((*query_shape[:-1], self.num_heads * self.value_dim))
        self.dropout_layer.build((None, self.num_heads, query_shape[1], memory_shape[1]))

    def call(
        self,
        query,
        memory,
        attention_mask=None,
        training=None,
        query_mask=None,
        memory_mask=None,
        use_causal_mask=False,
        return_attention_scores=False,
    ):
        _check_ranks(query=query.shape, memory=memory.shape)
        query_mask = check_padding_mask("query_mask", query_mask, query)
        memory_mask = check_padding_mask("memory_mask", memory_mask, memory)
        _check_numbers_of_both(query_mask, memory_mask)
        mask = join_masks(
            query,
            memory,
            check_attention_mask("attention_mask", attention_mask, query, memory.shape[1]),
            query_mask,
            memory_mask,
            use_causal_mask,
        )
        if query is memory:
            layers = self.query_dense, self.key_dense, self.value_dense
            x, key, value = project_together(query, layers)
            key, value = self._split_memory(key, value)
        else:
            x, (key, value) = self.query_dense(query), self.project_memory(memory)
        output = self._attend(x, key, value, mask, training)
        if not return_attention_scores:
            return output
        self.check_weights_are_known()
        return output, self.weights_of(query, memory, mask)

    def attend(self, query, key, value, mask=None, training=None):
        """Attends from `query (B, T, D)` to keys and values that have already been projected."""
        mask = check_attention_mask("mask", mask, query, key.shape[2])
        return self._attend(self.query_dense(query), key, value, mask, training)

    def _attend(self, query, key, value, mask, training):
        dropout = None
        if self.dropout:
            dropout = lambda weights: self.dropout_layer(weights, training=training)  # noqa: E731
        query = self._split_heads(query, self.key_dim)
        x = scaled_dot_product_attention(query, key, value, _add_head_axis(mask), dropout)
        return self.output_dense(self._join_heads(x))  # (B, H, T, K_v) --> (B, T, D)

    def project_memory(self, memory):
        """Projects a memory `(B, S, D)` to keys `(B, H, S, K)` and values `(B, H, S, K_v)`."""
        return self._split_memory(*project_together(memory, (self.key_dense, self.value_dense)))

    def _split_memory(self, key, value):
        return self._split_heads(key, self.key_dim), self._split_heads(value, self.value_dim)

    def check_weights_are_known(self):
        """Raises a ValueError if `weights_of` does not follow a subclass's own `_attend`."""
        own = [
            name
            for name in ("_attend", "weights_of")
            if name in vars(self)
            or getattr(type(self), name) is not getattr(MultiHeadAttention, name)
        ]
        if own == ["_attend"]:
            raise ValueError(
                f"`return_attention_scores` needs {type(self).__name__}.weights_of, and so do "
                "attention maps: the class attends in its own way, so the usual weights would be "
                "wrong."
            )

    def weights_of(self, query, memory, mask=None):
        """Attention weights `(B, H, T, S)` in float32, for inspection."""
        mask = check_attention_mask("mask", mask, query, memory.shape[1])
        query = self._split_heads(self.query_dense(query), self.key_dim)
        key, _ = self.project_memory(memory)
        return attention_weights(query, key, _add_head_axis(mask))

    def scores_of(self, query, memory):
        """Products `Q Kᵀ (B, H, T, S)` in float32, not divided by `√d_k`, for inspection."""
        query = self._split_heads(self.query_dense(query), self.key_dim)
        key, _ = self.project_memory(memory)
        return float32_matmul_transposed(query, key)

    def _split_heads(self, x, head_dim):
        x = ops.reshape(x, (*_batch_and_length(x), self.num_heads, head_dim))
        return ops.transpose(x, (0, 2, 1, 3))  # (B, H, T, K)

    def _join_heads(self, x):
        x = ops.transpose(x, (0, 2, 1, 3))
        return ops.reshape(x, (*_batch_and_length(x), self.num_heads * self.value_dim))

    def compute_output_shape(self, query_shape, memory_shape):
        return query_shape

    def compute_output_spec(self, query, memory, *args, return_attention_scores=False, **kwargs):
        output = super().compute_output_spec(query, memory, *args, **kwargs)
        return (output, self.weights_spec(query, memory)) if return_attention_scores else output

    def weights_spec(self, query, memory):
        """A `keras.KerasTensor` of the shape and dtype of the attention weights."""
        shape = query.shape[0], self.num_heads, query.shape[1], memory.shape[1]
        return keras.KerasTensor(shape, dtype="float32")

    def get_config(self):
        config = super().get_config()
        config.update(
            {
                "num_heads": self.num_heads,
                "key_dim": self.key_dim,
                "value_dim": self.value_dim,
                "use_bias": self.use_bias,
                "dropout": self.dropout,
            }
        )
        return config


def _add_head_axis(mask):
    """Broadcasts a mask `(B, T, S)` over heads."""
    return None if mask is None else ops.expand_dims(mask, axis=1)


def _batch_and_length(x):
    """The first two sizes of `x`, for `reshape`."""
    # -1 stands for the batch, not the length: ONNX converters require it. With no positions, any
    # batch size would fit.
    return ops.shape(x)[0] if x.shape[1] == 0 else -1, ops.shape(x)[1]


def _check_numbers_of_both(query_mask, memory_mask):
    if memory_mask is None and query_mask is not None:
        dtype = keras.backend.standardize_dtype(query_mask.dtype)
        if dtype != "bool":
            raise ValueError(
                "A `query_mask` of integers numbers sentences, and needs a `memory_mask` that does "
                "so for the memory: give both; in self-attention, give it twice. "
                f"Received: query_mask of {dtype}, memory_mask=None."
            )


def _check_ranks(**shapes):
    for name, shape in shapes.items():
        if len(shape) != 3:
            raise ValueError(
                f"`{name}` must have three axes, batch, positions and width. "
                f"Received: shape={tuple(shape)}. Make one axis of the positions of an image first."
            )
