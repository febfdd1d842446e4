"""From a recipe's corpus to a tokenizer and batches."""

import logging

from aiayn_keras.data import (
    Corpus,
    CorpusError,
    PackedBatches,
    TokenBatches,
    TokenPairs,
    filter_pairs,
    load_corpus,
    read_parallel,
)
from aiayn_keras.models import TransformerTokenizer

logger = logging.getLogger(__name__)


def read_corpus(section):
    """Loads the corpus of a recipe's `CorpusSection`: by name, or its files."""
    if section.name is not None:
        options = section.model_dump(include={"variant", "train_size"}, exclude_none=True)
        return load_corpus(section.name, **options)
    splits = {
        split: read_parallel(*(getattr(section, split) or section.validation))
        for split in ("train", "validation", "test")
    }
    return Corpus(
        name=section.train[0],
        source_language=section.source_language or "source",
        target_language=section.target_language or "target",
        **splits,
    )


def train_tokenizer(section, pairs):
    """Learns the vocabulary of a recipe's `TokenizerSection` from both sides of `pairs`."""
    return TransformerTokenizer.train(
        [*pairs.sources, *pairs.targets],
        vocabulary_size=section.vocabulary_size,
        model_type=section.model_type,
        normalization=section.normalization,
    )


def check_lengths(pairs, tokenizer, max_sequence_length):
    """Refuses sentences that the model cannot read: those to translate are not filtered.

    Args:
        pairs: `ParallelText`.
        tokenizer: `TransformerTokenizer`.
        max_sequence_length: The model's number of positions.

    Raises:
        CorpusError: For a side with more tokens, with its line.
    """
    for side, texts in (("source", pairs.sources), ("target", pairs.targets)):
        for line, token_ids in enumerate(tokenizer(list(texts)), start=1):
            if len(token_ids) + 1 > max_sequence_length:
                raise CorpusError(
                    f"{pairs.name}, {side} line {line}: {len(token_ids) + 1} tokens are more than "
                    f"the {max_sequence_length} positions of the model. Split the sentence, or "
                    "raise `model.max_sequence_length`."
                )


def make_batches(pairs, tokenizer, section, max_sequence_length, seed, shuffle=True):
    """Tokenizes, filters and batches pairs.

    Args:
        pairs: `ParallelText`.
        tokenizer: `TransformerTokenizer`.
        section: The recipe's `BatchesSection`.
        max_sequence_length: The model's number of positions.
        seed: Of the order.
        shuffle: Whether each epoch has an order of its own.

    Returns:
        `TokenBatches` or `PackedBatches`.
    """
    sources, targets, report = filter_pairs(
        tokenizer(list(pairs.sources)),
        tokenizer(list(pairs.targets)),
        # The end token needs a position as well.
        max_length=min(section.max_length, max_sequence_length - 1),
        max_ratio=section.max_ratio,
    )
    logger.info("%s: %s", pairs.name, report)
    pairs = TokenPairs(sources, targets)
    options = {"tokens_per_batch": section.tokens_per_batch, "seed": seed, "shuffle": shuffle}
    if section.packing:
        return PackedBatches(pairs, **options)
    return TokenBatches(pairs, max_shapes=section.max_shapes, **options)
