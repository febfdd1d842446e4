"""Finished sentences leave the batch, so that the others go on faster."""

from keras import ops, tree

from aiayn_keras.backend import rare_cond, take


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
