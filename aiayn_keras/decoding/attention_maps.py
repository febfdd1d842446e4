"""All attention weights of a sentence pair, to look at (paper, figures 3 to 5)."""

from dataclasses import dataclass

import numpy as np
from keras import ops

from aiayn_keras.decoding.translation import tokenize
from aiayn_keras.layers import combine_masks, make_attention_mask, make_causal_mask


@dataclass(frozen=True)
class AttentionMaps:
    """Attention weights of one pair; rows sum to one.

    Attributes:
        source_tokens: What the encoder reads, S wordpieces with the end token.
        target_tokens: What the decoder reads, T wordpieces with the start token.
        encoder: Float32 array `(N, H, S, S)`, self-attention of the encoder's layers.
        decoder: Float32 array `(N, H, T, T)`, self-attention of the decoder's layers.
        cross: Float32 array `(N, H, T, S)`, from the decoder's layers to the encoder's output.
    """

    source_tokens: tuple[str, ...]
    target_tokens: tuple[str, ...]
    encoder: np.ndarray
    decoder: np.ndarray
    cross: np.ndarray


def compute_attention_maps(backbone, tokenizer, source, target):
    """Runs a pair through the model and keeps every layer's attention weights.

    Args:
        backbone: A `TransformerBackbone`.
        tokenizer: A `TransformerTokenizer`.
        source: A string.
        target: A string, such as the translation.

    Returns:
        `AttentionMaps`.
    """
    limit = backbone.max_sequence_length
    (encoder_ids,) = tokenize([source], "source", tokenizer, limit)
    (labels,) = tokenize([target], "target", tokenizer, limit)
    decoder_ids = [tokenizer.start_token_id, *labels[:-1]]
    encoder, decoder, cross = _all_weights(backbone, encoder_ids, decoder_ids)
    return AttentionMaps(
        source_tokens=tuple(map(tokenizer.id_to_token, encoder_ids)),
        target_tokens=tuple(map(tokenizer.id_to_token, decoder_ids)),
        encoder=encoder,
        decoder=decoder,
        cross=cross,
    )


def _all_weights(backbone, encoder_ids, decoder_ids):
    encoder_ids, decoder_ids = (
        ops.convert_to_tensor([ids], dtype="int32") for ids in (encoder_ids, decoder_ids)
    )
    source_mask, target_mask = ops.ones_like(encoder_ids), ops.ones_like(decoder_ids)
    encoder_maps, decoder_maps, cross_maps = [], [], []

    mask = make_attention_mask(source_mask, source_mask)
    x = backbone.encoder_embedding(
        backbone.token_embedding(encoder_ids), source_mask, training=False
    )
    for block in backbone.encoder_blocks:
        y = block.self_attention_add_norm.sublayer_input(x)
        encoder_maps.append(block.self_attention.weights_of(y, y, mask))
        x = block(x, mask, training=False)
    memory = x if backbone.encoder_norm is None else backbone.encoder_norm(x)

    mask = combine_masks(
        make_attention_mask(target_mask, target_mask), make_causal_mask(target_mask)
    )
    x = backbone.decoder_embedding(
        backbone.token_embedding(decoder_ids), target_mask, training=False
    )
    for block in backbone.decoder_blocks:
        y = block.self_attention_add_norm.sublayer_input(x)
        decoder_maps.append(block.self_attention.weights_of(y, y, mask))
        cross_maps.append(block.cross_attention_weights(x, memory, mask))
        x = block(x, memory, mask, training=False)
    return tuple(
        np.concatenate([ops.convert_to_numpy(layer) for layer in maps])
        for maps in (encoder_maps, decoder_maps, cross_maps)
    )
