"""Beam search (paper 6.1; GNMT, https://arxiv.org/abs/1609.08144, section 7).

`beam_search` is the loop; `BeamSearch` is one step of it, `draw` and then `grow`; `BeamState` is
what a step hands to the next one.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

from keras import tree

from aiayn_keras.backend import (
    cond_without_lowering,
    loop_counter,
    shapes_may_change,
    take,
    take_in_rows,
    top_k,
    while_loop,
)
from aiayn_keras.backend import lean_ops as ops
from aiayn_keras.decoding.candidates import NEVER, TokenLimits
from aiayn_keras.decoding.search_options import SearchOptions
from aiayn_keras_light.search_numbers import length_penalty

_MIN_SENTENCES = 16
"""The smallest batch that is searched in groups where shapes are fixed."""


@dataclass(frozen=True)
class SearchInputs:
    """The model, the sentences and the limits of a beam search.

    Attributes:
        next_token: Function `(token ids (B·W, L), cache, index) -> (logits (B·W, V), hidden
            states, cache)`: the distribution of the token at `index`, given those before it.
        cache: The cache of `next_token` for W hypotheses per sentence, see
            `aiayn_keras.decoding.cached_decoding`.
        prompt: Integer tensor `(B, L)`; L is the length limit, start and end included. If B is
            known to be 1, the TensorFlow graph is made for small tensors.
        mask: Boolean tensor `(B, L)`, True where the token of `prompt` is forced; True at
            position 0, the start token.
        options: `SearchOptions`; `max_lengths` takes the place of its `max_length`.
        end_token_id: The token that finishes a hypothesis.
        max_lengths: Integer tensor `(B,)`, the maximum number of tokens between start and end of
            each sentence, at most `L - 2`, which is the default. It takes precedence over a
            minimum.
        min_length: Integer scalar that replaces the `min_length` of `options` if that is not 0.
        forbidden_token_ids: Tokens that are never chosen unless forced. Their probability is not
            given to the others.
        rules: The `Rules` of a constraint, if there is one. They take precedence over all other
            limits: a hypothesis that cannot go on, or that would be forced to break them, is
            dropped.
        rule_state: The state of the rules before the first token.
    """

    next_token: Any
    cache: Any
    prompt: Any
    mask: Any
    options: SearchOptions
    end_token_id: int
    max_lengths: Any = None
    min_length: Any = None
    forbidden_token_ids: tuple = ()
    rules: Any = None
    rule_state: Any = ()


def beam_search(inputs):
    """Finds the best hypotheses of every sentence.

    - Each step draws 2·W candidates from W live hypotheses, so that W of them are unfinished.
    - A candidate that ends and is among the best W is finished: nothing changes its score later.
      The N finished hypotheses with the best `log-probability / length penalty` are kept.
    - A sentence is done when no live hypothesis can beat the worst finished one that it keeps,
      whatever would follow.
    - At the length limit every hypothesis must end, so all those returned are finished.

    With one beam and α = 0 this is greedy search.

    Args:
        inputs: `SearchInputs`.

    Returns:
        Token ids `(B, N, L)`, best first, 0 after the end, and float32 log-probabilities `(B, N)`
        in nats of everything after the start token. They are ordered by log-probability over
        length penalty plus coverage bonus; a hypothesis that does not exist has zeros and
        log-probability -inf.
    """
    search, state = start_search(inputs)
    is_single = inputs.prompt.shape[0] == 1
    if not inputs.cache.sentences_may_leave or is_single:
        state = _search_on(search, state, search.is_unfinished, is_single=is_single)
        token_ids, log_probs = _store_results(state)
    elif shapes_may_change():
        state = _drop_done_sentences(state)  # makes TensorFlow's batch dimension variable
        state = _search_on(search, state, search.is_unfinished, _drop_finished)
        token_ids, log_probs = _store_results(state)
    else:
        token_ids, log_probs = _search_in_groups(search, state)
    # Hypotheses that do not exist are all equal, and top_k may return any of them.
    exists = ops.expand_dims(log_probs > NEVER, axis=2)
    return ops.where(exists, token_ids, ops.zeros_like(token_ids)), log_probs


def _search_on(search, state, is_unfinished, finish_step=None, is_single=False):
    """Repeats the step of a search while the search is unfinished.

    Args:
        search: A `BeamSearch`.
        state: The `BeamState` before the first step.
        is_unfinished: Function of a `BeamState` that returns whether there is a next step.
        finish_step: Function of a `BeamState` that is called after each step, if any.
        is_single: Whether there is one sentence, see `while_loop`.
    """

    def step(*loop_vars):
        state = search.grow(*search.draw(BeamState(*loop_vars)))
        return tuple(state if finish_step is None else finish_step(state))

    def goes_on(*loop_vars):
        return is_unfinished(BeamState(*loop_vars))

    return BeamState(*while_loop(goes_on, step, tuple(state), is_single))


def _search_in_groups(search, state):
    """A search where shapes are fixed, so that no sentence can leave in the middle.

    All sentences are searched together until a quarter of them is left, in a cache that is long
    enough for most. Then the rest is searched to the end in groups of a quarter. Batches that are
    too small to be worth a second compilation are searched as a whole.

    Args:
        search: A `BeamSearch`.
        state: The `BeamState` before the first step; its shapes are known.

    Returns:
        The results of all sentences, see `_store_results`.
    """
    num_sentences, length = state.sentences.prompt.shape
    if num_sentences < _MIN_SENTENCES:
        return _store_results(_search_on(search, state, search.is_unfinished))
    group_size = num_sentences // 4
    first_length = min(state.cache.usual_length, length)

    def are_many(state):
        num_left = ops.sum(ops.cast(state.can_improve, "int32"))
        # A step writes the position before its index into the cache.
        has_room = state.index < min(first_length + 1, length)
        return ops.logical_and(num_left > group_size, has_room)

    state = state._replace(cache=state.cache.with_room(first_length))
    state = _search_on(search, state, are_many)

    def search_group(is_left, results):
        rows = ops.cast(ops.argsort(ops.logical_not(is_left))[:group_size], "int32")
        group = _keep(state._replace(results=results), rows)
        group = group._replace(cache=group.cache.with_room(length))
        group = _search_on(search, group, search.is_unfinished)
        is_left = ops.scatter_update(
            is_left, ops.expand_dims(rows, axis=1), ops.zeros_like(group.can_improve)
        )
        return is_left, _store_results(group)

    _, results = while_loop(
        lambda is_left, results: ops.any(is_left),
        search_group,
        (state.can_improve, _store_results(state)),
    )
    return results


def start_search(inputs):
    """Makes the `BeamSearch` of `SearchInputs` and the `BeamState` that it begins with."""
    prompt, options = inputs.prompt, inputs.options
    max_lengths = inputs.max_lengths
    if max_lengths is None:
        max_lengths = ops.zeros_like(prompt[:, 0]) + (ops.shape(prompt)[1] - 2)
    min_length = inputs.min_length
    if min_length is None or not options.min_length:
        min_length = options.min_length
    limits = TokenLimits(
        inputs.end_token_id,
        min_length,
        inputs.forbidden_token_ids,
        options.no_repeat_ngram_size,
    )
    sentences = Sentences(
        row=ops.arange(ops.shape(prompt)[0]),
        prompt=prompt,
        mask=ops.cast(inputs.mask, "bool"),
        max_lengths=max_lengths,
        limit_penalty=_length_penalty(max_lengths + 1, options),
    )
    state = _initial_state(sentences, options, inputs.cache, inputs.rule_state)
    search = BeamSearch(inputs.next_token, options, limits, inputs.rules, ops.shape(prompt)[1])
    return search, state


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
        """Returns whether there is a next step, a boolean scalar."""
        return ops.logical_and(state.index < self.length, ops.any(state.can_improve))

    def draw(self, state):
        """Draws the best continuations of the live hypotheses, regardless of α.

        Returns:
            The state with the cache of this step, and the `_Candidates`.
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
        """Adds candidates to the finished hypotheses, and makes the live ones of the next step.

        Returns:
            The state of the next step.
        """
        state = _grow_finished(state, candidates, self.options)
        state = _grow_live(state, candidates, self.options, self.rules)
        return state._replace(index=state.index + 1)


class _Candidates(NamedTuple):
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
    # At most W of 2W candidates end, one per live hypothesis, so W are left to live on.
    num_kept = min(2 * num_beams, num_beams * num_candidates)
    log_probs, flat = top_k(log_probs, num_kept)  # --> (B, 2W)
    beams = flat // num_candidates
    tokens = ops.reshape(tokens, (-1, num_beams * num_candidates))
    tokens = take_in_rows(tokens, flat)
    ids = take_in_rows(state.live_ids, beams)  # --> (B, 2W, L)
    is_index = ops.equal(ops.arange(ops.shape(ids)[2]), state.index)
    ids = ops.where(is_index, ops.expand_dims(tokens, axis=2), ids)
    return _Candidates(ids, log_probs, beams, ops.equal(tokens, end_token_id))


def _grow_finished(state, candidates, options):
    """Adds the candidates that end to the finished hypotheses, and keeps the best N."""
    num_beams = options.num_beams
    # Among the best W only, as otherwise one beam would not be greedy.
    ending = ops.where(candidates.is_end, candidates.log_probs, NEVER)[:, :num_beams]
    scores = ending / _length_penalty(state.index, options)
    if options.coverage_penalty:
        bonus = state.cache.coverage_bonus(options.coverage_penalty)
        scores = scores + take_in_rows(bonus, candidates.beams[:, :num_beams])
    scores, best = top_k(
        ops.concatenate([state.finished_scores, scores], axis=1), options.num_return_sequences
    )
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
    log_probs, best = top_k(going_on, options.num_beams)
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


class Sentences(NamedTuple):
    """The fixed side of B sentences.

    Attributes:
        row: Integer tensor `(B,)`, the row of the sentence in the results of the search.
        prompt: Integer tensor `(B, L)`, the start token and forced tokens.
        mask: Boolean tensor `(B, L)`, True where the token of `prompt` is forced.
        max_lengths: Integer tensor `(B,)`, maximum number of tokens between start and end.
        limit_penalty: Float32 tensor `(B,)`, the length penalty of a hypothesis at the limit; that
            of a shorter one is not greater.
    """

    row: Any
    prompt: Any
    mask: Any
    max_lengths: Any
    limit_penalty: Any


class BeamState(NamedTuple):
    """The hypotheses of B sentences, W live and N finished each.

    Attributes:
        index: Integer scalar, the position that the next step fills. Position 0 is the start.
        live_ids: Integer tensor `(B, W, L)`, unfinished hypotheses, best first, 0 beyond `index`.
        live_log_probs: Float32 tensor `(B, W)`, their log-probabilities; -inf where there is none.
        finished_ids: Integer tensor `(B, N, L)`, hypotheses with their end token, best first.
        finished_log_probs: Float32 tensor `(B, N)`, their log-probabilities.
        finished_scores: Float32 tensor `(B, N)`, log-probabilities over length penalties, by which
            they are ordered; -inf where there is none yet.
        can_improve: Boolean tensor `(B,)`, False where the finished hypotheses are the best ones.
        sentences: The `Sentences` that are in the batch.
        results: Tuple of token ids `(B, N, L)` and log-probabilities `(B, N)` for all sentences
            that were there at the start, filled in for those that have left.
        cache: The cache of the live hypotheses, see `aiayn_keras.decoding.cached_decoding`.
        rule_state: The state of the live hypotheses in the rules of a constraint, nested tensors
            `(B, W, ...)`; an empty tuple where there is none.
    """

    index: Any
    live_ids: Any
    live_log_probs: Any
    finished_ids: Any
    finished_log_probs: Any
    finished_scores: Any
    can_improve: Any
    sentences: Any
    results: Any
    cache: Any
    rule_state: Any = ()


def _initial_state(sentences, options, cache, rule_state):
    """The state in which every sentence has one live hypothesis, its prompt."""
    num_beams, num_finished = options.num_beams, options.num_return_sequences
    prompt = ops.where(sentences.mask, sentences.prompt, ops.zeros_like(sentences.prompt))
    prompt = ops.expand_dims(prompt, axis=1)
    # Sums keep W and N known where B and L are not.
    no_ids = ops.zeros_like(prompt) + ops.zeros((num_finished, 1), dtype=prompt.dtype)
    zero = ops.zeros_like(prompt[:, 0, :1], dtype="float32")  # (B, 1)
    nothing = zero + ops.full((num_finished,), NEVER, dtype="float32")
    return BeamState(
        index=loop_counter(1),
        live_ids=prompt + ops.zeros((num_beams, 1), dtype=prompt.dtype),
        live_log_probs=zero + ops.where(ops.equal(ops.arange(num_beams), 0), 0.0, NEVER),
        finished_ids=no_ids,
        finished_log_probs=nothing,
        finished_scores=nothing,
        can_improve=ops.ones_like(sentences.row, dtype="bool"),
        sentences=sentences,
        results=(no_ids, nothing),
        cache=cache,
        rule_state=rule_state,
    )


def _store_results(state):
    """The results of all sentences, with the hypotheses found so far by those in `state`."""
    rows = ops.expand_dims(state.sentences.row, axis=1)
    token_ids, log_probs = state.results
    return (
        ops.scatter_update(token_ids, rows, state.finished_ids),
        ops.scatter_update(log_probs, rows, state.finished_log_probs),
    )


def _drop_finished(state):
    """Leaves out the sentences that are done, if they are at least an eighth of all.

    If fewer are done, copying the cache of the others is not worth it.

    Args:
        state: A `BeamState`.

    Returns:
        A `BeamState`. The results of the sentences that left are in its `results`.
    """
    num_left = ops.sum(ops.cast(state.can_improve, "int32"))
    are_few = 8 * num_left <= 7 * ops.shape(state.can_improve)[0]
    return cond_without_lowering(
        ops.logical_and(are_few, num_left > 0),
        lambda: _drop_done_sentences(state),
        lambda: state,
    )


def _drop_done_sentences(state):
    """Leaves out the sentences that are done."""
    sentences = ops.cast(ops.nonzero(state.can_improve)[0], "int32")
    return _keep(state._replace(results=_store_results(state)), sentences)


def _keep(state, sentences):
    """The state of some sentences, given by their rows: integer tensor `(M,)`."""

    def keep(x):
        return take(x, sentences)

    return state._replace(
        live_ids=keep(state.live_ids),
        live_log_probs=keep(state.live_log_probs),
        finished_ids=keep(state.finished_ids),
        finished_log_probs=keep(state.finished_log_probs),
        finished_scores=keep(state.finished_scores),
        can_improve=keep(state.can_improve),
        sentences=tree.map_structure(keep, state.sentences),
        cache=state.cache.keep(sentences),
        rule_state=tree.map_structure(keep, state.rule_state),
    )
