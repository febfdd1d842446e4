"""A text as its sentences, and the translations that the page shows of each."""

from typing import NamedTuple

BATCH_SIZE = 16
"""Sentences computed together; after each batch the computation can be given up."""

MOST_HYPOTHESES = 10
"""Bound on the translations of a sentence that are shown."""


class PageHypothesis(NamedTuple):
    """One translation of a sentence.

    Attributes:
        text: The translation.
        score: Its log-probability in nats.
        normalized_score: The score over the length penalty, by which hypotheses are ranked.
    """

    text: str
    score: float
    normalized_score: float


class PageSentence(NamedTuple):
    """A sentence of a text.

    Attributes:
        source: The sentence, without space around it.
        hypotheses: Tuple of `PageHypothesis`, best first.
    """

    source: str
    hypotheses: tuple[PageHypothesis, ...]


class PageTranslation(NamedTuple):
    """A text that is translated sentence by sentence.

    Attributes:
        text: The best translation, with the text's line ends, blank lines and leading spaces.
        sentences: Tuple of `PageSentence`, in order.
    """

    text: str
    sentences: tuple[PageSentence, ...]
