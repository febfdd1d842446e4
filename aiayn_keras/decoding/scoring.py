"""Log-probabilities and attention weights of given translations (paper, figures 3 to 5)."""

from dataclasses import dataclass

import numpy as np
from keras import ops

from aiayn_keras.backend import begin_computing, is_known
from aiayn_keras.layers import decoder_layer, encoder_layer
from aiayn_keras.optimization import label_smoothed_cross_entropy
from aiayn_keras_light.checks import check_integer
from aiayn_keras_light.text_batches import (
    MAX_TEXTS,
    batch_by_length,
    check_equal_lengths,
    pad_batch,
    tokenize,
)


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
    logits = _logits(
        backbone, encoder_token_ids, encoder_padding_mask, decoder_token_ids, decoder_padding_mask
    )
    loss = label_smoothed_cross_entropy(labels, logits, label_smoothing=0.0)
    return ops.where(ops.not_equal(decoder_padding_mask, 0), -loss, 0.0)


def next_log_probs(backbone, tokenizer, source, target_ids):
    """Log-probabilities of every wordpiece after each beginning of a translation.

    Args:
        backbone: A `TransformerBackbone`.
        tokenizer: A `TransformerTokenizer`.
        source: A string.
        target_ids: List of T token ids, without start and end.

    Returns:
        Float32 array `(T + 1, V)`, nats: row t is for the token after the first t.

    Raises:
        ValueError: For a source with more tokens than the model has positions.
    """
    begin_computing(backbone)
    (source_ids,) = tokenize([source], "source", tokenizer, backbone.max_sequence_length)
    encoder_ids, decoder_ids = (
        ops.convert_to_tensor([ids], dtype="int32")
        for ids in (source_ids, [tokenizer.start_token_id, *target_ids])
    )
    masks = ops.ones_like(encoder_ids), ops.ones_like(decoder_ids)
    logits = _logits(backbone, encoder_ids, masks[0], decoder_ids, masks[1])
    return ops.convert_to_numpy(ops.log_softmax(ops.cast(logits, "float32")))[0]


def _logits(
    backbone, encoder_token_ids, encoder_padding_mask, decoder_token_ids, decoder_padding_mask
):
    memory = backbone.encode(encoder_token_ids, encoder_padding_mask, training=False)
    hidden_states = backbone.decode(
        memory, encoder_padding_mask, decoder_token_ids, decoder_padding_mask, training=False
    )
    return backbone.token_embedding(hidden_states, reverse=True)


def score_texts(sources, targets, *, tokenizer, token_log_probs, max_sequence_length, batch_size):
    """Scores pairs in batches of similar length; see `TransformerSeq2SeqLM.score`.

    Args:
        sources: List of strings.
        targets: List of strings, one for each source.
        tokenizer: A `TransformerTokenizer`.
        token_log_probs: Function of encoder ids and mask `(B, S)`, decoder ids, mask and labels
            `(B, T)` that gives log-probabilities `(B, T)`, all NumPy arrays.
        max_sequence_length: Maximum number of tokens of a text, the end token included.
        batch_size: Number of pairs scored together.

    Returns:
        List of one float32 array for each pair, the log-probability in nats of every token of the
        target and of the end token.
    """
    batch_size = check_integer("batch_size", batch_size, 1, MAX_TEXTS)
    source_ids = tokenize(sources, "sources", tokenizer, max_sequence_length)
    target_ids = tokenize(targets, "targets", tokenizer.of_targets(), max_sequence_length)
    check_equal_lengths(sources=source_ids, targets=target_ids)
    scores = [None] * len(source_ids)
    for rows in batch_by_length(target_ids, batch_size):
        encoder_ids, encoder_mask = pad_batch([source_ids[i] for i in rows])
        labels, decoder_mask = pad_batch([target_ids[i] for i in rows])
        decoder_ids = np.roll(labels, 1, axis=1)
        decoder_ids[:, 0] = tokenizer.start_token_id
        results = token_log_probs(encoder_ids, encoder_mask, decoder_ids, decoder_mask, labels)
        for row, log_probs in zip(rows, results, strict=False):
            scores[row] = log_probs[: len(target_ids[row])]
    return scores


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

    Raises:
        ValueError: For a text with more tokens than the model has positions, or a source without
            any; or for a block with a `call` of its own, or an attention that attends in its own
            way without `weights_of`.
    """
    (labels,) = tokenize([target], "target", tokenizer.of_targets(), backbone.max_sequence_length)
    return attention_maps_of_ids(backbone, tokenizer, source, labels[:-1])


def attention_maps_of_ids(backbone, tokenizer, source, target_ids):
    """Attention maps of a translation whose wordpieces are known, such as a hypothesis.

    Args:
        backbone: A `TransformerBackbone`.
        tokenizer: A `TransformerTokenizer`.
        source: A string.
        target_ids: List of token ids, without start and end.

    Returns:
        `AttentionMaps`.

    Raises:
        ValueError: As `compute_attention_maps`.
    """
    begin_computing(backbone)
    (encoder_ids,) = tokenize([source], "source", tokenizer, backbone.max_sequence_length)
    if not encoder_ids:
        raise ValueError("`source` has no wordpieces, so nothing can be attended to.")
    decoder_ids = [tokenizer.start_token_id, *target_ids]
    encoder, decoder, cross = _all_weights(backbone, encoder_ids, decoder_ids)
    return AttentionMaps(
        source_tokens=tuple(map(tokenizer.id_to_token, encoder_ids)),
        target_tokens=tuple(map(tokenizer.of_targets().id_to_token, decoder_ids)),
        encoder=encoder,
        decoder=decoder,
        cross=cross,
    )


def alignments(
    backbone, encoder_token_ids, encoder_padding_mask, decoder_token_ids, decoder_padding_mask
):
    """The attention of the decoder's last layer when it writes each token, the mean of its heads.

    Of parts that attend in their own way, the usual attention: it places tags in documents, too.

    Args:
        backbone: A `TransformerBackbone`.
        encoder_token_ids: Integer tensor `(B, S)`, each row `pieces </s>`.
        encoder_padding_mask: Integer tensor `(B, S)`, 0 on padding.
        decoder_token_ids: Integer tensor `(B, T)`, each row `<s> pieces`: what is written at
            position t is the token after the one that is read there.
        decoder_padding_mask: Integer tensor `(B, T)`, 0 on padding.

    Returns:
        Float32 tensor `(B, T, S)`; rows of real tokens sum to one.
    """
    memory = backbone.encode(encoder_token_ids, encoder_padding_mask, training=False)
    _, cross = _decoder_attention(
        backbone, memory, encoder_padding_mask, decoder_token_ids, decoder_padding_mask
    )
    return ops.mean(cross[-1], axis=1)


def cross_attention_scores(
    backbone, encoder_token_ids, encoder_padding_mask, decoder_token_ids, decoder_padding_mask
):
    """The products of queries and keys from which cross-attention is computed.

    Args:
        backbone: A `TransformerBackbone`.
        encoder_token_ids: Integer tensor `(B, S)`.
        encoder_padding_mask: Integer tensor `(B, S)`, 0 on padding.
        decoder_token_ids: Integer tensor `(B, T)`.
        decoder_padding_mask: Integer tensor `(B, T)`, 0 on padding.

    Returns:
        List of a float32 tensor `(B, H, T, S)` for each layer. Divided by `√d_k`, their softmax
        over S gives the weights.
    """
    memory = backbone.encode(encoder_token_ids, encoder_padding_mask, training=False)
    self_mask, memory_mask = _decoder_masks(backbone, decoder_padding_mask, encoder_padding_mask)
    x = backbone.token_embedding(decoder_token_ids)
    x = backbone.decoder_embedding(x, decoder_padding_mask, training=False)
    scores = []
    for block in backbone.decoder_blocks:

        def attend_to_memory(query, attention=block.cross_attention):
            scores.append(attention.scores_of(query, memory))
            return attention(query, memory, memory_mask, training=False)

        def attend_to_self(query, attention=block.self_attention):
            return attention(query, query, self_mask, training=False)

        x = decoder_layer(block, x, attend_to_self, attend_to_memory)
    return scores


def _check_blocks(blocks):
    """Raises a ValueError for blocks whose parts do not tell what they attend to."""
    for block in blocks:
        if not is_known(block.call):
            raise ValueError(
                f"The attention in `{block.name}` cannot be shown: its `call` is your own, and the "
                "usual order of its parts would show something else. Put the change into a part of "
                "the block, such as its `feed_forward_cls` (docs/change_a_part.md)."
            )
        block.self_attention.check_weights_are_known()
        if hasattr(block, "cross_attention"):
            block.cross_attention.check_weights_are_known()


def _all_weights(backbone, encoder_ids, decoder_ids):
    _check_blocks((*backbone.encoder_blocks, *backbone.decoder_blocks))
    encoder_ids, decoder_ids = (
        ops.convert_to_tensor([ids], dtype="int32") for ids in (encoder_ids, decoder_ids)
    )
    source_mask, target_mask = ops.ones_like(encoder_ids), ops.ones_like(decoder_ids)
    memory, encoder = _encoder_attention(backbone, encoder_ids, source_mask)
    decoder, cross = _decoder_attention(backbone, memory, source_mask, decoder_ids, target_mask)
    return tuple(
        np.concatenate([ops.convert_to_numpy(layer) for layer in layers])
        for layers in (encoder, decoder, cross)
    )


def _encoder_attention(backbone, token_ids, padding_mask):
    """The memory `(B, S, D)`, and every layer's weights `(B, H, S, S)`."""
    mask = backbone.encoder_mask(padding_mask, padding_mask)
    x = backbone.token_embedding(token_ids)
    x = backbone.encoder_embedding(x, padding_mask, training=False)
    seen = []
    for block in backbone.encoder_blocks:
        x = encoder_layer(block, x, _observed(block.self_attention, mask, seen))
    return (x if backbone.encoder_norm is None else backbone.encoder_norm(x)), seen


def _decoder_attention(backbone, memory, encoder_padding_mask, token_ids, padding_mask):
    """Every layer's weights of self-attention `(B, H, T, T)` and of attention to the memory."""
    self_mask, memory_mask = _decoder_masks(backbone, padding_mask, encoder_padding_mask)
    x = backbone.token_embedding(token_ids)
    x = backbone.decoder_embedding(x, padding_mask, training=False)
    seen_self, seen_memory = [], []
    for block in backbone.decoder_blocks:
        x = decoder_layer(
            block,
            x,
            _observed(block.self_attention, self_mask, seen_self),
            _observed(block.cross_attention, memory_mask, seen_memory, memory),
        )
    return seen_self, seen_memory


def _decoder_masks(backbone, decoder_padding_mask, encoder_padding_mask):
    self_mask = backbone.decoder_mask(decoder_padding_mask, decoder_padding_mask)
    return self_mask, backbone.cross_mask(decoder_padding_mask, encoder_padding_mask)


def _observed(attention, mask, seen, memory=None):
    """A `MultiHeadAttention` as a function of its queries that adds its weights to `seen`."""

    def attend(query):
        keys = query if memory is None else memory
        seen.append(attention.weights_of(query, keys, mask))
        return attention(query, keys, mask, training=False)

    return attend
