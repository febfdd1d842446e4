import pytest

from tests.fidelity.registry import COMPARISONS


@pytest.mark.parametrize("comparison", COMPARISONS, ids=lambda comparison: comparison.reference)
def test_outputs_and_gradients_are_those_of_the_reference(comparison):
    if comparison.needs is not None:
        pytest.importorskip(comparison.needs)
    assert comparison.run().beyond(comparison.bound) == {}
