import keras
import pytest

from tests.fidelity.against_torch_models import BASE_SIZE
from tests.fidelity.registry import COMPARISONS


@pytest.mark.parametrize("comparison", COMPARISONS, ids=lambda comparison: comparison.reference)
def test_outputs_and_gradients_are_those_of_the_reference(comparison):
    if comparison.reference == BASE_SIZE and keras.config.backend() == "jax":
        pytest.skip("The small model with larger numbers, which JAX compiles for most of a minute.")
    if comparison.needs is not None:
        pytest.importorskip(comparison.needs)
    assert comparison.run().beyond(comparison.bound) == {}
