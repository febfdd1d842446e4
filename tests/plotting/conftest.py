"""Attention maps whose numbers are all different, and a browser."""

from types import SimpleNamespace

import numpy as np
import pytest

from tests.browser import headless_browser
from tests.helpers import H, S, T

N = 2


@pytest.fixture
def make_maps():
    """Returns a function from tokens to random attention maps of two layers and three heads."""

    def make(source_tokens, target_tokens):
        random = np.random.default_rng(0)

        def weights(rows, columns, visible=1.0):
            scores = random.random((N, H, rows, columns)) ** 4 * visible
            return (scores / scores.sum(axis=-1, keepdims=True)).astype("float32")

        source, target = len(source_tokens), len(target_tokens)
        return SimpleNamespace(
            source_tokens=tuple(source_tokens),
            target_tokens=tuple(target_tokens),
            encoder=weights(source, source),
            decoder=weights(target, target, visible=np.tri(target)),
            cross=weights(target, source),
        )

    return make


@pytest.fixture
def maps(make_maps):
    return make_maps([f"▁source{i}" for i in range(S)], [f"▁target{i}" for i in range(T)])


@pytest.fixture(scope="session")
def browser():
    with headless_browser() as browser:
        yield browser
