"""A text as sentences: the one place that decides what is translated alone."""

import itertools
import re
from typing import NamedTuple

from aiayn_keras.decoding.sentences.splitting import can_split, split_strings

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


def translate_text(text, limit, proto, translate):
    """Translates the sentences of a text.

    Args:
        text: A string.
        limit: Greatest number of wordpieces of a sentence; a longer one is cut.
        proto: Bytes of the model's SentencePiece tokenizer, or None to count characters instead.
        translate: Function from a list of sentences to a list of tuples of `PageHypothesis`.

    Returns:
        `PageTranslation`. Without TensorFlow Text, which finds sentences, each line is one.
    """
    if can_split():
        ((separators, sources),) = split_strings([text], limit, proto)
    else:
        separators, sources = split_lines(text)
    found = list(map(PageSentence, sources, translate(sources) if sources else ()))
    best = [*(sentence.hypotheses[0].text for sentence in found), ""]
    joined = "".join(itertools.chain.from_iterable(zip(separators, best, strict=True)))
    return PageTranslation(joined, tuple(found))


def split_lines(text):
    r"""Splits a text into what stands around and between its lines, and the lines.

    Example:
    >>> split_lines("one\n\n  two ")
    (['', '\n\n  ', ' '], ['one', 'two'])
    """
    parts = re.split(r"(\S(?:.*\S)?)", text)
    return parts[::2], parts[1::2]
