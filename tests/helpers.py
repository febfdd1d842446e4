"""Helpers of many tests: dims that are all different, and one way to compare numbers."""

import keras
import numpy as np
import pytest

B, S, T, H, K = 2, 5, 7, 3, 4
"""Batch, source length, target length, heads, key_dim: no swapped axis goes unseen."""

D = H * K
"""hidden_dim."""


def assert_close(actual, expected, rtol=1e-5, atol=1e-6):
    """Fail unless both have one shape and every number agrees.

    Tensors of any backend, arrays, numbers and (nested) lists are taken; NaN equals nothing.
    """
    actual, expected = (_as_float64(value) for value in (actual, expected))
    if actual.shape != expected.shape:
        raise AssertionError(f"Shapes differ: actual {actual.shape}, expected {expected.shape}.")
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=atol, equal_nan=False)


def _as_float64(value):
    return np.asarray(keras.ops.convert_to_numpy(value)).astype("float64")


def slow_but(quick, cases):
    """Parameters of a test: a few always run, the rest, which exercise the same code, are slow.

    Args:
        quick: Names of the cases that always run.
        cases: All names, or a dictionary from names to values.
    """
    assert set(quick) <= set(cases), f"unknown cases: {sorted(set(quick) - set(cases))}"
    return [
        pytest.param(
            cases[name] if isinstance(cases, dict) else name,
            id=name,
            marks=[] if name in quick else pytest.mark.slow,
        )
        for name in cases
    ]
