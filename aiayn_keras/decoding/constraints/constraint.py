"""The two protocols of a constraint, its options and its rules for one vocabulary, as tables."""

import dataclasses
import itertools
import operator
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from keras import ops

from aiayn_keras.backend import take

_MAX_ENTRIES = 1 << 24
"""Bound on states times tokens: two tables of 64 MB."""
NEVER = np.iinfo("int32").max
MAX_TRANSITIONS = 1 << 20
MAX_NUMBER = (1 << 31) - 1
"""Maximum of state numbers and token ids: that of int32."""


class Constraint:
    """Base of the options of a constraint; a subclass is a frozen dataclass of hashable fields.

    Equal constraints share a compiled search.

    Attributes:
        excludes: Names of the `SearchOptions` that must keep their defaults if it is given.
    """

    excludes: ClassVar[tuple[str, ...]] = ()

    def rules(self, tokenizer):
        """Makes the `Rules` for a `TransformerTokenizer`, whenever a search is compiled."""
        raise NotImplementedError


class Rules(Protocol):
    """The rules of a constraint as tensors, in operations of `keras.ops` with fixed shapes.

    Their state is nested tensors `(B, W, ...)`, one for every live hypothesis; the search reorders
    it with the hypotheses. The state of a hypothesis that does not exist may be anything.
    """

    def initial_state(self, token_ids, padding_mask, num_beams):
        """Makes the state before the first token.

        Args:
            token_ids: Integer tensor `(B, S)`, the sources.
            padding_mask: Integer tensor `(B, S)`, 0 on padding.
            num_beams: Number of hypotheses W.
        """

    def allowed(self, state, room) -> Any:
        """Finds the tokens that may follow.

        These are only tokens after which the hypothesis can still end within its limit, so that no
        hypothesis gets stuck.

        Args:
            state: The state.
            room: Integer tensor `(B,)`, maximum number of tokens that may follow before the end.

        Returns:
            Boolean tensor `(B, W, V)`.
        """

    def advance(self, state, token_ids):
        """Makes the state after one more token of every hypothesis, integer tensor `(B, W)`."""


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
        if num_states * vocabulary_size > _MAX_ENTRIES:
            raise ValueError(
                f"`constraint`: {num_states:,} states of the automaton times {vocabulary_size:,} "
                f"tokens are more than the {_MAX_ENTRIES:,} entries of a table."
            )
        # Minimum number of tokens to follow, this one included, and the state after it.
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


@dataclass(frozen=True)
class TokenAutomaton(Constraint):
    """Translations are the token sequences that a deterministic finite automaton accepts.

    Attributes:
        transitions: Tuple of `(state, token id, next state)`. States are numbers from 0, where
            every translation begins.
        final: Tuple of the states in which a translation may end.

    Raises:
        ValueError: For transitions that are not such triples or lead from one state with one token
            to two states, or if no final state can be reached.

    Example:
        >>> TokenAutomaton.of_vocabulary([7, 5])
        TokenAutomaton(transitions=((0, 5, 0), (0, 7, 0)), final=(0,))
    """

    transitions: tuple[tuple[int, int, int], ...]
    final: tuple[int, ...]
    kind: str = dataclasses.field(default="automaton", init=False, repr=False)

    def __post_init__(self):
        object.__setattr__(self, "transitions", _triples(self.transitions))
        object.__setattr__(self, "final", _numbers("final", self.final))
        if 0 not in self.distances():
            raise ValueError(
                "`transitions` must lead from state 0 to a state that is `final`. Received: "
                f"transitions={self.transitions!r:.60}, final={self.final!r:.60}."
            )

    @classmethod
    def of_vocabulary(cls, token_ids):
        """Makes the automaton of all sequences of some token ids: a forced vocabulary."""
        return cls(tuple((0, token, 0) for token in sorted(set(token_ids))), (0,))

    @classmethod
    def of_sequences(cls, sequences):
        """Makes the automaton of a closed list of sequences of token ids."""
        states, final = {(): 0}, set()
        for sequence in map(tuple, sequences):
            for end in range(len(sequence)):
                states.setdefault(sequence[: end + 1], len(states))
            final.add(states[sequence])
        transitions = ((states[s[:-1]], s[-1], state) for s, state in states.items() if s)
        return cls(tuple(transitions), tuple(sorted(final)))

    def distances(self):
        """Minimum numbers of tokens to the end, by state; states that lead nowhere are left out."""
        before = {}
        for state, _, following in self.transitions:
            before.setdefault(following, []).append(state)
        distances, queue = dict.fromkeys(self.final, 0), list(self.final)
        for following in queue:  # which grows: breadth first
            for state in before.get(following, ()):
                if state not in distances:
                    distances[state] = distances[following] + 1
                    queue.append(state)
        return distances

    def rules(self, tokenizer):
        """Makes the `AutomatonRules` for a vocabulary.

        Raises:
            ValueError: For a token id that the vocabulary does not have or that is special, or
                tables that are too large.
        """
        return AutomatonRules(
            self, tokenizer.vocabulary_size(), tokenizer.end_token_id, tokenizer.special_token_ids
        )


def _triples(transitions):
    """The transitions as sorted triples of numbers."""
    try:
        triples = sorted({_numbers("transitions", triple) for triple in transitions})
    except TypeError:
        triples = [()]
    if any(len(triple) != 3 for triple in triples) or len(triples) > MAX_TRANSITIONS:
        raise ValueError(
            "`transitions` must be a list of at most "
            f"{MAX_TRANSITIONS:,} triples: state, token id, next state. "
            f"Received: transitions={transitions!r:.60}."
        )
    for before, after in itertools.pairwise(triples):
        if before[:2] == after[:2]:
            raise ValueError(
                "`transitions` must lead from a state with a token to one state. "
                f"Received: {before} and {after}."
            )
    return tuple(triples)


def _numbers(name, values):
    """A tuple of integers from 0 to `MAX_NUMBER`."""
    try:
        numbers = tuple(map(operator.index, values))
    except TypeError:
        numbers = (-1,)
    if not all(0 <= number <= MAX_NUMBER for number in numbers):
        raise ValueError(
            f"`{name}` must hold integers from 0 to {MAX_NUMBER:,}. Received: {values!r:.60}."
        )
    return numbers
