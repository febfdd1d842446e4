"""From a recipe's corpus to a tokenizer and batches."""

import itertools
import logging
from dataclasses import replace

import numpy as np

from aiayn_keras.data import (
    Corpus,
    CorpusError,
    PackedBatches,
    ParallelText,
    SampledPairs,
    TokenBatches,
    TokenPairs,
    TokenShards,
    filter_pairs,
    keep_pairs,
    load_corpus,
    read_parallel,
)
from aiayn_keras.models import TransformerTokenizer

logger = logging.getLogger(__name__)

MOST_PAIRS = 500_000
"""Pairs that a vocabulary is learned from; of a larger corpus, evenly spaced ones."""


def read_corpus(section):
    """Loads the corpus of a recipe's `CorpusSection`: by name, or its files.

    With `shards`, the text to train on is left empty.
    """
    if section.name is not None:
        options = section.model_dump(include={"variant", "train_size"}, exclude_none=True)
        corpus = load_corpus(section.name, **options)
        return corpus if section.shards is None else replace(corpus, train=ParallelText((), ()))
    splits = {
        split: read_parallel(*(getattr(section, split) or section.validation))
        for split in ("train", "validation", "test")
        if split != "train" or section.shards is None
    }
    return Corpus(
        name=section.train[0],
        source_language=section.source_language or "source",
        target_language=section.target_language or "target",
        **{"train": ParallelText((), ()), **splits},
    )


def origin_of(recipe):
    """What prepared shards depend on, as their index holds it."""
    corpus = recipe.corpus.model_dump(
        mode="json", include={"name", "variant", "train_size", "train"}, exclude_none=True
    )
    tokenizer = recipe.tokenizer.model_dump(mode="json", exclude={"sampling_alpha"})
    return {"corpus": corpus, "tokenizer": tokenizer}


def make_tokenizer(recipe, pairs):
    """The tokenizer of a recipe: that of its shards, or one learned from the training text.

    Raises:
        ValueError: If the shards are of another corpus or tokenizer than the recipe's.
    """
    if recipe.corpus.shards is None:
        sides = (lambda: iter(pairs.sources)), (lambda: iter(pairs.targets))
        return train_tokenizer(recipe.tokenizer, sides, len(pairs))
    shards = TokenShards(recipe.corpus.shards)
    if shards.origin != origin_of(recipe):
        raise ValueError(
            f"The shards in {recipe.corpus.shards} are made from {shards.origin}, the recipe says "
            f"{origin_of(recipe)}. Prepare them again, or change the recipe."
        )
    return TransformerTokenizer(proto=shards.tokenizer_proto)


def train_tokenizer(section, sides, num_pairs):
    """Learns the vocabulary of a recipe's `TokenizerSection` from both sides of a corpus.

    Args:
        section: The `TokenizerSection`.
        sides: Two functions that give an iterator of the sentences, one for each side.
        num_pairs: Number of pairs.
    """
    step = -(-num_pairs // MOST_PAIRS)
    return TransformerTokenizer.train(
        (text for side in sides for text in itertools.islice(side(), 0, None, step)),
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


def tokenize_pairs(text, tokenizer, recipe, max_sequence_length, sampled=False):
    """Tokenizes and filters pairs.

    Args:
        text: `ParallelText`.
        tokenizer: `TransformerTokenizer`.
        recipe: The `Recipe`.
        max_sequence_length: The model's number of positions.
        sampled: Whether words may be split anew in each epoch, if the recipe says so.

    Returns:
        `TokenPairs` or `SampledPairs`.
    """
    limits = _limits(recipe.batches, max_sequence_length)
    sides = tokenizer(list(text.sources)), tokenizer(list(text.targets))
    alpha = recipe.tokenizer.sampling_alpha
    if sampled and alpha is not None:
        kept, report = keep_pairs(
            *(np.array([len(ids) for ids in side]) for side in sides), **limits
        )
        logger.info("%s: %s", text.name, report)
        texts = (list(itertools.compress(side, kept)) for side in (text.sources, text.targets))
        return SampledPairs(
            *texts, tokenizer.proto, alpha, recipe.training.seed, limits["max_length"]
        )
    *sides, report = filter_pairs(*sides, **limits)
    logger.info("%s: %s", text.name, report)
    return TokenPairs(*sides)


def open_shards(recipe, max_sequence_length):
    """The `TokenShards` of a recipe, filtered as it says."""
    shards = TokenShards(recipe.corpus.shards, **_limits(recipe.batches, max_sequence_length))
    logger.info("%s: %s", recipe.corpus.shards, shards.report)
    return shards


def make_batches(pairs, section, seed, shuffle=True):
    """Batches of pairs.

    Args:
        pairs: `TokenPairs`, `SampledPairs` or `TokenShards`.
        section: The recipe's `BatchesSection`.
        seed: Of the order.
        shuffle: Whether each epoch has an order of its own.

    Returns:
        `TokenBatches` or `PackedBatches`.
    """
    options = {"tokens_per_batch": section.tokens_per_batch, "seed": seed, "shuffle": shuffle}
    if section.packing:
        return PackedBatches(pairs, **options)
    return TokenBatches(pairs, max_shapes=section.max_shapes, **options)


def _limits(section, max_sequence_length):
    """Arguments of the filter."""
    # The end token needs a position as well.
    length = min(section.max_length, max_sequence_length - 1)
    return {"max_length": length, "max_ratio": section.max_ratio}
