"""TensorFlow, JAX and PyTorch, given one saved model, say the same."""

import numpy as np
import pytest

from tests.backend_agreement.comparison import BACKENDS, CLAIMS, PAIRS, relative_difference
from tests.backend_agreement.report import table
from tests.backend_agreement.toy import NUM_BEAMS, NUM_SENTENCES
from tests.random_parser import SOURCES, is_tree_of

claims = pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)


@pytest.mark.parametrize("pair", PAIRS, ids=" and ".join)
@claims
def test_two_backends_agree(pair, claim, answers):
    assert claim.difference(*map(answers, pair)) <= claim.limit


# === Answers worth comparing ===

each_backend = pytest.mark.parametrize("backend", BACKENDS)


@each_backend
def test_the_hypotheses_compete(backend, answers):
    """The best one is not certain, and the others are no copies of it."""
    found = answers(backend)
    assert found["texts"].shape == (NUM_SENTENCES, NUM_BEAMS)
    assert all(len({*map(tuple, row)}) == NUM_BEAMS for row in found["tokens"].tolist())
    assert np.median(found["scores"][:, 0] - found["scores"][:, 1]) < 10.0


@each_backend
def test_the_trees_compete_and_are_trees(backend, answers):
    found = answers(backend)
    assert found["tree_texts"].shape == (len(SOURCES), NUM_BEAMS)
    for source, texts in zip(SOURCES, found["tree_texts"].tolist(), strict=True):
        assert len(set(texts)) == NUM_BEAMS
        assert all(is_tree_of(text, source) for text in texts)


@each_backend
def test_every_matrix_has_a_gradient_and_is_moved_far_beyond_what_is_allowed(backend, answers):
    found = answers(backend)
    (limit,) = (claim.limit for claim in CLAIMS if claim.name == "weights after an update")
    for name in (name.removeprefix("start/") for name in found if name.startswith("start/")):
        assert np.abs(found[f"gradient/{name}"]).max() > 0
        assert relative_difference(found[f"start/{name}"], found[f"weights/{name}"]) > 30 * limit


# === The comparison itself ===


def some_answers():
    return {
        "logits": np.array([[1.0, -4.0]]),
        "texts": np.array([["one", "two"]]),
        "tokens": np.array([[["on", "e"], ["two", ""]]]),
        "scores": np.array([[-1.0, -2.0]]),
        "tree_texts": np.array([["(S XX )S"]]),
        "tree_scores": np.array([[-4.0]]),
        "pair_scores": np.array([-3.0]),
        "gradient/large": np.array([100.0]),
        "gradient/small": np.array([0.02, 0.01]),
        "weights/large": np.array([100.0]),
        "weights/small": np.array([0.02, 0.01]),
    }


@claims
def test_a_backend_agrees_with_itself(claim):
    assert claim.difference(some_answers(), some_answers()) == 0


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("logits", [[1.0, -5.0]], {"logits": 0.2}),
        ("texts", [["one", "to"]], {"n-best hypotheses": 1}),
        ("tokens", [[["o", "ne"], ["tw", "o"]]], {"n-best hypotheses": 2}),
        ("tokens", [[["o", "n", "e"], ["two", "", ""]]], {"n-best hypotheses": 2}),
        ("tree_texts", [["(NP XX )NP"]], {"n-best hypotheses": 1}),
        ("tree_scores", [[-4.25]], {"scores": 0.25}),
        ("scores", [[-1.0, -2.5]], {"scores": 0.5}),
        ("pair_scores", [-3.5], {"scores": 0.5}),
        ("gradient/small", [0.02, 0.015], {"gradients": 0.25}),
        ("weights/small", [0.02, 0.015], {"weights after an update": 0.25}),
    ],
)
def test_a_difference_is_seen(name, value, expected):
    other = {**some_answers(), name: np.array(value)}
    seen = {claim.name: claim.difference(some_answers(), other) for claim in CLAIMS}
    assert {name: size for name, size in seen.items() if size} == pytest.approx(expected)


@pytest.mark.parametrize(
    "name", ["logits", "scores", "tree_scores", "pair_scores", "gradient/small", "weights/small"]
)
def test_nan_is_never_agreement(name):
    other = some_answers()
    other[name].flat[0] = np.nan
    agree = [claim.difference(some_answers(), other) <= claim.limit for claim in CLAIMS]
    assert agree.count(False) == 1


def test_the_report_has_a_row_for_each_pair():
    lines = table({backend: some_answers() for backend in BACKENDS}).splitlines()
    assert [line.split(" | ")[0] for line in lines[3:]] == [f"| {a} and {b}" for a, b in PAIRS]
    assert lines[3].endswith("| 0.0e+00 | 0 of 3 | 0.0e+00 | 0.0e+00 | 0.0e+00 |")
