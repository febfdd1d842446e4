"""The parts of the model, one file per idea of the paper's section 3."""

from aiayn_keras.layers.add_norm import AddNorm, Dropout, add_and_norm
from aiayn_keras.layers.attention import (
    MultiHeadAttention,
    attention_weights,
    scaled_dot_product_attention,
)
from aiayn_keras.layers.feed_forward import PositionwiseFeedForward
from aiayn_keras.layers.masks import (
    AttentionMask,
    combine_masks,
    make_attention_mask,
    make_causal_mask,
    make_decoder_masks,
    sentence_positions,
)
from aiayn_keras.layers.positional_embedding import PositionalEmbedding, sinusoidal_encoding
from aiayn_keras.layers.reversible_embedding import ReversibleEmbedding
from aiayn_keras.layers.transformer_blocks import (
    DecoderBlock,
    EncoderBlock,
    decoder_layer,
    encoder_layer,
)

__all__ = [
    "AddNorm",
    "AttentionMask",
    "DecoderBlock",
    "Dropout",
    "EncoderBlock",
    "MultiHeadAttention",
    "PositionalEmbedding",
    "PositionwiseFeedForward",
    "ReversibleEmbedding",
    "add_and_norm",
    "attention_weights",
    "combine_masks",
    "decoder_layer",
    "encoder_layer",
    "make_attention_mask",
    "make_causal_mask",
    "make_decoder_masks",
    "scaled_dot_product_attention",
    "sentence_positions",
    "sinusoidal_encoding",
]
