"""Encoder and decoder as two ONNX graphs, with the names that optimum and transformers.js expect.

The decoder is the one that they call merged: it takes the keys and values of earlier positions,
and `use_cache_branch`, which is False in the first step of a sentence; only then are the keys and
values of the encoder's output made.
"""

import numpy as np

from aiayn_keras.export.float32_weights import float32_array
from aiayn_keras.export.onnx_author import OnnxAuthor
from aiayn_keras.export.onnx_layers import (
    OnnxBlock,
    attend,
    embed,
    normalize,
    project,
    split_keys_and_values,
)
from aiayn_keras.layers import decoder_layer, encoder_layer

FLOAT, INT64, BOOL = 1, 7, 9
"""ONNX's numbers of its number formats."""

BATCH, SOURCE, TARGET = "batch_size", "encoder_sequence_length", "decoder_sequence_length"
PAST, PRESENT = "past_decoder_sequence_length", "present_decoder_sequence_length"


def write_encoder(backbone, path, quantized=False):
    """Writes the encoder: token ids and padding mask `(B, S)` to memory `(B, S, D)`.

    Args:
        backbone: A `TransformerBackbone`.
        path: The file.
        quantized: Whether matrices are int8.
    """
    author = OnnxAuthor(quantized)
    embeddings = author.matrix(float32_array(backbone.token_embedding.matrix()), axis=0)
    counts = author.op("CumSum", "attention_mask", np.array(1))
    positions = author.op("Max", author.op("Sub", counts, np.array(1)), np.array(0))
    tokens = author.rows(embeddings, "input_ids")
    x = embed(author, tokens, positions, backbone.encoder_embedding.table)
    mask = _memory_mask(author, "attention_mask")
    for block in backbone.encoder_blocks:

        def attend_to_self(y, attention=block.self_attention):
            query, *key_value = _project_self(author, attention, y)
            return attend(author, attention, query, *key_value, mask)

        x = encoder_layer(OnnxBlock(author, block), x, attend_to_self)
    if backbone.encoder_norm is not None:
        x = normalize(author, x, backbone.encoder_norm)
    author.rename(x, "last_hidden_state")
    author.write(
        path,
        {name: (INT64, [BATCH, SOURCE]) for name in ("input_ids", "attention_mask")},
        {"last_hidden_state": (FLOAT, [BATCH, SOURCE, backbone.hidden_dim])},
    )


def write_decoder(backbone, path, quantized=False):
    """Writes the decoder: new tokens `(B, T)` to logits `(B, T, V)`, with the cache.

    Args:
        backbone: A `TransformerBackbone`.
        path: The file.
        quantized: Whether matrices are int8.
    """
    author = OnnxAuthor(quantized)
    lookup, output = _embedding_matrices(author, backbone.token_embedding)
    positions, self_mask = _positions_and_mask(author)
    memory_mask = _memory_mask(author, "encoder_attention_mask")
    memory = _project_memory(author, backbone)
    x = embed(author, lookup("input_ids"), positions, backbone.decoder_embedding.table)
    for layer, block in enumerate(backbone.decoder_blocks):

        def attend_to_self(y, attention=block.self_attention, layer=layer):
            query, *key_value = _project_self(author, attention, y)
            for i, part in enumerate(("key", "value")):
                past = f"past_key_values.{layer}.decoder.{part}"
                key_value[i] = author.op("Concat", past, key_value[i], axis=2)
                author.rename(key_value[i], f"present.{layer}.decoder.{part}")
            return attend(author, attention, query, *key_value, self_mask)

        def attend_to_memory(y, attention=block.cross_attention, layer=layer):
            query = project(author, y, attention.query_dense)
            return attend(author, attention, query, *memory[layer], memory_mask)

        x = decoder_layer(OnnxBlock(author, block), x, attend_to_self, attend_to_memory)
    if backbone.decoder_norm is not None:
        x = normalize(author, x, backbone.decoder_norm)
    bias = backbone.token_embedding.logits_bias
    bias = None if bias is None else float32_array(bias)
    author.rename(author.product(x, output, bias), "logits")
    author.write(path, *_decoder_ends(backbone))


def _embedding_matrices(author, layer):
    """Function that looks tokens up, and the matrix `(D, V)` of the output."""
    if layer.tie_weights:
        matrix = author.matrix(float32_array(layer.matrix()).T)
        return (lambda ids: author.columns(matrix, ids)), matrix
    matrix = author.matrix(float32_array(layer.matrix()), axis=0)
    output = author.matrix(float32_array(layer.output_kernel()))
    return (lambda ids: author.rows(matrix, ids)), output


def _positions_and_mask(author):
    """Positions `(T,)` of the new tokens, and what of all so far they may look at."""
    length = author.op("Gather", author.op("Shape", "input_ids"), np.array(1), axis=0)
    past = author.op("Shape", "past_key_values.0.decoder.key")
    past = author.op("Gather", past, np.array(2), axis=0)
    end = author.op("Add", past, length)
    positions = author.op("Range", past, end, np.array(1))
    earlier_or_self = author.op(
        "LessOrEqual",
        author.op("Range", np.array(0), end, np.array(1)),
        author.op("Unsqueeze", positions, np.array([1])),
    )
    return positions, earlier_or_self


def _memory_mask(author, mask):
    """A padding mask `(B, S)` as Booleans `(B, 1, 1, S)`."""
    return author.op("Unsqueeze", author.op("Cast", mask, to=BOOL), np.array([1, 2]))


def _project_self(author, attention, x):
    """Queries `(B, T, H·K)`, and keys and values of all heads."""
    layers = attention.query_dense, attention.key_dense, attention.value_dense
    query, key, value = project(author, x, *layers)
    return query, *split_keys_and_values(author, attention, key, value)


def _project_memory(author, backbone):
    """Every layer's keys and values of the encoder's output, made in the first step only."""
    names = [
        f"{layer}.encoder.{part}"
        for layer in range(backbone.num_layers)
        for part in ("key", "value")
    ]
    with author.branch() as first_step:
        made = []
        for block in backbone.decoder_blocks:
            attention = block.cross_attention
            layers = attention.key_dense, attention.value_dense
            made += split_keys_and_values(
                author, attention, *project(author, "encoder_hidden_states", *layers)
            )
    with author.branch() as later_step:
        kept = [author.op("Identity", f"past_key_values.{name}") for name in names]
    memory = author.choose("use_cache_branch", (later_step, kept), (first_step, made))
    for tensor, name in zip(memory, names, strict=True):
        author.rename(tensor, f"present.{name}")
    return list(zip(memory[0::2], memory[1::2], strict=True))


def _decoder_ends(backbone):
    """The decoder's inputs and results, with their number formats and shapes."""
    inputs = {
        "input_ids": (INT64, [BATCH, TARGET]),
        "encoder_attention_mask": (INT64, [BATCH, SOURCE]),
        "encoder_hidden_states": (FLOAT, [BATCH, SOURCE, backbone.hidden_dim]),
    }
    outputs = {"logits": (FLOAT, [BATCH, TARGET, backbone.vocabulary_size])}
    for layer in range(backbone.num_layers):
        for side, past, present in (("decoder", PAST, PRESENT), ("encoder", SOURCE, SOURCE)):
            for part, width in (("key", backbone.key_dim), ("value", backbone.value_dim)):
                name = f"{layer}.{side}.{part}"
                shape = [BATCH, backbone.num_heads, past, width]
                inputs[f"past_key_values.{name}"] = FLOAT, shape
                outputs[f"present.{name}"] = FLOAT, [*shape[:2], present, width]
    inputs["use_cache_branch"] = BOOL, [1]
    return inputs, outputs
