"""The vocabulary of a recipe, learned from training pairs."""

import itertools
import logging
from pathlib import Path
from typing import NamedTuple

from aiayn_keras.common.addresses import is_address
from aiayn_keras.common.files import read_bytes
from aiayn_keras.data import (
    CorpusError,
    PackedBatches,
    ParallelText,
    SampledPairs,
    TokenBatches,
    TokenPairs,
    TokenShards,
    augment,
    filter_pairs,
    load_corpus,
    read_parallel,
    tree_pairs,
)
from aiayn_keras.data.shard_writer import copy_shards
from aiayn_keras.data.token_shards import INDEX, MAX_INDEX_BYTES
from aiayn_keras.models import TransformerTokenizer
from aiayn_keras.parsing import read_trees
from aiayn_keras.training.resume import digest_of_bytes, digest_of_text

MAX_PAIRS = 500_000
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
    step, words = -(-num_pairs // MAX_PAIRS), set()
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


logger = logging.getLogger(__name__)

MAX_UNKNOWN = 0.3
"""Share of unknown wordpieces above which a text is refused; a word of an unknown script is two
pieces, the space before it and one that is unknown."""


class TrainingText:
    """Training pairs as text: the vocabulary is learned from them, then they are tokenized.

    Args:
        recipe: The `Recipe`.
        text: `ParallelText`.
    """

    def __init__(self, recipe, text):
        self._recipe, self._text = recipe, text

    def make_tokenizer(self):
        """Learns the recipe's `TransformerTokenizer` from both sides of the text."""
        sides = (lambda: iter(self._text.sources)), (lambda: iter(self._text.targets))
        return train_tokenizer(self._recipe.tokenizer, sides, len(self._text))

    def digest(self):
        """SHA-256 of the pairs in order."""
        return digest_of_text(self._text)

    def pairs(self, tokenizer, max_sequence_length):
        """Tokenizes the text; see `tokenize_pairs`."""
        return tokenize_pairs(
            self._text, tokenizer, self._recipe, max_sequence_length, sampled=True
        )


class TrainingShards:
    """Training pairs that `aiayn-keras prepare` has tokenized: their text is not read.

    Args:
        recipe: A `Recipe` with `corpus.shards`.
    """

    def __init__(self, recipe):
        self._recipe, self._folder = recipe, recipe.corpus.shards
        if is_address(self._folder):
            self._folder = copy_shards(self._folder)

    def make_tokenizer(self):
        """Gives the `TransformerTokenizer` that made the shards.

        Raises:
            ValueError: If the shards are of another corpus or tokenizer than the recipe's.
        """
        shards, wanted = TokenShards(self._folder), origin_of(self._recipe)
        if shards.origin != wanted:
            raise ValueError(
                f"The shards in {self._folder} are made from {shards.origin}, the recipe says "
                f"{wanted}. Prepare them again, or change the recipe."
            )
        return TransformerTokenizer(proto=shards.tokenizer_proto)

    def digest(self):
        """SHA-256 of the shards' index, which holds the digests of their files."""
        return digest_of_bytes(read_bytes(Path(self._folder) / INDEX, MAX_INDEX_BYTES))

    def pairs(self, tokenizer, max_sequence_length):
        """Opens the `TokenShards`, filtered as the recipe says; they hold tokens already."""
        shards = TokenShards(self._folder, **_limits(self._recipe.batches, max_sequence_length))
        logger.info("%s: %s", self._folder, shards.report)
        return shards


class RecipeCorpus(NamedTuple):
    """The corpus of a recipe.

    Attributes:
        train: `TrainingText` or `TrainingShards`.
        validation: `ParallelText` to choose a model by.
        test: `ParallelText` to report BLEU on.
    """

    train: TrainingText | TrainingShards
    validation: ParallelText
    test: ParallelText


def read_corpus(recipe):
    """Reads the corpus of a recipe, by name or from its files, as a `RecipeCorpus`."""
    section = recipe.corpus
    if section.name is not None:
        named = load_named(section)
        train, validation, test = named.train, named.validation, named.test
    else:
        train = None if section.shards else read_files(section, section.train)
        validation = read_files(section, section.validation)
        test = read_files(section, section.test or section.validation)
    if section.shards:
        return RecipeCorpus(TrainingShards(recipe), validation, test)
    _check_trees_stay_whole(recipe)
    train = augment(train, seed=recipe.training.seed, **recipe.augmentation.model_dump())
    return RecipeCorpus(TrainingText(recipe, train), validation, test)


def _check_trees_stay_whole(recipe):
    corpus, augmentation = recipe.corpus, recipe.augmentation
    is_of_trees = corpus.tree_leaves is not None or corpus.name == "craft-parsing"
    if is_of_trees and (augmentation.joined or augmentation.unpunctuated):
        raise ValueError(
            "Leave out `augmentation.joined` and `augmentation.unpunctuated`: a tree has a leaf "
            "for each word of its sentence."
        )


def read_files(section, paths):
    """Reads the `ParallelText` of files of a recipe's `CorpusSection`: text, or trees."""
    if section.tree_leaves is None:
        return read_parallel(*paths)
    pairs = tree_pairs(read_trees(*paths), section.tree_leaves, name=Path(*paths).name)
    if not len(pairs):
        raise CorpusError(f"{Path(*paths)}: there is no tree with words in it.")
    return pairs


def load_named(section):
    """Loads the `Corpus` whose name and options a recipe's `CorpusSection` gives."""
    names = {"variant", "tree_leaves", "train_size", "validation_size", "test_size"}
    options = section.model_dump(include=names, exclude_none=True)
    return load_corpus(section.name, **options)


def origin_of(recipe):
    """All that prepared shards depend on, as their index holds it."""
    corpus = recipe.corpus.model_dump(
        mode="json",
        include={"name", "variant", "train_size", "train", "tree_leaves"},
        exclude_none=True,
    )
    tokenizer = recipe.tokenizer.model_dump(mode="json", exclude={"sampling_alpha"})
    if not recipe.tokenizer.whole_target_words:  # Shards of before there was this field have none.
        del tokenizer["whole_target_words"]
    return {"corpus": corpus, "tokenizer": tokenizer}


def check_lengths(pairs, tokenizer, max_sequence_length):
    """Refuses sentences that the model cannot read: those to translate are not filtered.

    Args:
        pairs: `ParallelText`.
        tokenizer: `TransformerTokenizer`.
        max_sequence_length: The model's number of positions.

    Raises:
        CorpusError: For a side with more tokens, with its line.
    """
    sides = ("source", tokenizer, pairs.sources), ("target", tokenizer.of_targets(), pairs.targets)
    for side, tokenize, texts in sides:
        for line, token_ids in enumerate(tokenize(list(texts)), start=1):
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
    sides = tokenizer(list(text.sources)), tokenizer.of_targets()(list(text.targets))
    kept, report = filter_pairs(*([len(ids) for ids in side] for side in sides), **limits)
    logger.info("%s: %s", text.name, report)
    if not report.kept:
        raise CorpusError(f"{text.name} has no pair to use: {report}.")
    check_known(text.name, sides, tokenizer)
    alpha = recipe.tokenizer.sampling_alpha
    if not sampled or alpha is None:
        return TokenPairs(*(list(itertools.compress(side, kept)) for side in sides))
    texts = (list(itertools.compress(side, kept)) for side in (text.sources, text.targets))
    return SampledPairs(*texts, tokenizer.proto, alpha, recipe.training.seed, limits["max_length"])


def check_known(name, sides, tokenizer):
    """Says which share of a text is unknown to its vocabulary, if any is.

    Args:
        name: Name of the text.
        sides: Lists of token ids of its sources, and of its targets.
        tokenizer: Their `TransformerTokenizer`.

    Raises:
        CorpusError: If it is more than `MAX_UNKNOWN` of either side.
    """
    for side, rows in zip(("source", "target"), sides, strict=True):
        unknown = sum(row.count(tokenizer.unk_token_id) for row in rows)
        share = unknown / max(1, sum(map(len, rows)))
        if share > MAX_UNKNOWN:
            raise CorpusError(
                f"{name}: {share:.0%} of the {side} side's wordpieces are unknown to the "
                "vocabulary: it is of other languages or another script. Choose a model whose "
                "tokenizer knows this text, or train a new one."
            )
        if unknown:
            logger.warning(
                "%s: %s wordpieces of the %s side (%.2f %%) are unknown to the vocabulary.",
                name,
                f"{unknown:,}",
                side,
                100 * share,
            )


def make_batches(pairs, section, seed, source_end=True, shuffle=True):
    """Batches of pairs.

    Args:
        pairs: `TokenPairs`, `SampledPairs` or `TokenShards`.
        section: The recipe's `BatchesSection`.
        seed: Of the order.
        source_end: Whether sources end with the end token.
        shuffle: Whether each epoch has an order of its own.

    Returns:
        `TokenBatches` or `PackedBatches`.
    """
    options = {
        "tokens_per_batch": section.tokens_per_batch,
        "seed": seed,
        "source_end": source_end,
        "shuffle": shuffle,
    }
    if section.packing:
        return PackedBatches(pairs, **options)
    return TokenBatches(pairs, max_shapes=section.max_shapes, **options)


def _limits(section, max_sequence_length):
    """Arguments of the filter."""
    # The end token needs a position as well.
    length = min(section.max_length, max_sequence_length - 1)
    return {"max_length": length, "max_ratio": section.max_ratio}
