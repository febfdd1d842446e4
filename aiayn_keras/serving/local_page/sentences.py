"""A text as sentences: the one place that decides what is translated alone, and how it is joined.

For now a line is a sentence.
"""

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


def translate_lines(text, translate):
    r"""Translates the lines of a text that are not blank.

    Args:
        text: A string.
        translate: Function from a list of sentences to a list of tuples of `PageHypothesis`.

    Returns:
        `PageTranslation`.

    Example:
        >>> shout = lambda lines: [(PageHypothesis(line.upper(), 0.0, 0.0),) for line in lines]
        >>> translate_lines("one\n\n  two", shout).text
        'ONE\n\n  TWO'
    """
    lines = text.splitlines(keepends=True)
    sources = [line.strip() for line in lines if line.strip()]
    found = list(map(PageSentence, sources, translate(sources) if sources else ()))
    best = iter([sentence.hypotheses[0].text for sentence in found])
    joined = "".join(_replaced(line, next(best)) if line.strip() else line for line in lines)
    return PageTranslation(joined, tuple(found))


def _replaced(line, translation):
    """A translation with the indentation and the end of a line."""
    (content,) = line.splitlines()
    indentation = content[: len(content) - len(content.lstrip())]
    return f"{indentation}{translation}{line[len(content) :]}"
