"""Given translations: their log-probabilities, and what their tokens look at."""

from keras import ops

from aiayn_keras.layers import combine_masks, make_attention_mask, make_causal_mask
from aiayn_keras.optimization import label_smoothed_cross_entropy


def token_log_probs(
    backbone,
    encoder_token_ids,
    encoder_padding_mask,
    decoder_token_ids,
    decoder_padding_mask,
    labels,
):
    """Log-probabilities of given targets' tokens; pure, to be compiled or exported.

    Args:
        backbone: A `TransformerBackbone`.
        encoder_token_ids: Integer tensor `(B, S)`, each row `pieces </s>`.
        encoder_padding_mask: Integer tensor `(B, S)`, 0 on padding.
        decoder_token_ids: Integer tensor `(B, T)`, each row `<s> pieces`.
        decoder_padding_mask: Integer tensor `(B, T)`, 0 on padding.
        labels: Integer tensor `(B, T)`, each row `pieces </s>`.

    Returns:
        Float32 tensor `(B, T)`, nats; 0 on padding.
    """
    memory = backbone.encode(encoder_token_ids, encoder_padding_mask, training=False)
    hidden_states = backbone.decode(
        memory, encoder_padding_mask, decoder_token_ids, decoder_padding_mask, training=False
    )
    logits = backbone.token_embedding(hidden_states, reverse=True)
    loss = label_smoothed_cross_entropy(labels, logits, label_smoothing=0.0)
    return ops.where(ops.not_equal(decoder_padding_mask, 0), -loss, 0.0)


def alignments(
    backbone, encoder_token_ids, encoder_padding_mask, decoder_token_ids, decoder_padding_mask
):
    """Where the decoder's last layer looks when it writes each token: the mean of its heads.

    Args:
        backbone: A `TransformerBackbone`.
        encoder_token_ids: Integer tensor `(B, S)`, each row `pieces </s>`.
        encoder_padding_mask: Integer tensor `(B, S)`, 0 on padding.
        decoder_token_ids: Integer tensor `(B, T)`, each row `<s> pieces`: what is written at
            position t is the token behind the one that is read there.
        decoder_padding_mask: Integer tensor `(B, T)`, 0 on padding.

    Returns:
        Float32 tensor `(B, T, S)`; rows of real tokens sum to one.
    """
    memory = backbone.encode(encoder_token_ids, encoder_padding_mask, training=False)
    self_mask = combine_masks(
        make_attention_mask(decoder_padding_mask, decoder_padding_mask),
        make_causal_mask(decoder_padding_mask),
    )
    memory_mask = make_attention_mask(decoder_padding_mask, encoder_padding_mask)
    x = backbone.token_embedding(decoder_token_ids)
    x = backbone.decoder_embedding(x, decoder_padding_mask, training=False)
    *blocks, last = backbone.decoder_blocks
    for block in blocks:
        x = block(x, memory, self_mask, memory_mask, training=False)
    weights = last.cross_attention_weights(x, memory, self_mask, memory_mask)
    return ops.mean(weights, axis=1)
