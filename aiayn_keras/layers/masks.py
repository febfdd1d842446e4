"""Boolean masks, True where attention is allowed (paper 3.2.3).

A padding mask is an integer tensor: 0 marks padding, and 1, 2, 3 … number the sentences packed
into a row. A mask of ones is the ordinary case of one sentence per row.
"""

import keras
from keras import ops


def make_attention_mask(query_padding_mask, key_padding_mask):
    """Allows attention from each position to the real positions of its own sentence.

    Args:
        query_padding_mask: Integer tensor `(B, T)`, sentence numbers, 0 for padding.
        key_padding_mask: Integer tensor `(B, S)`, likewise.

    Returns:
        Boolean tensor `(B, T, S)`, True where the numbers agree and are not 0.
    """
    query_padding_mask = ops.expand_dims(query_padding_mask, axis=2)  # (B, T, 1)
    key_padding_mask = ops.expand_dims(key_padding_mask, axis=1)  # (B, 1, S)
    same_sentence = ops.equal(query_padding_mask, key_padding_mask)
    return ops.logical_and(same_sentence, ops.not_equal(key_padding_mask, 0))


def make_causal_mask(padding_mask):
    """Hides the future: position t looks at positions up to and including t.

    Args:
        padding_mask: Integer tensor `(B, T)`; only its shape is read.

    Returns:
        Boolean tensor `(B, T, T)`, True on and below the diagonal.
    """
    # A running sum, since `arange` needs a length and a symbolic tensor has none.
    positions = ops.cumsum(ops.ones_like(padding_mask, dtype="int32"), axis=1)
    return ops.greater_equal(ops.expand_dims(positions, axis=2), ops.expand_dims(positions, axis=1))


def combine_masks(*masks):
    """Allows only what every mask allows; shapes broadcast."""
    combined = masks[0]
    for mask in masks[1:]:
        combined = ops.logical_and(combined, mask)
    return combined


def make_decoder_masks(decoder_padding_mask, encoder_padding_mask):
    """Masks of the decoder's two attentions: to the past of a sentence, and to its source.

    Args:
        decoder_padding_mask: Integer tensor `(B, T)`, sentence numbers, 0 for padding.
        encoder_padding_mask: Integer tensor `(B, S)`, likewise.

    Returns:
        Two boolean tensors, `(B, T, T)` and `(B, T, S)`, True where attention is allowed.
    """
    self_mask = combine_masks(
        make_attention_mask(decoder_padding_mask, decoder_padding_mask),
        make_causal_mask(decoder_padding_mask),
    )
    return self_mask, make_attention_mask(decoder_padding_mask, encoder_padding_mask)


def sentence_positions(padding_mask):
    """Counts positions from 0 anew in every sentence of a packed row.

    Args:
        padding_mask: Integer tensor `(B, T)`, sentence numbers, 0 for padding.

    Returns:
        Integer tensor `(B, T)`: how many earlier positions carry the same number; 0 on padding,
        which may be longer than any sentence.
    """
    same_sentence = make_attention_mask(padding_mask, padding_mask)
    earlier_or_self = combine_masks(same_sentence, make_causal_mask(padding_mask))
    return ops.maximum(ops.sum(ops.cast(earlier_or_self, "int32"), axis=2) - 1, 0)


@keras.saving.register_keras_serializable(package="aiayn_keras")
class AttentionMask(keras.layers.Layer):
    """Mask of an attention as a layer, by whose name a model's summary and plot show it.

    Args:
        causal: Whether to hide the future as well (paper 3.2.3).

    Call arguments:
        query_padding_mask: Integer tensor `(B, T)`, sentence numbers, 0 for padding.
        key_padding_mask: Integer tensor `(B, S)`, likewise; with `causal` that of the queries.

    Returns:
        Boolean tensor `(B, T, S)`, True where attention is allowed.
    """

    def __init__(self, causal=False, **kwargs):
        super().__init__(**kwargs)
        self.causal = causal

    def call(self, query_padding_mask, key_padding_mask):
        mask = make_attention_mask(query_padding_mask, key_padding_mask)
        return combine_masks(mask, make_causal_mask(query_padding_mask)) if self.causal else mask

    def compute_output_spec(self, query_padding_mask, key_padding_mask):
        shape = (*query_padding_mask.shape, key_padding_mask.shape[1])
        return keras.KerasTensor(shape, dtype="bool")

    def get_config(self):
        config = super().get_config()
        config.update({"causal": self.causal})
        return config
