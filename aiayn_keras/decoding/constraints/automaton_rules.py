"""The rules of a `TokenAutomaton` as tables of tensors."""

import numpy as np
from keras import ops

from aiayn_keras.backend import take

MOST_ENTRIES = 1 << 24
"""Bound on states times tokens: two tables of 64 MB."""

NEVER = np.iinfo("int32").max


class AutomatonRules:
    """`Rules` whose state is the automaton's, an integer tensor `(B, W)`.

    Args:
        automaton: A `TokenAutomaton`.
        vocabulary_size: Number of tokens V.
        end_token_id: The token that ends a hypothesis in a final state.
        special_token_ids: Tokens that no text has, the end token among them.

    Raises:
        ValueError: See `TokenAutomaton.rules`.
    """

    def __init__(self, automaton, vocabulary_size, end_token_id, special_token_ids):
        transitions = np.array(automaton.transitions, "int64").reshape(-1, 3)
        states, tokens, following = transitions.T
        _check_tokens(tokens, vocabulary_size, special_token_ids)
        num_states = 1 + max(transitions[:, ::2].max(initial=0), *automaton.final)
        if num_states * vocabulary_size > MOST_ENTRIES:
            raise ValueError(
                f"`constraint`: {num_states:,} states of the automaton times {vocabulary_size:,} "
                f"tokens are more than the {MOST_ENTRIES:,} entries of a table."
            )
        # Tokens that must follow at least, this one counted, and the state behind it.
        needed = np.full((num_states, vocabulary_size), NEVER, "int32")
        next_states = np.zeros_like(needed)
        distances = np.full(num_states, NEVER - 1, "int32")
        for state, distance in automaton.distances().items():
            distances[state] = distance
        needed[states, tokens] = distances[following] + 1
        needed[list(automaton.final), end_token_id] = 0
        next_states[states, tokens] = following
        self.needed = ops.convert_to_tensor(needed)
        self.next_states = ops.convert_to_tensor(next_states.reshape(-1))
        self.vocabulary_size = vocabulary_size

    def initial_state(self, token_ids, padding_mask, num_beams):
        no_state = ops.zeros_like(token_ids[:, :1], dtype="int32")
        return no_state + ops.zeros((num_beams,), dtype="int32")

    def allowed(self, state, room):
        room = ops.reshape(room, (-1, 1, 1))
        return ops.less_equal(take(self.needed, state), room)

    def advance(self, state, token_ids):
        return take(self.next_states, state * self.vocabulary_size + token_ids)


def _check_tokens(tokens, vocabulary_size, special_token_ids):
    wrong = tokens[(tokens >= vocabulary_size) | np.isin(tokens, special_token_ids)]
    if wrong.size:
        raise ValueError(
            "`constraint`: the tokens of an automaton must be wordpieces of the vocabulary of "
            f"{vocabulary_size} tokens, {max(special_token_ids) + 1} or greater. "
            f"Received: {wrong[0]}."
        )
