"""A sample of `tests.claims.data_kinds`: ways of giving data that no other test has."""

import keras
import pytest

from tests.claims.data_kinds import expected_result, make_ways, verdict

WAYS = {(name, weighted): way for way in make_ways() for name, _, weighted, _ in [way]}
SAMPLE = [
    ("text: bytes", True),
    ("text: DataLoader of rows of pairs", True),
    ("text: Grain of pairs", True),
    ("ids: Grain", False),
]


@pytest.mark.parametrize("key", SAMPLE, ids=[name for name, _ in SAMPLE])
def test_an_evaluation_is_that_of_keras(key):
    if "DataLoader" in key[0]:
        pytest.importorskip("torch")
    if "Grain" in key[0]:
        pytest.importorskip("grain")
    keras.utils.set_random_seed(1)
    assert verdict("evaluate", WAYS[key], expected_result("evaluate", key[1])) == (True, "equal")
