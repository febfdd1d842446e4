"""The installed backends' answers about one model, and how far two of them are apart."""

import importlib.util
import itertools
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

BACKENDS = ("tensorflow", "jax", "torch")
PAIRS = tuple(itertools.combinations(BACKENDS, 2))
ROOT = Path(__file__).parents[2]


def is_installed(backend):
    return importlib.util.find_spec(backend) is not None


def ask(backend, folder):
    """The answers of `tests.backend_agreement.worker` on a backend, in a process of its own."""
    path = Path(folder) / f"{backend}.npz"
    ran = subprocess.run(
        [sys.executable, "-m", "tests.backend_agreement.worker", str(folder), str(path)],
        env={**os.environ, "KERAS_BACKEND": backend},
        cwd=ROOT,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    if ran.returncode != 0:
        raise RuntimeError(f"{backend} gave no answers:\n{ran.stderr}")
    return dict(np.load(path))


# === How far two backends' answers are apart; NaN anywhere gives NaN ===


def logit_difference(a, b):
    return relative_difference(a["logits"], b["logits"])


def differing_hypotheses(a, b):
    """Number of pairs of sentence and rank whose text, tokens or tree are not the same."""
    differing_trees = int((a["tree_texts"] != b["tree_texts"]).sum())
    if a["tokens"].shape != b["tokens"].shape:
        return a["texts"].size + differing_trees
    differ = (a["tokens"] != b["tokens"]).any(axis=2) | (a["texts"] != b["texts"])
    return int(differ.sum()) + differing_trees


def number_of_hypotheses(answers):
    """Number of hypotheses that are compared, trees among them."""
    return answers["texts"].size + answers["tree_texts"].size


def score_difference(a, b):
    """Of the hypotheses and trees found, and of given translations scored, in nats."""
    names = ("scores", "tree_scores", "pair_scores")
    return float(np.max([np.abs(a[name] - b[name]).max() for name in names]))


def gradient_difference(a, b):
    return _largest_of_matrices(a, b, "gradient/")


def weight_difference(a, b):
    return _largest_of_matrices(a, b, "weights/")


def _largest_of_matrices(a, b, prefix):
    names = sorted(name for name in {*a, *b} if name.startswith(prefix))
    return float(np.max([relative_difference(a[name], b[name]) for name in names]))


def relative_difference(a, b):
    """The largest difference of two arrays' numbers as a share of their largest number."""
    largest = np.max(np.abs([a, b]))
    return float(np.max(np.abs(a - b)) / largest) if largest else 0.0


@dataclass(frozen=True)
class Claim:
    """Something that two backends must agree on.

    Attributes:
        name: A short name.
        unit: What the difference is counted in.
        difference: Function of two backends' answers.
        limit: The greatest difference allowed.
    """

    name: str
    unit: str
    difference: Callable
    limit: float


CLAIMS = (
    Claim("logits", "of the largest logit", logit_difference, 1e-4),
    Claim("n-best hypotheses", "that differ in text or tokens", differing_hypotheses, 0),
    Claim("scores", "nats", score_difference, 1e-4),
    Claim("gradients", "of the matrix's largest gradient", gradient_difference, 1e-4),
    Claim("weights after an update", "of the matrix's largest weight", weight_difference, 1e-5),
)
