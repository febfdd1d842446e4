"""Tables of positions of other toolkits, whose sinusoids are not the paper's."""

import numpy as np

from aiayn_keras.layers.positional_embedding import sinusoidal_encoding

DEFAULT_POSITIONS = 1024
"""Positions of a model whose sinusoids are not in the file, for which its toolkit has no bound."""

CLOSE = 1e-6
"""Difference below which a table holds the paper's sinusoids."""


def half_and_half_sinusoids(length, hidden_dim, first):
    """tensor2tensor's sinusoids: all sines, then all cosines, angles from 1 to 1/10000.

    Args:
        length: Number of positions.
        hidden_dim: Width D, even and at least 4.
        first: Number of the first position.

    Returns:
        Float32 array `(length, hidden_dim)`.
    """
    half = hidden_dim // 2
    positions = np.arange(first, first + length)[:, np.newaxis]
    angles = positions * np.exp(-np.log(10_000) / (half - 1) * np.arange(half))  # (length, half)
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1).astype("float32")


def split_sinusoids(length, hidden_dim):
    """The paper's sinusoids, all sines before all cosines; see `sinusoidal_encoding`."""
    encoding = sinusoidal_encoding(length, hidden_dim)
    return np.concatenate([encoding[:, 0::2], encoding[:, 1::2]], axis=1)


def position_weights(encoder, decoder, is_learned=False):
    """Our options and weights for two tables.

    Args:
        encoder: Float array `(S, D)`.
        decoder: Float array `(T, D)`; the longer table is cut.
        is_learned: Whether further training may change them.

    Returns:
        Dictionary of arguments of `TransformerBackbone`, and one of weights by their paths.
    """
    length = min(len(encoder), len(decoder))
    options = {"max_sequence_length": length}
    tables = {"encoder_embedding": encoder[:length], "decoder_embedding": decoder[:length]}
    if all(_is_the_papers(table) for table in tables.values()):
        return {**options, "position_embedding": "sinusoidal"}, {}
    options["position_embedding"] = "learned" if is_learned else "given"
    return options, {f"{name}/table": table for name, table in tables.items()}


def _is_the_papers(table):
    length, hidden_dim = table.shape
    if hidden_dim % 2:
        return False
    return np.abs(table - sinusoidal_encoding(length, hidden_dim)).max(initial=0) < CLOSE
