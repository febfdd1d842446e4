import dataclasses
import json

import pytest

from aiayn_keras.decoding.constraints import BalancedBrackets, TokenAutomaton, as_constraint
from aiayn_keras.decoding.search_options import SearchOptions

CONSTRAINTS = [
    BalancedBrackets(),
    BalancedBrackets(words=None, max_depth=9),
    TokenAutomaton.of_sequences([(4, 5), (6,)]),
]


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=str)
def test_a_constraint_is_what_its_json_was_made_of(constraint):
    options = SearchOptions(constraint=constraint)
    written = json.loads(json.dumps(dataclasses.asdict(options)))
    assert SearchOptions(**written) == options
    assert hash(SearchOptions(**written)) == hash(options)
    assert as_constraint(written["constraint"]) == constraint


def test_a_name_is_a_constraint_with_its_defaults():
    assert SearchOptions(constraint="brackets").constraint == BalancedBrackets("source", 64)


def test_other_constraints_are_other_options():
    assert len({SearchOptions(constraint=constraint) for constraint in [None, *CONSTRAINTS]}) == 4


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("trees", "`constraint` must be one of brackets, automaton, .*'trees'"),
        (3, "`constraint` must be one of"),
        ({}, "`constraint` must be one of"),
        ({"kind": ["brackets"]}, "`constraint` must be one of"),
        (BalancedBrackets, "`constraint` must be one of"),
        (
            {"kind": "brackets", "depth": 3},
            "unknown field 'depth'; its fields are `words` and `max_depth`",
        ),
        ({"kind": "brackets", "max_depth": 0}, "kind brackets: `max_depth` must be at least 1"),
        ({"kind": "brackets", "max_depth": "3"}, "kind brackets: `max_depth` must be an integer"),
        ({"kind": "brackets", "words": "target"}, '`words` must be "source" or None.*target'),
        ("automaton", "kind automaton: `transitions` and `final` must be given.*json"),
        ({"kind": "automaton", "transitions": []}, "kind automaton: `final` must be given"),
    ],
)
def test_what_is_no_constraint_is_refused(value, message):
    with pytest.raises(ValueError, match=message):
        SearchOptions(constraint=value)


@pytest.mark.parametrize("option", [{"min_length": 2}, {"no_repeat_ngram_size": 3}])
def test_options_that_trees_do_not_go_with_are_refused(option):
    (name,) = option
    message = f"`{name}` and `constraint` cannot be combined.*{name}={option[name]}, constraint=Bal"
    with pytest.raises(ValueError, match=message):
        SearchOptions(constraint="brackets", **option)
    SearchOptions(constraint=TokenAutomaton.of_vocabulary([4]), **option)
