"""Every comparison there is, for the tests and for the report."""

from tests.fidelity import (
    against_keras,
    against_marian,
    against_numpy,
    against_torch_layers,
    against_torch_models,
)

COMPARISONS = [
    *against_numpy.comparisons(),
    *against_keras.comparisons(),
    *against_torch_layers.comparisons(),
    *against_torch_models.comparisons(),
    *against_marian.comparisons(),
]
