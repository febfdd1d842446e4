"""The vocabulary of a recipe, learned from training pairs."""

import itertools

from aiayn_keras.data import CorpusError
from aiayn_keras.models import TransformerTokenizer

MOST_PAIRS = 500_000
"""Pairs that a vocabulary is learned from; of a larger corpus, evenly spaced ones."""


def train_tokenizer(section, sides, num_pairs):
    """Learns the vocabulary of a recipe's `TokenizerSection` from both sides of a corpus.

    Args:
        section: The `TokenizerSection`.
        sides: Two functions that give an iterator of the sentences, one for each side.
        num_pairs: Number of pairs.

    Raises:
        CorpusError: If the targets have more words than tokens, where each is to be one.
    """
    step, words = -(-num_pairs // MOST_PAIRS), set()
    if section.whole_target_words:
        *sides, targets = sides
        words = _distinct_words(targets(), section.vocabulary_size)
    return TransformerTokenizer.train(
        (text for side in sides for text in itertools.islice(side(), 0, None, step)),
        vocabulary_size=section.vocabulary_size,
        model_type=section.model_type,
        normalization=section.normalization,
        whole_words=sorted(words),
    )


def _distinct_words(texts, most):
    """The set of the words of texts."""
    words = set()
    for line, text in enumerate(texts, start=1):
        words.update(text.split())
        if len(words) > most:
            raise CorpusError(
                f"Training text, target line {line}: the targets have more than the {most} words "
                "of `tokenizer.vocabulary_size`. Raise it, or leave out "
                "`tokenizer.whole_target_words`."
            )
    return words
