"""Limits on the next token: forced, forbidden, repeated and last tokens."""

from typing import Any, NamedTuple

from keras import ops

from aiayn_keras.backend import take, take_in_rows
from aiayn_keras.decoding.beam_state import NEVER
from aiayn_keras.decoding.candidates import top_log_probs
from aiayn_keras.decoding.repetition import forbid_tokens, repeats_ngram


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

        What may not be chosen keeps its probability: it is not given to the others.

        Args:
            logits: Float tensor `(B·W, V)` of the token at `index`.
            token_ids: Integer tensor `(B·W, L)`, the hypotheses up to `index`.
            index: Integer scalar.
            num_beams: Number of hypotheses W of a sentence.
            sentences: The `Sentences`, what is forced and where each must end.
            allowed: Boolean tensor `(B, W, V)`, the tokens that a constraint allows, if there is
                one; it binds what is forced, too.

        Returns:
            Integer tensor `(B, W, C)` and log-probabilities `(B, W, C)`, -inf for a candidate
            that may not be chosen. There are at least 2·W that may, if the vocabulary has them.
        """
        logits = ops.cast(logits, "float32")
        allowed_logits, selectable = logits, None
        if allowed is not None:
            allowed = ops.reshape(allowed, (-1, logits.shape[-1]))
            allowed_logits = selectable = ops.where(allowed, logits, NEVER)
        if self.no_repeat_ngram_size:
            repeats = repeats_ngram(token_ids, index, self.no_repeat_ngram_size)
            selectable = forbid_tokens(allowed_logits, token_ids, repeats, NEVER)
        # A forbidden token takes at most one place among the best, and so does an early end.
        has_minimum = not isinstance(self.min_length, int) or self.min_length > 0
        num_forbidden = len(self.forbidden_token_ids) + has_minimum
        num_candidates = min(2 * num_beams + num_forbidden, logits.shape[-1])
        log_probs, tokens, log_normalizer = top_log_probs(logits, num_candidates, selectable)
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
