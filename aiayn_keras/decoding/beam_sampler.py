"""Beam search (paper 6.1; GNMT, https://arxiv.org/abs/1609.08144, section 7)."""

import keras
import keras_hub
from keras import ops, tree

from aiayn_keras.backend import shapes_may_change
from aiayn_keras.decoding.beam_state import (
    NEVER,
    BeamState,
    Sentences,
    gather_beams,
    gather_cache,
    initial_state,
)
from aiayn_keras.decoding.constraints import Constraints
from aiayn_keras.decoding.finished_sentences import (
    drop_finished,
    drop_now,
    store_results,
)
from aiayn_keras.decoding.length_penalty import length_penalty


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
        coverage_penalty: The factor β of the GNMT coverage penalty, 0 or greater; 0 is none. It is
            the model that says what is covered, see `coverage_bonus`.
        no_repeat_ngram_size: No n-gram of this size is written twice; 0 allows all.

    Example:
        >>> model.compile(sampler=BeamSampler(num_beams=4, length_penalty=0.6))  # doctest: +SKIP
    """

    def __init__(
        self, num_beams=4, length_penalty=0.6, coverage_penalty=0.0, no_repeat_ngram_size=0
    ):
        super().__init__()
        if num_beams < 1:
            raise ValueError(f"`num_beams` must be at least 1. Received: num_beams={num_beams}.")
        self.num_beams = num_beams
        self.length_penalty = _not_negative("length_penalty", length_penalty)
        self.coverage_penalty = _not_negative("coverage_penalty", coverage_penalty)
        self.no_repeat_ngram_size = _not_negative("no_repeat_ngram_size", no_repeat_ngram_size)

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
        end_token_id = self.end_token(stop_token_ids)
        if mask is None:
            mask = ops.broadcast_to(ops.arange(ops.shape(prompt)[1]) < index, ops.shape(prompt))
        cache = tree.map_structure(lambda leaf: ops.repeat(leaf, self.num_beams, axis=0), cache)
        token_ids, _ = self.search(next, prompt, mask, cache, end_token_id, num_return_sequences=1)
        return token_ids[:, 0]

    @staticmethod
    def end_token(stop_token_ids):
        """The one of KerasHub's `stop_token_ids`."""
        if stop_token_ids is None or len(stop_token_ids) != 1:
            raise ValueError(
                "`BeamSampler` needs exactly one `stop_token_ids`, the end token. "
                f"Received: stop_token_ids={stop_token_ids}."
            )
        return stop_token_ids[0]

    def search(
        self,
        next,
        prompt,
        mask,
        cache,
        end_token_id,
        max_lengths=None,
        min_length=0,
        forbidden_token_ids=(),
        num_return_sequences=None,
        reorder_cache=None,
        keep_sentences=None,
        score_bonus=None,
    ):
        """Finds the best hypotheses of every sentence.

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
            min_length: Number of tokens between start and end before which none ends; a smaller
                limit goes before.
            forbidden_token_ids: Tokens that are never chosen, unless forced. Their probability is
                not given to the others.
            num_return_sequences: Number of hypotheses N to find, at most W, which is the default.
                The fewer, the sooner the search is done.
            reorder_cache: Function `(cache, beams (B, W)) -> cache` that gives hypothesis w what
                the cache knows of hypothesis `beams[b, w]`. By default rows are gathered.
            keep_sentences: Function `(cache, sentences (M,)) -> cache` that gives the cache of some
                sentences, if `next` can go on with fewer than it has begun with.
            score_bonus: Function `cache -> (B, W)`, 0 or less, that is added to the score of a
                hypothesis when it finishes.

        Returns:
            Token ids `(B, N, L)`, best first, 0 after the end, and float32 log-probabilities
            `(B, N)` in nats of everything after the start token. Order is by log-probability over
            length penalty plus bonus; a hypothesis that does not exist has zeros and
            log-probability -inf.
        """
        num_beams, length = self.num_beams, ops.shape(prompt)[1]
        num_finished = num_beams if num_return_sequences is None else num_return_sequences
        mask = ops.cast(mask, "bool")
        if max_lengths is None:
            max_lengths = ops.zeros_like(prompt[:, 0]) + (length - 2)
        if reorder_cache is None:
            reorder_cache = lambda cache, beams: tree.map_structure(  # noqa: E731
                lambda leaf: gather_cache(leaf, beams, num_beams), cache
            )

        constraints = Constraints(
            end_token_id, min_length, forbidden_token_ids, self.no_repeat_ngram_size
        )
        may_drop = keep_sentences is not None and shapes_may_change()

        def is_unfinished(*loop_vars):
            state = BeamState(*loop_vars)
            return ops.logical_and(state.index < length, ops.any(state.can_improve))

        def step(*loop_vars):
            state = BeamState(*loop_vars)
            flat_ids = ops.reshape(state.live_ids, (-1, length))
            logits, _, cache = next(flat_ids, state.cache, state.index)
            tokens, log_probs = constraints.candidates(
                logits, flat_ids, state.index, num_beams, state.sentences
            )
            bonus = None if score_bonus is None else score_bonus(cache)
            state, beams = self._grow(state, tokens, log_probs, bonus, end_token_id, num_finished)
            state = state._replace(cache=reorder_cache(cache, beams))
            return tuple(drop_finished(state, keep_sentences) if may_drop else state)

        sentences = Sentences(ops.arange(ops.shape(prompt)[0]), prompt, mask, max_lengths)
        state = initial_state(sentences, num_beams, num_finished, cache)
        if may_drop:  # Nobody leaves yet, but now TensorFlow knows that somebody may.
            state = drop_now(state, keep_sentences)
        state = BeamState(*ops.while_loop(is_unfinished, step, tuple(state)))
        token_ids, log_probs = store_results(state)
        # Which of equals top_k takes, here of what does not exist, is the backend's choice.
        exists = ops.expand_dims(log_probs > NEVER, axis=2)
        return ops.where(exists, token_ids, ops.zeros_like(token_ids)), log_probs

    def _grow(self, state, tokens, log_probs, bonus, end_token_id, num_finished):
        """One step: the best of all hypotheses' candidates, those that finish, those that live.

        Returns:
            The new `BeamState` with the old cache, and which hypotheses `(B, W)` live on.
        """
        num_beams, num_candidates = tokens.shape[1:]
        log_probs = ops.expand_dims(state.live_log_probs, axis=2) + log_probs
        log_probs = ops.reshape(log_probs, (-1, num_beams * num_candidates))
        # At most W of 2W candidates end, one a live hypothesis, so W are left to live on.
        num_kept = min(2 * num_beams, num_beams * num_candidates)
        log_probs, flat = ops.top_k(log_probs, num_kept)  # --> (B, 2W)
        flat = ops.cast(flat, "int32")
        beams = flat // num_candidates
        tokens = ops.take_along_axis(
            ops.reshape(tokens, (-1, num_beams * num_candidates)), flat, axis=1
        )
        is_end = ops.equal(tokens, end_token_id)

        ids = gather_beams(state.live_ids, beams)  # --> (B, 2W, L)
        is_index = ops.equal(ops.arange(ops.shape(ids)[2]), state.index)
        ids = ops.where(is_index, ops.expand_dims(tokens, axis=2), ids)

        # Grow finished: among the best W only, as otherwise one beam would not be greedy.
        ending = ops.where(is_end, log_probs, NEVER)[:, :num_beams]
        scores = ending / length_penalty(state.index, self.length_penalty)
        if bonus is not None:
            scores = scores + ops.take_along_axis(bonus, beams[:, :num_beams], axis=1)
        scores = ops.concatenate([state.finished_scores, scores], axis=1)
        finished_scores, best = ops.top_k(scores, num_finished)
        best = ops.cast(best, "int32")
        finished_log_probs = ops.take_along_axis(
            ops.concatenate([state.finished_log_probs, ending], axis=1), best, axis=1
        )
        finished_ids = gather_beams(
            ops.concatenate([state.finished_ids, ids[:, :num_beams]], axis=1), best
        )

        # Grow live.
        live_log_probs, best = ops.top_k(ops.where(is_end, NEVER, log_probs), num_beams)
        best = ops.cast(best, "int32")
        # No length penalty of a longer hypothesis is greater than that at the limit.
        best_possible = live_log_probs[:, 0] / length_penalty(
            state.sentences.max_lengths + 1, self.length_penalty
        )
        state = state._replace(
            index=state.index + 1,
            live_ids=gather_beams(ids, best),
            live_log_probs=live_log_probs,
            finished_ids=finished_ids,
            finished_log_probs=finished_log_probs,
            finished_scores=finished_scores,
            can_improve=best_possible > finished_scores[:, -1],
        )
        return state, ops.take_along_axis(beams, best, axis=1)

    def get_config(self):
        return {
            "num_beams": self.num_beams,
            "length_penalty": self.length_penalty,
            "coverage_penalty": self.coverage_penalty,
            "no_repeat_ngram_size": self.no_repeat_ngram_size,
        }


def _not_negative(name, value):
    if value < 0:
        raise ValueError(f"`{name}` must be 0 or greater. Received: {name}={value}.")
    return value
