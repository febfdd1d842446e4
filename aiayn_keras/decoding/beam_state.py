"""The state of a beam search: live beams, and the finished hypotheses that are kept."""

from typing import Any, NamedTuple

from keras import ops, tree

from aiayn_keras.backend import rare_cond, take

NEVER = float("-inf")


class Sentences(NamedTuple):
    """The fixed side of B sentences.

    Attributes:
        row: Integer tensor `(B,)`, the row of the sentence in the results of the search.
        prompt: Integer tensor `(B, L)`, the start token and forced tokens.
        mask: Boolean tensor `(B, L)`, True where the token of `prompt` is forced.
        max_lengths: Integer tensor `(B,)`, most tokens between start and end.
        limit_penalty: Float32 tensor `(B,)`, the length penalty of a hypothesis at the limit; no
            shorter one's is greater.
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
        cache: The cache of the live hypotheses, see `aiayn_keras.decoding.decoder_step`.
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


def initial_state(sentences, num_beams, num_finished, cache, rule_state=()):
    """One live hypothesis for every sentence: its prompt.

    Args:
        sentences: The `Sentences`.
        num_beams: Number of live hypotheses W.
        num_finished: Number of finished hypotheses N.
        cache: The cache of W hypotheses each.
        rule_state: Their state in the rules of a constraint, if there is one.
    """
    prompt = ops.where(sentences.mask, sentences.prompt, ops.zeros_like(sentences.prompt))
    prompt = ops.expand_dims(prompt, axis=1)
    # Sums keep W and N known where B and L are not.
    no_ids = ops.zeros_like(prompt) + ops.zeros((num_finished, 1), dtype=prompt.dtype)
    zero = ops.zeros_like(prompt[:, 0, :1], dtype="float32")  # (B, 1)
    nothing = zero + ops.full((num_finished,), NEVER, dtype="float32")
    return BeamState(
        index=ops.convert_to_tensor(1, dtype="int32"),
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


def gather_rows(x, beams):
    """Picks beams of a tensor whose first axis is B·W: indices `(B, W)` give `(B·W, ...)`."""
    first_rows = ops.arange(ops.shape(beams)[0], dtype=beams.dtype) * beams.shape[1]
    return take(x, ops.reshape(ops.expand_dims(first_rows, axis=1) + beams, (-1,)))


def store_results(state):
    """The results of all sentences, with the hypotheses found so far by those in `state`."""
    rows = ops.expand_dims(state.sentences.row, axis=1)
    token_ids, log_probs = state.results
    return (
        ops.scatter_update(token_ids, rows, state.finished_ids),
        ops.scatter_update(log_probs, rows, state.finished_log_probs),
    )


def drop_finished(state):
    """Leaves out the sentences that are done, if they are at least an eighth of all.

    Fewer are not worth the copy of everybody's cache.

    Args:
        state: A `BeamState`.

    Returns:
        A `BeamState`. The results of the sentences that left are in its `results`.
    """
    num_left = ops.sum(ops.cast(state.can_improve, "int32"))
    are_few = 8 * num_left <= 7 * ops.shape(state.can_improve)[0]
    return rare_cond(
        ops.logical_and(are_few, num_left > 0),
        lambda: drop_now(state),
        lambda: state,
    )


def drop_now(state):
    """Leaves out the sentences that are done."""
    results = store_results(state)
    sentences = ops.cast(ops.nonzero(state.can_improve)[0], "int32")

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
        results=results,
        cache=state.cache.keep(sentences),
        rule_state=tree.map_structure(keep, state.rule_state),
    )
