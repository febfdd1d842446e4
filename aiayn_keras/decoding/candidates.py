"""The candidates of a step of the search: the best continuations within the options' limits."""

from typing import Any, NamedTuple

from aiayn_keras.backend import lean_ops as ops
from aiayn_keras.backend import take, take_in_rows, top_k

NEVER = float("-inf")
"""Log-probability of what may not be chosen, and of a hypothesis that does not exist."""


def repeats_ngram(token_ids, index, ngram_size):
    """Finds the earlier tokens that, written again at `index`, would repeat an n-gram.

    The start token at position 0 is part of no n-gram.

    Args:
        token_ids: Integer tensor `(N, L)`, written up to `index`.
        index: Integer scalar, the position to be filled.
        ngram_size: n, at least 1.

    Returns:
        Boolean tensor `(N, L)`, True at tokens that must not be written at `index`. All occurrences
        of a token have the same value.
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
    is_same = ops.equal(ops.expand_dims(token_ids, 2), ops.expand_dims(token_ids, 1))
    return ops.any(ops.logical_and(is_same, ops.expand_dims(closes, 1)), axis=2)


def _forbid_tokens(logits, token_ids, is_forbidden, value):
    """Puts `value` into the logits of some tokens.

    Args:
        logits: Float tensor `(N, V)`.
        token_ids: Integer tensor `(N, L)`.
        is_forbidden: Boolean tensor `(N, L)`, the same for all occurrences of a token.
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


# All tokens are searched in blocks of about the first size, the best of each block in blocks of
# about the second.
_BLOCK_SIZES = (64, 8)


def top_log_probs(logits, k, selectable=None, is_small=False):
    """The k most probable tokens of every row, and their log-probabilities.

    Softmax is the one pass over all tokens that is fast on every backend. Its divisor follows from
    the probability of the most probable token, which cannot underflow, and is then subtracted from
    the candidates' logits as a logarithm. For the few rows of a single sentence, the divisor is
    summed up without softmax, which is quicker on TensorFlow.

    Args:
        logits: Float32 tensor `(N, V)`, V known.
        k: Number of tokens, at most V.
        selectable: The logits, with -inf for tokens that may not be among the k; None if all may.
        is_small: Whether the rows are of a single sentence.

    Returns:
        Float32 log-probabilities `(N, k)`, best first, int32 token ids `(N, k)`, and the
        logarithm of what softmax divides by, `(N, 1)`: a log-probability is a logit minus it.
    """
    values, tokens = top_candidates(logits if selectable is None else selectable, k)
    greatest = values[:, :1] if selectable is None else ops.max(logits, axis=-1, keepdims=True)
    if is_small:
        log_normalizer = greatest + ops.log(
            ops.sum(ops.exp(logits - greatest), axis=-1, keepdims=True)
        )
    else:
        probabilities = ops.softmax(logits, axis=-1)
        if selectable is None:
            greatest_probability = take_in_rows(probabilities, tokens[:, :1])
        else:
            greatest_probability = ops.max(probabilities, axis=-1, keepdims=True)
        log_normalizer = greatest - ops.log(greatest_probability)
    return values - log_normalizer, tokens, log_normalizer


def top_candidates(logits, k, block_sizes=_BLOCK_SIZES):
    """The k largest logits of every row, in three stages.

    The k largest lie in the k blocks of tokens with the largest maxima, so only those blocks
    are searched, again by the maxima of smaller blocks.

    Args:
        logits: Float tensor `(N, V)`, V known.
        k: Number of candidates, at most V.
        block_sizes: Block sizes of all stages but the last.

    Returns:
        Float tensor `(N, k)`, best first, and their int32 token ids `(N, k)`.
    """
    vocabulary_size = logits.shape[-1]
    block_size = _near_divisor(vocabulary_size, block_sizes[0]) if block_sizes else vocabulary_size
    num_blocks = vocabulary_size // block_size
    if num_blocks <= k:
        return top_k(logits, k)
    blocks = ops.reshape(logits[:, : num_blocks * block_size], (-1, num_blocks, block_size))
    _, best = top_k(ops.max(blocks, axis=-1), k)  # --> (N, k)
    values = ops.reshape(take_in_rows(blocks, best), (-1, k * block_size))
    if num_blocks * block_size < vocabulary_size:  # and those after the last whole block
        values = ops.concatenate([values, logits[:, num_blocks * block_size :]], axis=1)
        best = ops.concatenate([best, ops.zeros_like(best[:, :1]) + num_blocks], axis=1)
    values, positions = top_candidates(values, k, block_sizes[1:])
    places = positions // block_size
    return values, take_in_rows(best, places) * block_size + positions % block_size


def _near_divisor(width, size):
    """The divisor of `width` nearest to `size`, which saves a copy; `size` if none is near.

    The maximum over a multiple of eight numbers is faster.
    """
    divisors = [near for near in range(size // 2, 2 * size + 1) if width % near == 0]
    return min(divisors, key=lambda near: (near % 8 > 0, abs(near - size)), default=size)


class TokenLimits(NamedTuple):
    """Limits on all hypotheses.

    Attributes:
        end_token_id: The token that finishes a hypothesis.
        min_length: Number of tokens between start and end before which none ends: 0 for none, or
            an integer scalar.
        forbidden_token_ids: Tokens that are never chosen, unless forced.
        no_repeat_ngram_size: No n-gram of this size is written twice, unless forced; 0 for none.
    """

    end_token_id: int
    min_length: Any = 0
    forbidden_token_ids: tuple = ()
    no_repeat_ngram_size: int = 0

    def candidates(self, logits, token_ids, index, num_beams, sentences, allowed=None):
        """The most probable tokens that may follow each hypothesis.

        Tokens that may not be chosen keep their probability: it is not given to the others.

        Args:
            logits: Float tensor `(B·W, V)` of the token at `index`.
            token_ids: Integer tensor `(B·W, L)`, the hypotheses up to `index`.
            index: Integer scalar.
            num_beams: Number of hypotheses W of a sentence.
            sentences: The `Sentences`, which say what is forced and where each must end.
            allowed: Boolean tensor `(B, W, V)`, the tokens that a constraint allows, if there is
                one; it applies to forced tokens, too.

        Returns:
            Integer tensor `(B, W, C)` and log-probabilities `(B, W, C)`, -inf for a candidate
            that may not be chosen. At least 2·W may, if the vocabulary is large enough.
        """
        logits = ops.cast(logits, "float32")
        allowed_logits, selectable = logits, None
        if allowed is not None:
            allowed = ops.reshape(allowed, (-1, logits.shape[-1]))
            allowed_logits = selectable = ops.where(allowed, logits, NEVER)
        if self.no_repeat_ngram_size:
            repeats = repeats_ngram(token_ids, index, self.no_repeat_ngram_size)
            selectable = _forbid_tokens(allowed_logits, token_ids, repeats, NEVER)
        # A forbidden token takes at most one place among the best, and so does an early end.
        has_minimum = not isinstance(self.min_length, int) or self.min_length > 0
        num_forbidden = len(self.forbidden_token_ids) + has_minimum
        num_candidates = min(2 * num_beams + num_forbidden, logits.shape[-1])
        is_single = sentences.prompt.shape[0] == 1
        log_probs, tokens, log_normalizer = top_log_probs(
            logits, num_candidates, selectable, is_single
        )
        if self.forbidden_token_ids:
            is_forbidden = ops.equal(ops.expand_dims(tokens, axis=2), self.forbidden_token_ids)
            log_probs = ops.where(ops.any(is_forbidden, axis=2), NEVER, log_probs)
        if has_minimum:
            is_end = ops.equal(tokens, self.end_token_id)
            is_early = ops.logical_and(is_end, index <= self.min_length)
            log_probs = ops.where(is_early, NEVER, log_probs)

        # Where the prompt or the limit leaves one token, it is the only candidate.
        is_forced = take(sentences.mask, index, axis=1)
        is_only = ops.logical_or(is_forced, index > sentences.max_lengths)
        only = ops.where(is_forced, take(sentences.prompt, index, axis=1), self.end_token_id)
        is_only, only = (
            ops.reshape(ops.stack([x] * num_beams, axis=1), (-1, 1)) for x in (is_only, only)
        )  # --> (B·W, 1)
        only_log_prob = take_in_rows(allowed_logits, only) - log_normalizer
        is_first = ops.equal(ops.arange(num_candidates), 0)
        only_log_prob = ops.where(is_first, only_log_prob, NEVER)  # --> (B·W, C)
        log_probs = ops.where(is_only, only_log_prob, log_probs)
        tokens = ops.where(is_only, only, tokens)
        shape = (-1, num_beams, num_candidates)
        return ops.reshape(tokens, shape), ops.reshape(log_probs, shape)
