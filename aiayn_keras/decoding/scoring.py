"""Log-probabilities of given translations."""

import numpy as np
from keras import ops

from aiayn_keras.backend import begin_computing
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
    begin_computing()
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
