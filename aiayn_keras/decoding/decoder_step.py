"""The decoder for one new position of every hypothesis: the layers' arithmetic on bare weights.

The same as running the blocks over all positions, which the tests hold it to, arranged for speed:
weights are read, fused and cast once for a whole search, and the W hypotheses of a sentence are W
queries of one attention. Matrix products run in the model's compute dtype, all else in float32.
"""

from typing import Any, NamedTuple

import keras
from keras import ops

from aiayn_keras.backend import float32_matmul, pack_kernel, swap_heads
from aiayn_keras.layers import attention_weights, scaled_dot_product_attention


class Dense(NamedTuple):
    """A packed matrix `(D_in, D_out)` in the compute dtype, a float32 bias `(D_out,)` or None."""

    kernel: Any
    bias: Any

    def __call__(self, x):
        x = float32_matmul(x, self.kernel)
        return x if self.bias is None else x + self.bias


class DecoderWeights(NamedTuple):
    """What a step reads.

    Attributes:
        embeddings: `(V, D)`.
        positions: `(L, D)`.
        output: The embedding matrix as a `Dense` `(D, V)`.
        blocks: A dictionary of `Dense` and `(gamma, beta)` for every layer.
        norm: `(gamma, beta)` of the last normalization of a pre-norm model, else None.
    """

    embeddings: Any
    positions: Any
    output: Any
    blocks: Any
    norm: Any


def decoder_weights(backbone):
    """Collects the `DecoderWeights` of a `TransformerBackbone`; LoRA and int8 are merged."""
    dtype = backbone.compute_dtype
    embedding = backbone.token_embedding
    if embedding.quantization_mode is None:
        embeddings = ops.convert_to_tensor(embedding.embeddings)
        output = ops.transpose(ops.cast(embeddings, dtype))
    else:
        embeddings = embedding(ops.arange(backbone.vocabulary_size))
        output = ops.cast(embedding(ops.eye(backbone.hidden_dim), reverse=True), dtype)
    return DecoderWeights(
        embeddings=embeddings,
        positions=ops.convert_to_tensor(backbone.decoder_embedding.table),
        output=Dense(pack_kernel(output), None),
        blocks=[_block_weights(block, dtype) for block in backbone.decoder_blocks],
        norm=None if backbone.decoder_norm is None else _norm_weights(backbone.decoder_norm),
    )


def _block_weights(block, dtype):
    attention, cross, feed_forward = (
        block.self_attention,
        block.cross_attention,
        block.feed_forward,
    )
    return {
        "attention_input": _dense_weights(
            dtype, attention.query_dense, attention.key_dense, attention.value_dense
        ),
        "attention_output": _dense_weights(dtype, attention.output_dense),
        "attention_norm": _norm_weights(block.self_attention_add_norm.layer_norm),
        "cross_query": _dense_weights(dtype, cross.query_dense),
        "cross_output": _dense_weights(dtype, cross.output_dense),
        "cross_norm": _norm_weights(block.cross_attention_add_norm.layer_norm),
        "hidden": _dense_weights(dtype, feed_forward.hidden_dense),
        "output": _dense_weights(dtype, feed_forward.output_dense),
        "norm": _norm_weights(block.feed_forward_add_norm.layer_norm),
    }


def _dense_weights(dtype, *layers):
    """Dense layers side by side as one."""
    kernels = [ops.cast(_kernel(layer), dtype) for layer in layers]
    kernel = kernels[0] if len(kernels) == 1 else ops.concatenate(kernels, axis=1)
    bias = None
    if layers[0].use_bias:
        bias = ops.concatenate([ops.cast(layer.bias, "float32") for layer in layers])
    return Dense(pack_kernel(kernel), bias)


def _kernel(layer):
    """The matrix of a Dense layer; of a quantized one what it makes of the identity."""
    if layer.quantization_mode is None:
        return ops.convert_to_tensor(layer.kernel)
    identity = ops.eye(layer.input_spec.axes[-1])
    return layer(identity) - (layer.bias if layer.use_bias else 0.0)


def _norm_weights(layer):
    return ops.cast(layer.gamma, "float32"), ops.cast(layer.beta, "float32")


def project_memory(backbone, memory):
    """Every decoder layer's keys `(B, H, S, K)` and values `(B, H, S, K_v)` of a memory."""
    return [
        tuple(map(_contiguous, block.cross_attention.project_memory(memory)))
        for block in backbone.decoder_blocks
    ]


def _contiguous(x):
    """The same numbers in the order of the axes, which PyTorch else restores at every step."""
    *_, num_heads, length, width = ops.shape(x)
    return ops.reshape(ops.reshape(x, (-1, length, width)), (-1, num_heads, length, width))


def decoder_step(backbone, weights, token_ids, index, memory, memory_mask, cache, append, mask):
    """Runs the decoder for one new position of every hypothesis.

    Args:
        backbone: The `TransformerBackbone`, for its options.
        weights: Its `DecoderWeights`.
        token_ids: Integer tensor `(B, W)`, the tokens at position `index`.
        index: Integer scalar, a position from 0.
        memory: From `project_memory`, for B sentences.
        memory_mask: Boolean tensor `(B, 1, S)`, True on real source tokens.
        cache: Every layer's self-attention keys and values.
        append: Function `(cached, new (B, H, W, K)) -> (cached, what is to be attended to)`.
        mask: Boolean tensor `(B, W, L)`, True where attention to the appended cache is allowed.

    Returns:
        Float32 hidden states `(B·W, D)`, the appended cache, and the last layer's attention to
        the memory, float32 `(B, H, W, S)`.
    """
    num_beams = token_ids.shape[1]
    num_heads, key_dim, value_dim = backbone.num_heads, backbone.key_dim, backbone.value_dim
    mask, memory_mask = mask[:, None], memory_mask[:, None]
    epsilon, first = backbone.layer_norm_epsilon, backbone.normalize_first

    def split_heads(x, head_dim):
        x = ops.reshape(
            ops.cast(x, backbone.compute_dtype), (-1, num_beams, x.shape[-1] // head_dim, head_dim)
        )
        return swap_heads(x)  # (B, any number of heads, W, K)

    def join_heads(x):
        return ops.reshape(swap_heads(x), (-1, num_heads * value_dim))  # (B·W, H·K_v)

    def residual(norm, x, sublayer):
        if first:
            return x + sublayer(_layer_norm(x, norm, epsilon))
        return _layer_norm(x + sublayer(x), norm, epsilon)

    x = ops.reshape(ops.take(weights.embeddings, token_ids, axis=0), (-1, backbone.hidden_dim))
    x = ops.cast(x, "float32") * backbone.hidden_dim**0.5
    x = x + ops.cast(ops.take(weights.positions, ops.reshape(index, (1,)), axis=0), "float32")

    new_cache, attention = [], None
    for block, (memory_key, memory_value), block_cache in zip(
        weights.blocks, memory, cache, strict=True
    ):

        def self_attention(x, block=block, block_cache=block_cache):
            x = block["attention_input"](x)
            if key_dim == value_dim:  # one transposition for all three
                x = split_heads(x, key_dim)
                query, key, value = x[:, :num_heads], x[:, num_heads:-num_heads], x[:, -num_heads:]
            else:
                keys_end = 2 * num_heads * key_dim
                x, value = (
                    split_heads(x[:, :keys_end], key_dim),
                    split_heads(x[:, keys_end:], value_dim),
                )
                query, key = x[:, :num_heads], x[:, num_heads:]
            (key_cache, keys), (value_cache, values) = map(append, block_cache, (key, value))
            new_cache.append((key_cache, value_cache))
            x = scaled_dot_product_attention(query, keys, values, mask)
            return block["attention_output"](join_heads(x))

        def cross_attention(x, block=block, key=memory_key, value=memory_value):
            nonlocal attention
            query = split_heads(block["cross_query"](x), key_dim)
            attention = attention_weights(query, key, memory_mask)
            return block["cross_output"](
                join_heads(ops.matmul(ops.cast(attention, value.dtype), value))
            )

        def feed_forward(x, block=block):
            return block["output"](backbone.activation(block["hidden"](x)))

        x = residual(block["attention_norm"], x, self_attention)
        x = residual(block["cross_norm"], x, cross_attention)
        x = residual(block["norm"], x, feed_forward)
    if weights.norm is not None:
        x = _layer_norm(x, weights.norm, epsilon)
    return x, new_cache, attention


def _layer_norm(x, norm, epsilon):
    gamma, beta = norm
    return keras.ops.layer_normalization(x, gamma, beta, axis=-1, epsilon=epsilon)
