"""The layers of the model as ONNX operators, with the arithmetic of `aiayn_keras.layers`."""

import math

import keras
import numpy as np

from aiayn_keras.export.float32_weights import float32_array, float32_kernel
from aiayn_keras.layers.attention import MASKED_SCORE


def _gelu(author, x):
    """`x / 2 · (1 + erf(x / √2))`, Keras' default, without approximation."""
    erf = author.op("Erf", author.op("Mul", x, np.float32(math.sqrt(0.5))))
    half = author.op("Mul", x, np.float32(0.5))
    return author.op("Mul", half, author.op("Add", erf, np.float32(1.0)))


ACTIVATIONS = {
    keras.activations.relu: lambda author, x: author.op("Relu", x),
    keras.activations.silu: lambda author, x: author.op("Mul", x, author.op("Sigmoid", x)),
    keras.activations.gelu: _gelu,
    keras.activations.tanh: lambda author, x: author.op("Tanh", x),
    keras.activations.sigmoid: lambda author, x: author.op("Sigmoid", x),
    keras.activations.elu: lambda author, x: author.op("Elu", x),
    keras.activations.selu: lambda author, x: author.op("Selu", x),
    keras.activations.softplus: lambda author, x: author.op("Softplus", x),
    keras.activations.softsign: lambda author, x: author.op("Softsign", x),
    keras.activations.linear: lambda author, x: x,
}
"""Functions that write an activation, by the activation."""


def check_activation(function):
    """Raises a `ValueError` that lists the activations there are, unless this is one of them."""
    if function not in ACTIVATIONS:
        raise ValueError(
            "This format has the activations "
            f"{', '.join(known.__name__ for known in ACTIVATIONS)}. "
            f"Received: {getattr(function, '__name__', function)!r}."
        )


def embed(author, tokens, positions, table):
    """`√d_model · embedding + position` (paper 3.4, 3.5).

    Args:
        author: An `OnnxAuthor`.
        tokens: Embeddings `(B, T, D)`.
        positions: Positions `(B, T)` or `(T,)`.
        table: Encodings of all positions, an array or variable.
    """
    table = float32_array(table)
    scaled = author.op("Mul", tokens, np.float32(math.sqrt(table.shape[-1])))
    return author.op("Add", scaled, author.op("Gather", author.weight(table), positions, axis=0))


def project(author, x, *layers):
    """Applies Dense layers to one input `(B, T, M)` as one product; a result for each."""
    kernel = np.concatenate([float32_kernel(layer) for layer in layers], axis=1)
    bias = None
    if layers[0].use_bias:
        bias = np.concatenate([float32_array(layer.bias) for layer in layers])
    x = author.product(x, author.matrix(kernel), bias)
    if len(layers) == 1:
        return x
    sizes = np.array([layer.units for layer in layers])
    return author.op("Split", x, sizes, outputs=len(layers), axis=-1)


def attend(author, attention, query, key, value, mask):
    """`softmax(Q Kᵀ / √d_k) V` of all heads, joined and projected (paper 3.2).

    Args:
        author: An `OnnxAuthor`.
        attention: A `MultiHeadAttention`.
        query: Projected queries `(B, T, H·K)`.
        key: Keys `(B, H, S, K)`.
        value: Values `(B, H, S, K_v)`.
        mask: Boolean tensor that broadcasts to `(B, H, T, S)`.
    """
    query = author.op("Mul", query, np.float32(1.0 / math.sqrt(attention.key_dim)))
    query = split_heads(author, query, attention.num_heads, attention.key_dim)
    scores = author.op("MatMul", query, author.op("Transpose", key, perm=[0, 1, 3, 2]))
    scores = author.op("Where", mask, scores, np.float32(MASKED_SCORE))
    x = author.op("MatMul", author.op("Softmax", scores, axis=-1), value)
    x = author.op("Transpose", x, perm=[0, 2, 1, 3])
    x = author.op("Reshape", x, np.array([0, 0, attention.num_heads * attention.value_dim]))
    return project(author, x, attention.output_dense)


def split_heads(author, x, num_heads, width):
    """`(B, T, H·K)` as `(B, H, T, K)`."""
    x = author.op("Reshape", x, np.array([0, 0, num_heads, width]))
    return author.op("Transpose", x, perm=[0, 2, 1, 3])


def split_keys_and_values(author, attention, key, value):
    """Keys and values of all heads, `(B, H, S, K)` and `(B, H, S, K_v)`."""
    return (
        split_heads(author, key, attention.num_heads, attention.key_dim),
        split_heads(author, value, attention.num_heads, attention.value_dim),
    )


def normalize(author, x, layer):
    """Layer normalization."""
    gamma, beta = (author.weight(float32_array(each)) for each in (layer.gamma, layer.beta))
    return author.op("LayerNormalization", x, gamma, beta, epsilon=layer.epsilon, axis=-1)


class OnnxBlock:
    """A layer of encoder or decoder as `encoder_layer` and `decoder_layer` run it.

    Args:
        author: An `OnnxAuthor`, which gets the operators.
        block: The `EncoderBlock` or `DecoderBlock`.
    """

    def __init__(self, author, block):
        self._author, self._block = author, block

    def feed_forward(self, x):
        """The position-wise feed-forward network (paper 3.3)."""
        layer = self._block.feed_forward
        x = project(self._author, x, layer.hidden_dense)
        return project(
            self._author, ACTIVATIONS[layer.activation](self._author, x), layer.output_dense
        )

    def self_attention_add_norm(self, x, sublayer):
        """Self-attention in its residual connection."""
        return self._add_norm(self._block.self_attention_add_norm, x, sublayer)

    def cross_attention_add_norm(self, x, sublayer):
        """Attention to the memory in its residual connection."""
        return self._add_norm(self._block.cross_attention_add_norm, x, sublayer)

    def feed_forward_add_norm(self, x, sublayer):
        """The feed-forward network in its residual connection."""
        return self._add_norm(self._block.feed_forward_add_norm, x, sublayer)

    def _add_norm(self, layer, x, sublayer):
        author, norm = self._author, layer.layer_norm
        y = sublayer(normalize(author, x, norm) if layer.normalize_first else x)
        x = author.op("Add", x, y)
        return x if layer.normalize_first else normalize(author, x, norm)
