"""A decoder for one new position at a time: its weights read, fused and cast once for a search.

The parts have the names of the Keras layers that they are made from, so that `decoder_layer` runs
them in the same order. What a class from elsewhere computes is not known here, so a decoder with
one is not frozen: `own_parts` names them. LoRA and quantized weights are merged. Matrix products
run in the model's compute dtype, all else in float32; rows are the B·W hypotheses of a batch.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from keras import ops

from aiayn_keras.backend import (
    float32_matmul,
    layer_norm,
    lean_ops,
    own_classes,
    pack_kernel,
    swap_heads,
    take,
)


class _FrozenDense(NamedTuple):
    """A packed matrix `(D_in, D_out)` in the compute dtype, and a float32 bias `(D_out,)`."""

    kernel: Any
    bias: Any = None

    def __call__(self, x):
        x = float32_matmul(x, self.kernel)
        return x if self.bias is None else x + self.bias


class _FrozenLayerNorm(NamedTuple):
    """A layer normalization in float32."""

    gamma: Any
    beta: Any
    epsilon: float

    def __call__(self, x):
        return layer_norm(x, self.gamma, self.beta, self.epsilon)


class _FrozenAddNorm(NamedTuple):
    """An `AddNorm` without dropout."""

    join: Callable
    layer_norm: _FrozenLayerNorm
    normalize_first: bool

    def __call__(self, x, sublayer):
        return self.join(x, sublayer, self.layer_norm, self.normalize_first)


class _FrozenFeedForward(NamedTuple):
    """A `PositionwiseFeedForward` without dropout."""

    hidden: _FrozenDense
    activation: Callable
    output: _FrozenDense

    def __call__(self, x):
        return self.output(self.activation(self.hidden(x)))


class _FrozenAttention(NamedTuple):
    """The projections of an attention.

    Attributes:
        input: Projects to queries, keys and values side by side in self-attention, to queries alone
            in attention to the memory.
        output: Projects the joined heads.
        num_heads: Number of heads H.
        key_dim: Width K of one head's queries and keys.
        value_dim: Width K_v of one head's values.
        dtype: The compute dtype, in which heads are multiplied.
    """

    input: _FrozenDense
    output: _FrozenDense
    num_heads: int
    key_dim: int
    value_dim: int
    dtype: str

    def query(self, x, num_queries):
        """Queries `(N, H, Q, K)` of rows `(N·Q, D)`."""
        return self._split(self.input(x), num_queries, self.key_dim)

    def query_key_value(self, x, num_beams, num_queries):
        """Projects rows `(B·W, D)`.

        Args:
            x: Float tensor `(B·W, D)`.
            num_beams: Number of hypotheses W of a sentence.
            num_queries: Number Q of queries with a batch axis in common: W, or 1.

        Returns:
            Queries `(B·W/Q, H, Q, K)`, keys `(B, H, W, K)` and values `(B, H, W, K_v)`.
        """
        x, H = self.input(x), self.num_heads
        if num_queries == num_beams and self.key_dim == self.value_dim:
            # one transposition for all three
            return lean_ops.split(self._split(x, num_beams, self.key_dim), 3, axis=1)
        query_end, keys_end = H * self.key_dim, 2 * H * self.key_dim
        query = self._split(x[:, :query_end], num_queries, self.key_dim)
        if self.key_dim == self.value_dim:
            key_value = self._split(x[:, query_end:], num_beams, self.key_dim)
            return query, *lean_ops.split(key_value, 2, axis=1)
        key = self._split(x[:, query_end:keys_end], num_beams, self.key_dim)
        return query, key, self._split(x[:, keys_end:], num_beams, self.value_dim)

    def project_output(self, x):
        """Joins the heads' outputs `(N, H, Q, K_v)` and projects them to rows `(N·Q, D)`."""
        x = x if x.shape[2] == 1 else swap_heads(x)
        return self.output(lean_ops.reshape(x, (-1, self.num_heads * self.value_dim)))

    def _split(self, x, num_rows, head_dim):
        """Heads `(N, H, M, K)` of M rows each, from rows `(N·M, H·K)`."""
        x, num_heads = lean_ops.cast(x, self.dtype), x.shape[-1] // head_dim
        if num_rows == 1:
            return lean_ops.reshape(x, (-1, num_heads, 1, head_dim))
        return swap_heads(lean_ops.reshape(x, (-1, num_rows, num_heads, head_dim)))


class _FrozenBlock(NamedTuple):
    """A `DecoderBlock`."""

    self_attention: _FrozenAttention
    self_attention_add_norm: _FrozenAddNorm
    cross_attention: _FrozenAttention
    cross_attention_add_norm: _FrozenAddNorm
    feed_forward: _FrozenFeedForward
    feed_forward_add_norm: _FrozenAddNorm


class FrozenDecoder(NamedTuple):
    """The decoder of a `TransformerBackbone`.

    Attributes:
        embeddings: Float tensor `(V, D)`.
        positions: Float tensor, array or variable `(L, D)`.
        blocks: A `_FrozenBlock` for every layer.
        norm: The last normalization of a pre-norm model, else None.
        logits: Function of float32 rows `(N, D)` that gives float32 logits `(N, V)`.
    """

    embeddings: Any
    positions: Any
    blocks: list
    norm: _FrozenLayerNorm | None
    logits: _FrozenDense

    def embed(self, token_ids, index):
        """Float32 rows `(B·W, D)` of tokens `(B, W)` at position `index` (paper 3.4, 3.5)."""
        hidden_dim = self.embeddings.shape[-1]
        x = lean_ops.reshape(take(self.embeddings, token_ids), (-1, hidden_dim))
        position = take(self.positions, index)
        return lean_ops.cast(x, "float32") * hidden_dim**0.5 + lean_ops.cast(position, "float32")


def own_parts(backbone):
    """Names the parts of a decoder that are not known here, as `own_classes` does.

    Args:
        backbone: A `TransformerBackbone`, or of a subclass.

    Returns:
        Sorted list of names.
    """
    parts = [backbone.token_embedding, backbone.decoder_embedding, *backbone.decoder_blocks]
    parts += [backbone.decoder_mask, backbone.cross_mask]
    if backbone.decoder_norm is not None:
        parts.append(backbone.decoder_norm)
    return own_classes([backbone, *(layer for part in parts for layer in part._flatten_layers())])


def freeze_decoder(backbone):
    """Makes the `FrozenDecoder` of a `TransformerBackbone`.

    Raises:
        ValueError: If the decoder has parts of your own, see `own_parts`.
    """
    if names := own_parts(backbone):
        raise ValueError(
            f"This decoder has parts of your own, {', '.join(names)}, which only their layers can "
            "compute: `translate` and the SavedModel run them, slower than the usual search."
        )
    dtype = backbone.compute_dtype
    embedding = backbone.token_embedding
    return FrozenDecoder(
        embeddings=embedding.matrix(),
        positions=backbone.decoder_embedding.table,
        blocks=[_freeze_block(block, dtype) for block in backbone.decoder_blocks],
        norm=None if backbone.decoder_norm is None else _freeze_norm(backbone.decoder_norm),
        logits=_freeze_output(embedding, dtype),
    )


def _freeze_output(embedding, dtype):
    """The output projection of a `ReversibleEmbedding`."""
    bias = None if embedding.logits_bias is None else ops.cast(embedding.logits_bias, "float32")
    return _FrozenDense(pack_kernel(ops.cast(embedding.output_kernel(), dtype)), bias)


def _freeze_block(block, dtype):
    attention, cross, feed_forward = (
        block.self_attention,
        block.cross_attention,
        block.feed_forward,
    )
    sizes = attention.num_heads, attention.key_dim, attention.value_dim, dtype
    inputs = attention.query_dense, attention.key_dense, attention.value_dense
    return _FrozenBlock(
        self_attention=_FrozenAttention(
            _freeze_dense(dtype, *inputs), _freeze_dense(dtype, attention.output_dense), *sizes
        ),
        self_attention_add_norm=_freeze_add_norm(block.self_attention_add_norm),
        cross_attention=_FrozenAttention(
            _freeze_dense(dtype, cross.query_dense),
            _freeze_dense(dtype, cross.output_dense),
            *sizes,
        ),
        cross_attention_add_norm=_freeze_add_norm(block.cross_attention_add_norm),
        feed_forward=_FrozenFeedForward(
            _freeze_dense(dtype, feed_forward.hidden_dense),
            feed_forward.activation,
            _freeze_dense(dtype, feed_forward.output_dense),
        ),
        feed_forward_add_norm=_freeze_add_norm(block.feed_forward_add_norm),
    )


def _freeze_dense(dtype, *layers):
    """Joins Dense layers with the same input into one."""
    kernels = [ops.cast(_kernel(layer), dtype) for layer in layers]
    kernel = kernels[0] if len(kernels) == 1 else ops.concatenate(kernels, axis=1)
    bias = None
    if layers[0].use_bias:
        bias = ops.concatenate([ops.cast(layer.bias, "float32") for layer in layers])
    return _FrozenDense(pack_kernel(kernel), bias)


def _kernel(layer):
    """The matrix of a Dense layer; a quantized one is recovered by applying it to the identity."""
    if layer.quantization_mode is None:
        return ops.convert_to_tensor(layer.kernel)
    identity = ops.eye(layer.input_spec.axes[-1])
    return layer(identity) - (layer.bias if layer.use_bias else 0.0)


def _freeze_add_norm(layer):
    return _FrozenAddNorm(layer.join, _freeze_norm(layer.layer_norm), layer.normalize_first)


def _freeze_norm(layer):
    gamma, beta = (ops.cast(weight, "float32") for weight in (layer.gamma, layer.beta))
    return _FrozenLayerNorm(gamma, beta, layer.epsilon)
