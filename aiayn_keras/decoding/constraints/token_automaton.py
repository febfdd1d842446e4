"""Finite automata over token ids: a vocabulary that is forced, a closed list of answers."""

import dataclasses
import itertools
import operator
from dataclasses import dataclass

from aiayn_keras.decoding.constraints.constraint import Constraint

MOST_TRANSITIONS = 1 << 20
GREATEST_NUMBER = (1 << 31) - 1
"""Greatest number of a state, and greatest token id: an int32."""


@dataclass(frozen=True)
class TokenAutomaton(Constraint):
    """Translations are the token sequences that a deterministic finite automaton accepts.

    Attributes:
        transitions: Tuple of `(state, token id, next state)`. States are numbers from 0, where
            every translation begins.
        final: Tuple of the states in which a translation may end.

    Raises:
        ValueError: For transitions that are no such triples or lead from one state with one token
            to two, or if no final state can be reached.

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
        """Least numbers of tokens to the end, by state; a state that leads nowhere is not there."""
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
        from aiayn_keras.decoding.constraints.automaton_rules import AutomatonRules

        return AutomatonRules(
            self, tokenizer.vocabulary_size(), tokenizer.end_token_id, tokenizer.special_token_ids
        )


def _triples(transitions):
    """The transitions as sorted triples of numbers."""
    try:
        triples = sorted({_numbers("transitions", triple) for triple in transitions})
    except TypeError:
        triples = [()]
    if any(len(triple) != 3 for triple in triples) or len(triples) > MOST_TRANSITIONS:
        raise ValueError(
            "`transitions` must be a list of at most "
            f"{MOST_TRANSITIONS:,} triples: state, token id, next state. "
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
    """A tuple of integers from 0 to `GREATEST_NUMBER`."""
    try:
        numbers = tuple(map(operator.index, values))
    except TypeError:
        numbers = (-1,)
    if not all(0 <= number <= GREATEST_NUMBER for number in numbers):
        raise ValueError(
            f"`{name}` must hold integers from 0 to {GREATEST_NUMBER:,}. Received: {values!r:.60}."
        )
    return numbers
