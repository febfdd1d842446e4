"""Tokens that would repeat an n-gram."""

from keras import ops

from aiayn_keras.backend import take, take_in_rows


def repeats_ngram(token_ids, index, ngram_size):
    """Finds the earlier tokens that, written again at `index`, would repeat an n-gram.

    The start token at position 0 is part of no n-gram.

    Args:
        token_ids: Integer tensor `(N, L)`, written up to `index`.
        index: Integer scalar, the position to be filled.
        ngram_size: n, at least 1.

    Returns:
        Boolean tensor `(N, L)`, True at tokens that must not be written at `index`. All places of
        a token have one answer.
    """
    length = ops.shape(token_ids)[1]
    positions = ops.arange(length)
    # Position p closes an n-gram like the one to be written if the n-1 tokens before agree.
    closes = ops.logical_and(positions >= ngram_size, positions < index)
    closes = ops.logical_and(closes, ops.ones_like(token_ids, dtype="bool"))  # --> (N, L)
    for back in range(1, ngram_size):
        last = take(token_ids, ops.maximum(index - back, 0), axis=1)
        before = take(token_ids, ops.maximum(positions - back, 0), axis=1)
        closes = ops.logical_and(closes, ops.equal(before, ops.expand_dims(last, axis=1)))
    closes = ops.logical_and(closes, index >= ngram_size)
    is_same = ops.equal(ops.expand_dims(token_ids, 2), ops.expand_dims(token_ids, 1))
    return ops.any(ops.logical_and(is_same, ops.expand_dims(closes, 1)), axis=2)


def forbid_tokens(logits, token_ids, is_forbidden, value):
    """Puts `value` into the logits of some tokens.

    Args:
        logits: Float tensor `(N, V)`.
        token_ids: Integer tensor `(N, L)`.
        is_forbidden: Boolean tensor `(N, L)`, one answer for all places of a token.
        value: Float.

    Returns:
        Float tensor `(N, V)`.
    """
    rows = ops.expand_dims(ops.arange(ops.shape(token_ids)[0]), axis=1)
    rows = ops.cast(rows, token_ids.dtype) + ops.zeros_like(token_ids)
    kept = take_in_rows(logits, token_ids)
    updates = ops.where(is_forbidden, value, kept)
    indices = ops.reshape(ops.stack([rows, token_ids], axis=2), (-1, 2))
    return ops.scatter_update(logits, indices, ops.reshape(updates, (-1,)))
