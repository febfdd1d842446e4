"""Comparisons with other implementations, and the measure of a difference."""

import dataclasses
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

SEED = 20170612
"""Comparisons draw from generators of their own, so every backend is given the same numbers."""


class Run(NamedTuple):
    """One implementation's numbers: a scalar, what it was made of, its gradients by name."""

    loss: np.ndarray
    output: np.ndarray
    gradients: dict[str, np.ndarray]


@dataclasses.dataclass(frozen=True)
class Differences:
    """Largest relative difference of every tensor of the forward and of the backward pass."""

    forward: dict[str, float]
    gradient: dict[str, float]

    def beyond(self, bound):
        """The tensors that differ by more than `bound`, or by NaN."""
        both = {**self.forward, **{f"d/d {name}": d for name, d in self.gradient.items()}}
        return {name: difference for name, difference in both.items() if not difference <= bound}


@dataclasses.dataclass(frozen=True)
class Comparison:
    """A reference and how far from it we may be.

    Args:
        reference: Name of the implementation, and of the variant of it.
        bound: Largest relative difference allowed.
        run: Function that returns `Differences`.
        needs: Module that must be installed.
    """

    reference: str
    bound: float
    run: Callable[[], Differences]
    needs: str | None = None


def relative_difference(actual, expected, scale=None):
    """`max|actual - expected| / max|expected|`, or over `max|scale|` where that is given."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    if actual.shape != expected.shape:
        raise AssertionError(f"Shapes differ: actual {actual.shape}, expected {expected.shape}.")
    largest = np.abs(expected if scale is None else scale).max()
    if largest == 0.0:
        raise AssertionError("The reference is 0 everywhere: nothing would be compared.")
    return float(np.abs(actual - expected).max() / largest)


def differences(ours, theirs, at=...):
    """Compares two runs.

    Args:
        ours: A `Run`.
        theirs: A `Run` with gradients of the same names.
        at: Boolean array, True where an output counts. What a position of padding becomes is
            nobody's business, and every implementation makes something else of it.
    """
    if ours.gradients.keys() != theirs.gradients.keys():
        raise AssertionError(f"Names differ: {ours.gradients.keys() ^ theirs.gradients.keys()}.")
    gradient = {}
    for name, expected in theirs.gradients.items():
        # A key's bias adds the same to all scores of a query, so its gradient is 0 but for
        # rounding; the kernel's is a sum of the same terms and says what is small.
        scale = theirs.gradients[name.replace("key/bias", "key/kernel")]
        gradient[name] = relative_difference(ours.gradients[name], expected, scale)
    forward = {
        "loss": relative_difference(ours.loss, theirs.loss),
        "output": relative_difference(ours.output[at], theirs.output[at]),
    }
    return Differences(forward, gradient)
