"""A text as its sentences, and the translations that the page shows of each."""

from typing import NamedTuple

from aiayn_keras.serving.translation_client import ServedTranslation

BATCH_SIZE = 16
"""Sentences computed together; after each batch the computation can be given up."""

MAX_HYPOTHESES = 10
"""Bound on the translations of a sentence that are shown."""


class PageSentence(NamedTuple):
    """A sentence of a text.

    Attributes:
        source: The sentence, without space around it.
        hypotheses: Tuple of `ServedTranslation`, best first.
    """

    source: str
    hypotheses: tuple[ServedTranslation, ...]


class PageTranslation(NamedTuple):
    """A text that is translated sentence by sentence.

    Attributes:
        text: The best translation, with the text's line ends, blank lines and leading spaces.
        sentences: Tuple of `PageSentence`, in order.
    """

    text: str
    sentences: tuple[PageSentence, ...]
