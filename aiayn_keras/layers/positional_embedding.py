"""Scaling of embeddings and the positional encoding added to them (paper 3.4 and 3.5)."""

import math

import keras
import numpy as np
from keras import ops

from aiayn_keras.layers.add_norm import Dropout, FixedSettings
from aiayn_keras.layers.masks import check_padding_mask, sentence_positions
from aiayn_keras_light.checks import MAX_SIZE, check_integer


def sinusoidal_encoding(length, hidden_dim):
    """Sines and cosines of every position, interleaved (paper 3.5).

    `PE(pos, 2i) = sin(pos / 10000^(2i / d))`, `PE(pos, 2i + 1) = cos(pos / 10000^(2i / d))`.

    Args:
        length: Number of positions.
        hidden_dim: Width D, even.

    Returns:
        Float32 NumPy array `(length, hidden_dim)`.

    Raises:
        ValueError: For an odd `hidden_dim`.
    """
    if hidden_dim % 2:
        raise ValueError(
            "`hidden_dim` must be even, half sines and half cosines. "
            f"Received: hidden_dim={hidden_dim}."
        )
    positions = np.arange(length)[:, np.newaxis]
    even_dims = np.arange(0, hidden_dim, 2)
    angles = positions / 10_000 ** (even_dims / hidden_dim)  # (length, hidden_dim / 2)
    encoding = np.empty((length, hidden_dim), dtype="float32")
    encoding[:, 0::2] = np.sin(angles)
    encoding[:, 1::2] = np.cos(angles)
    return encoding


@keras.saving.register_keras_serializable(package="aiayn_keras")
class PositionalEmbedding(FixedSettings, keras.layers.Layer):
    """`Dropout(√d_model · embedding + position)` (paper 3.4, 3.5 and 5.4).

    Positions start again from 0 in every sentence of a packed row. A mask that Keras has attached
    to `x` is passed on, and does not change any position.

    Args:
        max_sequence_length: Number of positions, in tokens. Later positions have no encoding, so
            a caller who gives a `padding_mask` must refuse or cut longer input. Otherwise JAX
            returns NaN for them, TensorFlow returns wrong rows under XLA or on a GPU, and in all
            other cases the backend raises an error.
        kind: `"sinusoidal"`, the paper's default; `"learned"`, a trained table (row E of the
            paper's Table 3); or `"given"`, a table that is not trained but comes with the weights,
            such as the sinusoids of other packages, which are not interleaved.
        dropout: Share of the sum dropped in training (P_drop), in [0, 1).

    Call arguments:
        x: Float tensor `(B, T, D)`, token embeddings. With sinusoids, D is even.
        padding_mask: Integer tensor `(B, T)`, sentence numbers, 0 for padding; or a boolean one,
            True on real positions. Without it, positions count from 0 to T - 1.

    Returns:
        Float tensor `(B, T, D)`.

    Raises:
        TypeError: For a `max_sequence_length` that is not an integer.
        ValueError: At construction for a length that is not positive or an unknown `kind`; at build
            for sinusoids of an odd D or an `x` without three axes; for a `padding_mask` of floats
            or of another shape; for more positions than `max_sequence_length`, without a
            `padding_mask`.

    Example:
        >>> tuple(PositionalEmbedding(max_sequence_length=9)(keras.ops.ones((2, 7, 12))).shape)
        (2, 7, 12)
    """

    fixed_settings = frozenset({"kind", "dropout"})

    def __init__(self, max_sequence_length=1024, kind="sinusoidal", dropout=0.1, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        if kind not in ("sinusoidal", "learned", "given"):
            raise ValueError(
                f'`kind` must be "sinusoidal", "learned" or "given". Received: kind={kind!r}.'
            )
        self.max_sequence_length = check_integer(
            "max_sequence_length", max_sequence_length, 1, MAX_SIZE
        )
        self.kind = kind
        self.dropout = dropout

        # === Layers ===
        self.dropout_layer = Dropout(dropout, dtype=self.dtype_policy, name="dropout")

    def build(self, x_shape, padding_mask_shape=None):
        if len(x_shape) != 3:
            raise ValueError(
                "`x` must have three axes, batch, positions and width. "
                f"Received: shape={tuple(x_shape)}."
            )
        hidden_dim = x_shape[-1]
        if self.kind == "sinusoidal":
            self.table = sinusoidal_encoding(self.max_sequence_length, hidden_dim)
        else:
            self.table = self.add_weight(
                name="table",
                shape=(self.max_sequence_length, hidden_dim),
                initializer=keras.initializers.RandomNormal(stddev=hidden_dim**-0.5),
                trainable=self.kind == "learned",
            )
        self.dropout_layer.build(x_shape)

    def call(self, x, padding_mask=None, training=None):
        scale = ops.cast(math.sqrt(x.shape[-1]), x.dtype)
        table = ops.convert_to_tensor(self.table)
        if padding_mask is None:
            encoding = self._first_positions(table, x)
        else:
            padding_mask = check_padding_mask("padding_mask", padding_mask, x)
            encoding = ops.take(table, sentence_positions(padding_mask), axis=0)
        x = x * scale + ops.cast(encoding, x.dtype)
        return self.dropout_layer(x, training=training)

    def _first_positions(self, table, x):
        """The encodings `(T, D)` of positions 0 to T - 1."""
        if x.shape[1] is not None and x.shape[1] > self.max_sequence_length:
            raise ValueError(
                f"`x` must have at most `max_sequence_length` positions. Received: "
                f"{x.shape[1]} positions, max_sequence_length={self.max_sequence_length}."
            )
        return table[: ops.shape(x)[1]]

    def compute_output_shape(self, x_shape, padding_mask_shape=None):
        return x_shape

    def get_config(self):
        config = super().get_config()
        config.update(
            {
                "max_sequence_length": self.max_sequence_length,
                "kind": self.kind,
                "dropout": self.dropout,
            }
        )
        return config
