"""Beam search (paper 6.1; GNMT, https://arxiv.org/abs/1609.08144, section 7)."""

from typing import Any, NamedTuple

from keras import ops, tree

from aiayn_keras.backend import shapes_may_change, take, take_in_rows, while_loop
from aiayn_keras.decoding.beam_state import (
    NEVER,
    BeamState,
    Sentences,
    drop_finished,
    drop_now,
    initial_state,
    store_results,
)
from aiayn_keras.decoding.candidates import TokenLimits
from aiayn_keras.decoding.search_options import length_penalty


def beam_search(
    next_token,
    cache,
    prompt,
    mask,
    options,
    end_token_id,
    max_lengths=None,
    min_length=None,
    forbidden_token_ids=(),
    rules=None,
    rule_state=(),
):
    """Finds the best hypotheses of every sentence.

    - Each step draws 2·W candidates from W live hypotheses, so that W of them are unfinished.
    - A candidate among the best W that ends is finished: nothing later changes its score. The N
      finished hypotheses with the best `log-probability / length penalty` are kept.
    - A sentence is done when no live hypothesis can beat its worst kept finished one, whatever
      would follow.
    - At the length limit every hypothesis must end, so all returned ones are finished.

    With one beam and α = 0 this is greedy search.

    Args:
        next_token: Function `(token ids (B·W, L), cache, index) -> (logits (B·W, V), hidden
            states, cache)`: the distribution of the token at `index` given those before.
        cache: The cache of `next_token` for W hypotheses each, see
            `aiayn_keras.decoding.decoder_step`.
        prompt: Integer tensor `(B, L)`; L is the length limit, start and end included. Where B is
            known to be 1, a TensorFlow graph is made for small tensors.
        mask: Boolean tensor `(B, L)`, True where the token of `prompt` is forced; True at
            position 0, the start token.
        options: `SearchOptions`; its `max_length` is not read, `max_lengths` is.
        end_token_id: The token that finishes a hypothesis.
        max_lengths: Integer tensor `(B,)`, a limit for every sentence on the tokens between start
            and end, at most `L - 2`, which is the default. It goes before a minimum.
        min_length: Integer scalar in place of a `min_length` of `options` that is not 0.
        forbidden_token_ids: Tokens that are never chosen, unless forced. Their probability is not
            given to the others.
        rules: The `Rules` of a constraint, if there is one. It goes before all other limits: a
            hypothesis that may not go on, or that would be forced to break it, is dropped.
        rule_state: Their state before the first token.

    Returns:
        Token ids `(B, N, L)`, best first, 0 after the end, and float32 log-probabilities `(B, N)`
        in nats of everything after the start token. Order is by log-probability over length
        penalty plus coverage bonus; a hypothesis that does not exist has zeros and
        log-probability -inf.
    """
    search, state = start_search(
        next_token,
        cache,
        prompt,
        mask,
        options,
        end_token_id,
        max_lengths,
        min_length,
        forbidden_token_ids,
        rules,
        rule_state,
    )
    is_single = prompt.shape[0] == 1
    may_drop = cache.sentences_may_leave and shapes_may_change() and not is_single

    def is_unfinished(*loop_vars):
        return search.is_unfinished(BeamState(*loop_vars))

    def step(*loop_vars):
        state = search.grow(*search.draw(BeamState(*loop_vars)))
        return tuple(drop_finished(state) if may_drop else state)

    if may_drop:  # A no-op that makes TensorFlow's batch dimension variable.
        state = drop_now(state)
    state = BeamState(*while_loop(is_unfinished, step, tuple(state), is_single))
    token_ids, log_probs = store_results(state)
    # Hypotheses that do not exist are all equal, and top_k may return any of them.
    exists = ops.expand_dims(log_probs > NEVER, axis=2)
    return ops.where(exists, token_ids, ops.zeros_like(token_ids)), log_probs


def start_search(
    next_token,
    cache,
    prompt,
    mask,
    options,
    end_token_id,
    max_lengths=None,
    min_length=None,
    forbidden_token_ids=(),
    rules=None,
    rule_state=(),
):
    """A `BeamSearch` and the `BeamState` that it begins with; arguments as of `beam_search`."""
    if max_lengths is None:
        max_lengths = ops.zeros_like(prompt[:, 0]) + (ops.shape(prompt)[1] - 2)
    if min_length is None or not options.min_length:
        min_length = options.min_length
    limits = TokenLimits(
        end_token_id, min_length, forbidden_token_ids, options.no_repeat_ngram_size
    )
    sentences = Sentences(
        row=ops.arange(ops.shape(prompt)[0]),
        prompt=prompt,
        mask=ops.cast(mask, "bool"),
        max_lengths=max_lengths,
        limit_penalty=_length_penalty(max_lengths + 1, options),
    )
    state = initial_state(
        sentences, options.num_beams, options.num_return_sequences, cache, rule_state
    )
    return BeamSearch(next_token, options, limits, rules, ops.shape(prompt)[1]), state


class BeamSearch(NamedTuple):
    """The step of a search: candidates are drawn, then some of them finish and some live on.

    Attributes:
        next_token: The step function of the model, see `beam_search`.
        options: `SearchOptions`.
        limits: `TokenLimits`.
        rules: The `Rules` of a constraint, or None.
        length: The length limit L of hypotheses, start and end included, an integer scalar.
    """

    next_token: Any
    options: Any
    limits: Any
    rules: Any
    length: Any

    def is_unfinished(self, state):
        """Whether there is a next step, a boolean scalar."""
        return ops.logical_and(state.index < self.length, ops.any(state.can_improve))

    def draw(self, state):
        """Draws the best continuations of the live hypotheses; α plays no part in it.

        Returns:
            The state with the cache of this step, and its `Candidates`.
        """
        flat_ids = ops.reshape(state.live_ids, (-1, self.length))
        logits, _, cache = self.next_token(flat_ids, state.cache, state.index)
        allowed = None
        if self.rules is not None:
            room = state.sentences.max_lengths + 1 - state.index
            allowed = self.rules.allowed(state.rule_state, room)
        tokens, log_probs = self.limits.candidates(
            logits, flat_ids, state.index, self.options.num_beams, state.sentences, allowed
        )
        candidates = _best_candidates(state, tokens, log_probs, self.limits.end_token_id)
        return state._replace(cache=cache), candidates

    def grow(self, state, candidates):
        """Lets candidates finish and live on.

        Returns:
            The state of the next step.
        """
        state = _grow_finished(state, candidates, self.options)
        state = _grow_live(state, candidates, self.options, self.rules)
        return state._replace(index=state.index + 1)


class Candidates(NamedTuple):
    """The best 2·W continuations of a sentence's hypotheses, best first.

    Attributes:
        ids: Integer tensor `(B, 2W, L)`, hypotheses with their new token.
        log_probs: Float32 tensor `(B, 2W)`.
        beams: Integer tensor `(B, 2W)`, the live hypothesis that is continued.
        is_end: Boolean tensor `(B, 2W)`, True where the new token is the end.
    """

    ids: Any
    log_probs: Any
    beams: Any
    is_end: Any


def _best_candidates(state, tokens, log_probs, end_token_id):
    """The best of the candidates `(B, W, C)` of all hypotheses of a sentence."""
    num_beams, num_candidates = tokens.shape[1:]
    log_probs = ops.expand_dims(state.live_log_probs, axis=2) + log_probs
    log_probs = ops.reshape(log_probs, (-1, num_beams * num_candidates))
    # At most W of 2W candidates end, one a live hypothesis, so W are left to live on.
    num_kept = min(2 * num_beams, num_beams * num_candidates)
    log_probs, flat = ops.top_k(log_probs, num_kept)  # --> (B, 2W)
    flat = ops.cast(flat, "int32")
    beams = flat // num_candidates
    tokens = ops.reshape(tokens, (-1, num_beams * num_candidates))
    tokens = take_in_rows(tokens, flat)
    ids = take_in_rows(state.live_ids, beams)  # --> (B, 2W, L)
    is_index = ops.equal(ops.arange(ops.shape(ids)[2]), state.index)
    ids = ops.where(is_index, ops.expand_dims(tokens, axis=2), ids)
    return Candidates(ids, log_probs, beams, ops.equal(tokens, end_token_id))


def _grow_finished(state, candidates, options):
    """Adds the candidates that end to the finished hypotheses, and keeps the best N."""
    num_beams = options.num_beams
    # Among the best W only, as otherwise one beam would not be greedy.
    ending = ops.where(candidates.is_end, candidates.log_probs, NEVER)[:, :num_beams]
    scores = ending / _length_penalty(state.index, options)
    if options.coverage_penalty:
        bonus = state.cache.coverage_bonus(options.coverage_penalty)
        scores = scores + take_in_rows(bonus, candidates.beams[:, :num_beams])
    scores, best = ops.top_k(
        ops.concatenate([state.finished_scores, scores], axis=1), options.num_return_sequences
    )
    best = ops.cast(best, "int32")
    log_probs = ops.concatenate([state.finished_log_probs, ending], axis=1)
    ids = ops.concatenate([state.finished_ids, candidates.ids[:, :num_beams]], axis=1)
    return state._replace(
        finished_ids=take_in_rows(ids, best),
        finished_log_probs=take_in_rows(log_probs, best),
        finished_scores=scores,
    )


def _grow_live(state, candidates, options, rules):
    """Lets the best W candidates that do not end live on."""
    going_on = ops.where(candidates.is_end, NEVER, candidates.log_probs)
    log_probs, best = ops.top_k(going_on, options.num_beams)
    best = ops.cast(best, "int32")
    best_possible = log_probs[:, 0] / state.sentences.limit_penalty
    live_ids = take_in_rows(candidates.ids, best)
    beams = take_in_rows(candidates.beams, best)
    rule_state = state.rule_state
    if rules is not None:
        rule_state = tree.map_structure(lambda leaf: take_in_rows(leaf, beams), rule_state)
        rule_state = rules.advance(rule_state, take(live_ids, state.index, axis=2))
    return state._replace(
        live_ids=live_ids,
        live_log_probs=log_probs,
        can_improve=best_possible > state.finished_scores[:, -1],
        cache=state.cache.reorder(beams),
        rule_state=rule_state,
    )


def _length_penalty(length, options):
    """The length penalty of an integer tensor."""
    return length_penalty(ops.cast(length, "float32"), options)
