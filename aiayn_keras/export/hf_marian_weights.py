"""The weights of a model as the tensors of transformers' `modeling_marian.py`.

The model there has biases everywhere, which are 0 where ours has none, and differs in two more
ways, each met by a change of the weights that leaves the function as it is:

- In its table of positions all sines stand before all cosines, where the paper's are interleaved.
  Nothing but the table says which of the D numbers is which, so they are put in its order in all
  weights.
- Its layer normalization adds 1e-5 to the variance. What is s times as large is normalized with it
  as ours is with 1e-5 / s². So sublayers read, add and normalize numbers s times as large, all but
  the first of encoder and decoder: its input holds the positions, which have the size they have.
  There a smaller number of ours is replaced by 1e-5, beside a variance of about 0.5.
"""

import math
from typing import NamedTuple

import numpy as np

from aiayn_keras.export.float32_weights import float32_array, float32_kernel
from aiayn_keras.layers.positional_embedding import sinusoidal_encoding

EPSILON = 1e-5
"""Added to the variance there, which is PyTorch's default."""

LEAST_EPSILON = 1e-12

CLOSE = 2.5e-4
"""Difference below which a table holds the sinusoids, maybe kept in float16 meanwhile."""


def marian_tensors(backbone):
    """Makes the tensors of `MarianMTModel`.

    Args:
        backbone: A `TransformerBackbone` that `check_fits` has passed.

    Returns:
        Dictionary from names to float32 arrays.

    Raises:
        ValueError: For positions that are not the paper's sinusoids, in either order.
    """
    order = _position_order(backbone)
    scale = math.sqrt(EPSILON / backbone.layer_norm_epsilon)
    embedding = backbone.token_embedding
    bias = np.zeros(backbone.vocabulary_size, "float32")
    if embedding.logits_bias is not None:
        bias = float32_array(embedding.logits_bias)
    tensors = {
        "model.shared.weight": float32_array(embedding.matrix())[:, order],
        "final_logits_bias": bias[np.newaxis],
    }
    for side in ("encoder", "decoder"):
        blocks = getattr(backbone, f"{side}_blocks")
        tensors |= _stack(f"model.{side}.layers", blocks, order, scale)
    return {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}


def _position_order(backbone):
    """For each of their D numbers of a position, the number of ours."""
    table = sinusoidal_encoding(backbone.max_sequence_length, backbone.hidden_dim)
    as_ours = np.arange(backbone.hidden_dim)
    halves = np.concatenate([as_ours[0::2], as_ours[1::2]])
    if backbone.position_embedding == "sinusoidal":
        return halves
    if backbone.position_embedding == "given":
        sides = backbone.encoder_embedding, backbone.decoder_embedding
        tables = [float32_array(side.table) for side in sides]
        for order, sinusoids in ((as_ours, table[:, halves]), (halves, table)):
            if all(np.abs(given - sinusoids).max() < CLOSE for given in tables):
                return order
    raise ValueError(
        "Marian has the paper's sinusoids for positions. Received: "
        f"position_embedding={backbone.position_embedding!r}, a table of other numbers."
    )


class _Sublayer(NamedTuple):
    """Layers of a sublayer by their names there.

    Attributes:
        readers: Dense layers that read what is added up.
        memory_readers: Dense layers that read the encoder's output.
        writer: The dense layer whose output is added.
        norm: The layer normalization of the sum.
    """

    readers: dict
    memory_readers: dict
    writer: tuple
    norm: tuple


def _sublayers(block):
    """The sublayers of an encoder or decoder layer, in their order."""
    yield _attention("self_attn", block.self_attention, block.self_attention_add_norm)
    if hasattr(block, "cross_attention"):
        yield _attention(
            "encoder_attn", block.cross_attention, block.cross_attention_add_norm, True
        )
    yield _Sublayer(
        {"fc1": block.feed_forward.hidden_dense},
        {},
        ("fc2", block.feed_forward.output_dense),
        ("final_layer_norm", block.feed_forward_add_norm.layer_norm),
    )


def _attention(name, attention, add_norm, reads_memory=False):
    query = {f"{name}.q_proj": attention.query_dense}
    others = {f"{name}.k_proj": attention.key_dense, f"{name}.v_proj": attention.value_dense}
    return _Sublayer(
        query if reads_memory else query | others,
        others if reads_memory else {},
        (f"{name}.out_proj", attention.output_dense),
        (f"{name}_layer_norm", add_norm.layer_norm),
    )


def _stack(prefix, blocks, order, scale):
    """The tensors of all layers of a side; between its sublayers everything is `scale` times."""
    sublayers = [
        (f"{prefix}.{i}", sublayer)
        for i, block in enumerate(blocks)
        for sublayer in _sublayers(block)
    ]
    scales = [1.0, *[scale] * (len(sublayers) - 1), 1.0]
    tensors = {}
    for (layer, sublayer), before, after in zip(sublayers, scales[:-1], scales[1:], strict=True):
        parts = {name: _reader(dense, order, before) for name, dense in sublayer.readers.items()}
        for name, dense in sublayer.memory_readers.items():
            parts[name] = _reader(dense, order, 1.0)
        name, dense = sublayer.writer
        parts[name] = float32_kernel(dense)[:, order].T * before, _bias(dense)[order] * before
        name, norm = sublayer.norm
        parts[name] = (float32_array(part)[order] * after for part in (norm.gamma, norm.beta))
        for name, (weight, bias) in parts.items():
            tensors |= {f"{layer}.{name}.weight": weight, f"{layer}.{name}.bias": bias}
    return tensors


def _reader(dense, order, scale):
    return float32_kernel(dense)[order].T / scale, _bias(dense)


def _bias(dense):
    return float32_array(dense.bias) if dense.use_bias else np.zeros(dense.units, "float32")
