"""Beam search (paper 6.1; GNMT, https://arxiv.org/abs/1609.08144, section 7)."""

import keras
import keras_hub
from keras import ops, tree

from aiayn_keras.samplers.beam_state import (
    NEVER,
    BeamState,
    gather_beams,
    gather_cache,
    initial_state,
)
from aiayn_keras.samplers.length_penalty import length_penalty


@keras.saving.register_keras_serializable(package="aiayn_keras")
class BeamSampler(keras_hub.samplers.Sampler):
    """Beam search with a length penalty (paper 6.1: beam 4, α = 0.6).

    - Each step draws 2·W candidates from W live hypotheses, so that W of them are unfinished.
    - A candidate among the best W that ends is finished: nothing later changes its score. The W
      finished hypotheses with the best `log-probability / length penalty` are kept.
    - A sentence is done when no live hypothesis can beat its worst kept finished one, whatever
      would follow.
    - At the length limit every hypothesis must end, so all returned ones are finished.

    With one beam and α = 0 this is greedy search.

    Args:
        num_beams: Number of beams W.
        length_penalty: The exponent α of the GNMT length penalty, 0 or greater; 0 is none.

    Example:
        >>> model.compile(sampler=BeamSampler(num_beams=4, length_penalty=0.6))  # doctest: +SKIP
    """

    def __init__(self, num_beams=4, length_penalty=0.6):
        super().__init__()
        if num_beams < 1:
            raise ValueError(f"`num_beams` must be at least 1. Received: num_beams={num_beams}.")
        if length_penalty < 0:
            raise ValueError(
                f"`length_penalty` must be 0 or greater. Received: length_penalty={length_penalty}."
            )
        self.num_beams = num_beams
        self.length_penalty = length_penalty

    def __call__(
        self,
        next,
        prompt,
        cache=None,
        index=1,
        mask=None,
        stop_token_ids=None,
        hidden_states=None,
        model=None,
        **kwargs,
    ):
        """KerasHub's sampler protocol: the best hypotheses' token ids `(B, L)`."""
        if stop_token_ids is None or len(stop_token_ids) != 1:
            raise ValueError(
                "`BeamSampler` needs exactly one `stop_token_ids`, the end token. "
                f"Received: stop_token_ids={stop_token_ids}."
            )
        if mask is None:
            mask = ops.broadcast_to(ops.arange(ops.shape(prompt)[1]) < index, ops.shape(prompt))
        cache = tree.map_structure(lambda leaf: ops.repeat(leaf, self.num_beams, axis=0), cache)
        token_ids, _ = self.search(next, prompt, mask, cache, end_token_id=stop_token_ids[0])
        return token_ids[:, 0]

    def search(
        self, next, prompt, mask, cache, end_token_id, max_lengths=None, forbidden_token_ids=()
    ):
        """Finds the W best hypotheses of every sentence.

        Args:
            next: Function `(token ids (B·W, L), cache, index) -> (logits (B·W, V), hidden states,
                cache)`: the distribution of the token at `index` given those before.
            prompt: Integer tensor `(B, L)`; L is the length limit, start and end included.
            mask: Boolean tensor `(B, L)`, True where the token of `prompt` is forced; True at
                position 0, the start token.
            cache: Nested tensors whose first axis is B·W, handed to `next`.
            end_token_id: The token that finishes a hypothesis.
            max_lengths: Integer tensor `(B,)`, a limit for every sentence on the tokens between
                start and end, at most `L - 2`, which is the default.
            forbidden_token_ids: Tokens that are never chosen, unless forced. Their probability is
                not given to the others.

        Returns:
            Token ids `(B, W, L)`, best first, 0 after the end, and float32 log-probabilities
            `(B, W)` in nats of everything after the start token. Order is by log-probability over
            length penalty; a hypothesis that does not exist has zeros and log-probability -inf.
        """
        length = ops.shape(prompt)[1]
        mask = ops.cast(mask, "bool")
        if max_lengths is None:
            max_lengths = ops.zeros_like(prompt[:, 0]) + (length - 2)

        def allow(log_probs, index):
            vocabulary = ops.arange(ops.shape(log_probs)[-1])
            is_end = ops.equal(vocabulary, end_token_id)
            must_end = ops.reshape(index > max_lengths, (-1, 1, 1))
            allowed = ops.logical_or(is_end, ops.logical_not(must_end))
            for token_id in forbidden_token_ids:
                allowed = ops.logical_and(allowed, ops.not_equal(vocabulary, token_id))
            given = ops.reshape(ops.take(prompt, index, axis=1), (-1, 1, 1))
            is_forced = ops.reshape(ops.take(mask, index, axis=1), (-1, 1, 1))
            allowed = ops.where(is_forced, ops.equal(vocabulary, given), allowed)
            return ops.where(allowed, log_probs, NEVER)

        def is_unfinished(*loop_vars):
            state = BeamState(*loop_vars)
            # No length penalty of a longer hypothesis is greater than that at the limit.
            best_possible = state.live_log_probs[:, 0] / length_penalty(
                max_lengths + 1, self.length_penalty
            )
            can_improve = best_possible > state.finished_scores[:, -1]
            return ops.logical_and(state.index < length, ops.any(can_improve))

        def step(*loop_vars):
            state = BeamState(*loop_vars)
            flat_ids = ops.reshape(state.live_ids, (-1, length))
            logits, _, cache = next(flat_ids, state.cache, state.index)
            log_probs = ops.log_softmax(ops.cast(logits, "float32"), axis=-1)
            log_probs = ops.reshape(log_probs, (-1, self.num_beams, log_probs.shape[-1]))
            log_probs = allow(log_probs, state.index)  # --> (B, W, V)
            return tuple(self._grow(state, log_probs, cache, end_token_id))

        state = BeamState(
            *ops.while_loop(
                is_unfinished, step, tuple(initial_state(prompt, mask, self.num_beams, cache))
            )
        )
        exists = ops.expand_dims(state.finished_log_probs > NEVER, axis=2)
        token_ids = ops.where(exists, state.finished_ids, ops.zeros_like(state.finished_ids))
        return token_ids, state.finished_log_probs

    def _grow(self, state, log_probs, cache, end_token_id):
        """One step: candidates, those that finish, those that live on."""
        num_beams, vocabulary_size = self.num_beams, log_probs.shape[-1]
        log_probs = ops.expand_dims(state.live_log_probs, axis=2) + log_probs
        log_probs = ops.reshape(log_probs, (-1, num_beams * vocabulary_size))
        # At most W of 2W candidates end, one a live hypothesis, so W are left to live on.
        log_probs, flat = ops.top_k(log_probs, 2 * num_beams)  # --> (B, 2W)
        flat = ops.cast(flat, "int32")
        beams, tokens = flat // vocabulary_size, flat % vocabulary_size
        is_end = ops.equal(tokens, end_token_id)

        ids = gather_beams(state.live_ids, beams)  # --> (B, 2W, L)
        is_index = ops.equal(ops.arange(ops.shape(ids)[2]), state.index)
        ids = ops.where(is_index, ops.expand_dims(tokens, axis=2), ids)

        # Grow finished: among the best W only, as otherwise one beam would not be greedy.
        ending = ops.where(is_end, log_probs, NEVER)[:, :num_beams]
        scores = ending / length_penalty(state.index, self.length_penalty)
        scores = ops.concatenate([state.finished_scores, scores], axis=1)
        finished_scores, best = ops.top_k(scores, num_beams)
        best = ops.cast(best, "int32")
        finished_log_probs = gather_beams(
            ops.concatenate([state.finished_log_probs, ending], axis=1), best
        )
        finished_ids = gather_beams(
            ops.concatenate([state.finished_ids, ids[:, :num_beams]], axis=1), best
        )

        # Grow live.
        live_log_probs, best = ops.top_k(ops.where(is_end, NEVER, log_probs), num_beams)
        best = ops.cast(best, "int32")
        live_beams = gather_beams(beams, best)
        return BeamState(
            index=state.index + 1,
            live_ids=gather_beams(ids, best),
            live_log_probs=live_log_probs,
            finished_ids=finished_ids,
            finished_log_probs=finished_log_probs,
            finished_scores=finished_scores,
            cache=tree.map_structure(lambda x: gather_cache(x, live_beams, num_beams), cache),
        )

    def get_config(self):
        return {"num_beams": self.num_beams, "length_penalty": self.length_penalty}
