"""The mistakes of `tests.mutants` fit the code; `python -m tests.mutants` makes them."""

import ast

import pytest

from tests.mutants import PACKAGE, ROOT, DriftError, mutate
from tests.mutations import MUTATIONS
from tests.mutations.mutation import Mutation


def test_every_mistake_can_be_made():
    for mutation in MUTATIONS:
        source = (ROOT / PACKAGE / mutation.module).read_text("utf-8")
        mutated = mutate(source, mutation)
        assert mutated != source
        ast.parse(mutated)


def test_the_tests_that_must_notice_are_there():
    tests = {test for mutation in MUTATIONS for test in mutation.tests}
    assert all(mutation.tests for mutation in MUTATIONS)
    assert [test for test in tests if not (ROOT / "tests" / test).is_file()] == []


def test_no_mistake_is_made_twice():
    assert len({(m.module, m.old, m.new) for m in MUTATIONS}) == len(MUTATIONS)


@pytest.mark.parametrize(("source", "count"), [("x = 2", 0), ("x = 1\ny = x = 1", 2)])
def test_a_mistake_that_no_longer_fits_is_named(source, count):
    mutation = Mutation("a.py", "too much", "x = 1", "x = 3", ("test_a.py",))
    with pytest.raises(DriftError, match=rf"a\.py, 'too much'.*occurs {count} times: 'x = 1'"):
        mutate(source, mutation)
