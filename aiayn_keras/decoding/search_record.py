"""A record of a beam search: every step of it, for several numbers of beams and exponents α."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

LIVES, FINISHES, IS_DROPPED = "lives", "finishes", "is dropped"
"""Fates of a candidate."""


class Candidate(NamedTuple):
    """A continuation of a live hypothesis by one token.

    Attributes:
        beam: Place of the hypothesis among the live ones, from 0.
        token: The wordpiece.
        log_prob: Log-probability of the whole hypothesis with this token, in nats.
        fate: `"lives"`, `"finishes"` or `"is dropped"`.
    """

    beam: int
    token: str
    log_prob: float
    fate: str


@dataclass(frozen=True)
class RecordedStep:
    """One step of a search, which writes one position of every live hypothesis.

    Attributes:
        hypotheses: Wordpieces of the live hypotheses before the step, best first; they are no more
            than the beams, and all of one length.
        log_probs: Their log-probabilities in nats.
        candidates: The best 2·W `Candidate`s, best first.
        scores: Float32 array `(W, N, H, S)`: for each hypothesis' last position and each source
            position, in each layer and head of cross-attention, `q · k` not divided by `√d_k`.
    """

    hypotheses: tuple[tuple[str, ...], ...]
    log_probs: tuple[float, ...]
    candidates: tuple[Candidate, ...]
    scores: np.ndarray


@dataclass(frozen=True)
class FinishedHypothesis:
    """A hypothesis that has ended.

    Attributes:
        step: Index of the step in which it ended.
        text: Its text.
        tokens: Its wordpieces, without the end token.
        log_prob: Its log-probability in nats, the end token included.
    """

    step: int
    text: str
    tokens: tuple[str, ...]
    log_prob: float


@dataclass(frozen=True)
class RecordedSearch:
    """A search with W beams.

    The exponent α has no part in which candidates there are and which of them live on: it ranks the
    finished hypotheses, and with them decides when the search is over.

    Attributes:
        num_beams: Number of beams W.
        steps: The `RecordedStep`s of the longest of the searches that were recorded.
        finished: Every `FinishedHypothesis` of these steps, in the order of ending.
        num_steps: Number of steps after which the search is over, a dictionary by exponent α.
        best: The index in `finished` of what the search returned, a dictionary by exponent α.
    """

    num_beams: int
    steps: tuple[RecordedStep, ...]
    finished: tuple[FinishedHypothesis, ...]
    num_steps: dict[float, int]
    best: dict[float, int]


@dataclass(frozen=True)
class SearchRecord:
    """The searches for translations of one source, step by step.

    Attributes:
        source: The text.
        source_tokens: What the encoder reads, S wordpieces with the end token.
        searches: A `RecordedSearch` for each number of beams.
        longest: Most wordpieces that a translation may have, the end token included.
        length_penalty_offset: The k of the length penalty `((k + |y|) / (k + 1))^α`, by which a
            log-probability is divided; |y| counts the end token.
        key_dim: Width d_k of a head's queries and keys.
        cache_width: Numbers that the cache keeps of one position in one layer: the keys and values
            of all heads.
    """

    source: str
    source_tokens: tuple[str, ...]
    searches: tuple[RecordedSearch, ...]
    longest: int
    length_penalty_offset: int
    key_dim: int
    cache_width: int
