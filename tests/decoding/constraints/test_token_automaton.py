import itertools
import re

import hypothesis
import keras
import numpy as np
import pytest
from hypothesis import strategies as st

from aiayn_keras.decoding.constraints import TokenAutomaton
from aiayn_keras.decoding.constraints.constraint import AutomatonRules
from tests.decoding.random_model import (
    END,
    PAD,
    START,
    RandomModel,
    V,
    assert_nothing,
    beams,
    same_hypotheses,
)

SPECIAL = (PAD, START, END)
WORDS = range(3, V)
NUM_BEAMS = 3**4
MAX_LENGTH = 4


def search(automaton, num_beams=NUM_BEAMS, seed=31, **options):
    """A model, and what a search finds; by default it is wide enough to find everything."""
    model = RandomModel(seed, num_sentences=2)
    rules = AutomatonRules(automaton, V, END, SPECIAL)
    state = rules.initial_state(np.zeros((2, 1), "int32"), None, num_beams)
    options = beams(num_beams, 0.0, **options)
    return model, model.search(options, MAX_LENGTH + 2, rules=rules, rule_state=state)


def assert_found(model, found, accepted):
    """All sequences of words that are accepted, best first, and nothing else."""
    sequences = {
        words
        for length in range(MAX_LENGTH + 1)
        for words in itertools.product(WORDS, repeat=length)
        if accepted(words)
    }
    for b, (ids, log_probs) in enumerate(zip(*found, strict=True)):
        hypotheses = [(START, *words, END) for words in sequences]
        expected = sorted(((p := model.score(b, ids)), p, ids) for ids in hypotheses)[::-1]
        same_hypotheses(ids, log_probs, expected)
        assert_nothing(ids[len(expected) :], log_probs[len(expected) :])
    return len(sequences)


def test_a_search_finds_what_a_regular_expression_matches():
    """Pairs `34` or a `5`, repeated, and a 4 behind: what has begun is ended within the limit."""
    automaton = TokenAutomaton([(0, 3, 1), (1, 4, 0), (0, 5, 0), (0, 4, 2)], [2])
    model, found = search(automaton)
    pattern = re.compile("(34|5)*4")
    num_found = assert_found(model, found, lambda w: pattern.fullmatch("".join(map(str, w))))
    assert num_found == 7


states = st.integers(0, 3)


@hypothesis.settings(
    max_examples=8 if keras.config.backend() == "jax" else 30,
)
@hypothesis.given(
    table=st.dictionaries(st.tuples(states, st.sampled_from(WORDS)), states, max_size=9),
    final=st.sets(states, min_size=1),
)
def test_a_search_finds_what_an_automaton_accepts(table, final):
    """States that lead nowhere are avoided."""

    def accepted(words):
        state = 0
        for word in words:
            state = table.get((state, word))
        return state in final

    transitions = [(*key, following) for key, following in table.items()]
    # Of four states, the way to a final one has three steps at most.
    ways = (itertools.product(WORDS, repeat=length) for length in range(4))
    if any(map(accepted, itertools.chain.from_iterable(ways))):
        assert_found(*search(TokenAutomaton(transitions, sorted(final))), accepted)
    else:
        with pytest.raises(ValueError, match="must lead from state 0"):
            TokenAutomaton(transitions, sorted(final))


def test_a_forced_vocabulary_allows_all_its_sequences_and_other_limits():
    automaton = TokenAutomaton.of_vocabulary([5, 3, 5])
    model, found = search(automaton)
    assert assert_found(model, found, lambda words: 4 not in words) == 31
    model, found = search(automaton, min_length=2, no_repeat_ngram_size=1)
    assert assert_found(model, found, lambda words: set(words) == {3, 5} and len(words) == 2) == 2


def test_of_a_closed_list_what_is_too_long_is_not_begun():
    sequences = [(3, 4, 5), (3, 4), (5,), (4, 4, 4, 4, 4)]
    model, found = search(TokenAutomaton.of_sequences(sequences))
    assert assert_found(model, found, lambda words: words in sequences) == 3


@pytest.mark.parametrize("seed", range(4))
def test_a_single_beam_never_takes_a_way_that_leads_nowhere(seed):
    """From 0 go 3, to the end; 4, whose sequence is too long by one; 5, which never ends."""
    short, long, endless = (0, 3, 1), [(0, 4, 2), (2, 3, 3), (3, 3, 4), (4, 3, 5), (5, 3, 1)], 6
    automaton = TokenAutomaton([short, *long, (0, 5, endless), (endless, 3, endless)], [1])
    _, (ids, log_probs) = search(automaton, num_beams=1, seed=seed)
    assert np.isfinite(log_probs).all()
    np.testing.assert_array_equal(ids[:, 0, :3], [[START, 3, END]] * 2)


@pytest.mark.parametrize(
    ("transitions", "final", "message"),
    [
        ([(0, 3)], [0], "`transitions` must be a list of .* triples"),
        (3, [0], "`transitions` must be a list of .* triples.*transitions=3"),
        ([3], [0], "`transitions` must hold integers from 0.*Received: 3"),
        ([(0, -3, 0)], [0], "`transitions` must hold integers from 0"),
        ([(0, 1 << 31, 0)], [0], "`transitions` must hold integers from 0 to 2,147,483,647"),
        ([(0, 3.0, 0)], [0], "`transitions` must hold integers from 0"),
        ([(0, 3, 0), (0, 3, 1)], [0], r"to one state. Received: \(0, 3, 0\) and \(0, 3, 1\)"),
        ([(0, 3, 1)], 1, "`final` must hold integers from 0 to .* Received: 1"),
        ([(1, 3, 2)], [2], "must lead from state 0 to a state that is `final`"),
        ([], [], "must lead from state 0 to a state that is `final`"),
    ],
)
def test_what_is_no_automaton_is_refused(transitions, final, message):
    with pytest.raises(ValueError, match=message):
        TokenAutomaton(transitions, final)


@pytest.mark.parametrize("token", [END, PAD, V])
def test_tokens_must_be_wordpieces_of_the_vocabulary(token):
    automaton = TokenAutomaton.of_vocabulary([3, token])
    with pytest.raises(ValueError, match=f"wordpieces of the vocabulary of 6.*Received: {token}"):
        AutomatonRules(automaton, V, END, SPECIAL)


def test_a_table_that_is_too_large_is_refused():
    automaton = TokenAutomaton([(0, 5, 600), (600, 5, 1)], [1])
    with pytest.raises(ValueError, match="601 states of the automaton times 32,000 tokens"):
        AutomatonRules(automaton, 32_000, END, SPECIAL)
