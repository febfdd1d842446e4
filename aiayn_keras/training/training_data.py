"""The data of a recipe: its corpus, the vocabulary learned from it, tokens and batches."""

import hashlib
import itertools
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from aiayn_keras.common.bad_lines import FoundBadLine, describe_bad_lines
from aiayn_keras.common.file_addresses import is_url
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
    mix_texts,
    read_parallel,
    tree_pairs,
)
from aiayn_keras.data.augmentation import warn_of_unused_shares
from aiayn_keras.data.parallel_text import read_pairs_and_bad_lines
from aiayn_keras.data.shard_folders import copy_shards
from aiayn_keras.data.token_shards import INDEX, MAX_INDEX_BYTES, check_records
from aiayn_keras.models import TransformerTokenizer
from aiayn_keras.models.text_normalization import changed_texts
from aiayn_keras.parsing import read_trees
from aiayn_keras_light.files import read_bytes

logger = logging.getLogger(__name__)

MAX_VOCABULARY_PAIRS = 500_000
"""Maximum number of pairs to learn a vocabulary from; a larger corpus is sampled evenly."""
_MAX_UNKNOWN = 0.3
"""Maximum share of unknown wordpieces in a text. A word in an unknown script has a share of one
half: it is two pieces, the space before it and an unknown one."""
_HOW_TO_USE_PATTERNS = "Only `prepare` reads patterns and URLs: name its folder as `corpus.shards`."
_DIGEST_CHUNK = 10_000
"""Number of sentences that are hashed at a time."""


class TrainingText:
    """Training pairs as text, from which a vocabulary is learned before they are tokenized.

    Args:
        recipe: The `Recipe`.
        text: `ParallelText`, not augmented; the attribute `unchanged`.
    """

    def __init__(self, recipe, text):
        self._recipe, self.unchanged = recipe, text
        warn_of_unused_shares(text, **recipe.augmentation.model_dump())
        self._text = self._augmented()

    def _augmented(self, **shares):
        augmentation = {**self._recipe.augmentation.model_dump(), **shares}
        return augment(self.unchanged, seed=self._recipe.training.seed, **augmentation)

    def make_tokenizer(self):
        """Learns the recipe's `TransformerTokenizer` from both sides of the text.

        Added emoji, invented names and words in other scripts are left out: their thousands of
        characters are in no way typical of the text. Added phrases have the words of the text.
        """
        text = self._augmented(copied=0.0, names=0.0, phrases=0.0, variants=1)
        sides = (lambda: iter(text.sources)), (lambda: iter(text.targets))
        tokenizer = train_tokenizer(self._recipe.vocabulary, sides, len(text))
        _report_changed_targets(self._text, tokenizer, self._recipe.tokenizer)
        return tokenizer

    def copies_without_letters(self):
        """True if sources without letters are copied; None if every source has letters.

        Judged by the text itself: quotation marks that were added may differ between the sides.
        """
        return copies_without_letters(self.unchanged)

    def digest(self):
        """Computes the SHA-256 of the pairs in order."""
        return digest_text(self._text)

    def pairs(self, tokenizer, max_sequence_length):
        """Tokenizes the text; see `tokenize_pairs`."""
        return tokenize_pairs(
            self._text, tokenizer, self._recipe, max_sequence_length, sampled=True
        )


class TrainingShards:
    """Training pairs that `aiayn-keras prepare` has tokenized; their text is not read.

    Args:
        recipe: A `Recipe` with `corpus.shards`.
    """

    unchanged = ()  # no text

    def __init__(self, recipe):
        self._recipe, self._folder = recipe, recipe.corpus.shards
        if is_url(self._folder):
            self._folder = copy_shards(self._folder)

    def make_tokenizer(self):
        """Returns the `TransformerTokenizer` that made the shards.

        Raises:
            ValueError: If the shards were made from another corpus or tokenizer than the recipe's.
        """
        shards, wanted = TokenShards(self._folder), origin_of(self._recipe)
        if shards.origin != wanted:
            raise ValueError(
                f"The shards in {self._folder} were made from {shards.origin}, but the recipe says "
                f"{wanted}. Prepare them again, or change the recipe."
            )
        return tokenizer_of_shards(shards.tokenizer_proto, self._recipe.vocabulary)

    def copies_without_letters(self):
        """Returns None: shards hold no text."""

    def digest(self):
        """Computes the SHA-256 of the shards' index, which holds the digests of their files.

        The files are compared with those, which reads all of them once.
        """
        check_records(self._folder)
        index = read_bytes(Path(self._folder) / INDEX, MAX_INDEX_BYTES)
        return hashlib.sha256(index).hexdigest()

    def pairs(self, tokenizer, max_sequence_length):
        """Opens the `TokenShards`, filtered as the recipe says; they already hold tokens."""
        shards = TokenShards(self._folder, **_limits(self._recipe.batches, max_sequence_length))
        logger.info("%s: %s", self._folder, shards.report)
        return shards


class RecipeCorpus(NamedTuple):
    """The corpus of a recipe.

    Attributes:
        train: `TrainingText` or `TrainingShards`.
        validation: `ParallelText` to choose the model with.
        test: `ParallelText` to report BLEU on.
        bad_lines: List of `FoundBadLine`s that were left out of the training text.
        mix_test: `ParallelText` of the text mixed in to report BLEU on, if there is one.
    """

    train: TrainingText | TrainingShards
    validation: ParallelText
    test: ParallelText
    bad_lines: Sequence[FoundBadLine] = ()
    mix_test: ParallelText | None = None


def read_corpus(recipe):
    """Reads the corpus of a recipe, by name or from its files, as a `RecipeCorpus`."""
    section, bad, mix_test = recipe.corpus, (), None
    if section.name is not None:
        named = load_named(section)
        train, validation, test = named.train, named.validation, named.test
    else:
        if not section.shards:
            train, bad = read_training_files(section)
        validation = _read_files(section, section.validation)
        test = _read_files(section, section.test or section.validation)
    if section.shards:
        return RecipeCorpus(TrainingShards(recipe), validation, test)
    _check_trees_stay_whole(recipe)
    if section.mix is not None:
        mixed_in, mix_test = _read_mix(section.mix)
        train = mix_texts(train, mixed_in, section.mix.share, recipe.training.seed)
    return RecipeCorpus(TrainingText(recipe, train), validation, test, bad, mix_test)


def _read_mix(mix):
    """Reads the training text of a `MixSection`, and its test text or `None`."""
    if mix.name is not None:
        corpus = load_corpus(mix.name)
        return corpus.train, corpus.test
    test = None if mix.test is None else read_parallel(*mix.test)
    return read_parallel(*mix.train), test


def _check_trees_stay_whole(recipe):
    augmentation = recipe.augmentation
    if recipe.is_of_trees and (augmentation.joined or augmentation.unpunctuated):
        raise ValueError(
            "Leave out `augmentation.joined` and `augmentation.unpunctuated`: they change the "
            "number of words, and a tree has a leaf for each word of its sentence."
        )


def read_training_files(section):
    """Reads the training text of a `CorpusSection` from its files.

    Returns:
        A `ParallelText`, and the list of `FoundBadLine`s that were left out.

    Raises:
        CorpusError: If there are bad lines that must not be left out, or no other lines.
    """
    if section.tree_leaves is not None:
        return _read_files(section, section.train), []
    try:
        read = read_pairs_and_bad_lines(*section.train)
    except FileNotFoundError as error:
        if not any(is_url(name) or "*" in name for name in section.train):
            raise
        raise FileNotFoundError(f"{error} {_HOW_TO_USE_PATTERNS}") from None
    if section.bad_lines == "error":
        read.refuse_bad_lines(
            "Mend them (`aiayn-keras check` lists everything that is wrong with a text), or leave "
            "them out with `corpus.bad_lines: skip`."
        )
    if read.bad:
        if not len(read.text):
            read.refuse_bad_lines("No line is left to train on.")
        logger.warning(
            "%s. They are left out and listed in bad_lines.jsonl.",
            describe_bad_lines(read.bad, read.num_lines),
        )
    return read.text, read.bad


def _read_files(section, paths):
    """Reads files that a `CorpusSection` names, text or trees, as a `ParallelText`."""
    if section.tree_leaves is None:
        return read_parallel(*paths)
    pairs = tree_pairs(read_trees(*paths), section.tree_leaves, name=Path(*paths).name)
    if not len(pairs):
        raise CorpusError(f"{Path(*paths)}: there is no tree with words in it.")
    return pairs


def load_named(section):
    """Loads the `Corpus` that a `CorpusSection` names."""
    names = {"variant", "tree_leaves", "train_size", "validation_size", "test_size"}
    options = section.model_dump(include=names, exclude_none=True)
    return load_corpus(section.name, **options)


def origin_of(recipe):
    """Describes everything that prepared shards depend on, in the form stored in their index."""
    corpus = recipe.corpus.model_dump(
        mode="json",
        include={"name", "variant", "train_size", "train", "tree_leaves"},
        exclude_none=True,
    )
    tokenizer = recipe.tokenizer.model_dump(mode="json", exclude={"sampling_alpha"})
    if tokenizer["target_normalization"] == tokenizer["normalization"]:
        tokenizer["target_normalization"] = None
    for name in ("whole_target_words", "byte_fallback", "split_digits", "target_normalization"):
        if not tokenizer[name]:  # Older shards lack these fields.
            del tokenizer[name]
    return {"corpus": corpus, "tokenizer": tokenizer}


def tokenizer_of_shards(proto, section):
    """Returns the `TransformerTokenizer` of shards.

    Args:
        proto: The SentencePiece model in their folder, that of the sources.
        section: The recipe's `TokenizerSection`, which says what is done with targets.
    """
    tokenizer, rules = TransformerTokenizer(proto=proto), section.target_normalization
    return tokenizer if rules is None else tokenizer.with_target_normalization(rules)


def copies_without_letters(text):
    """True if a corpus leaves texts without letters as they are, as most do.

    Args:
        text: A `ParallelText`.

    Returns:
        Whether more than half of the sources without letters equal their targets; None if every
        source has letters.
    """
    copies = [
        source.strip() == target.strip()
        for source, target in text
        if not any(map(str.isalpha, source))
    ]
    return 2 * sum(copies) > len(copies) if copies else None


def digest_text(text):
    """Computes the SHA-256 of a `ParallelText`: its sentences and their order, not its name."""
    digest = hashlib.sha256(f"{len(text)}\n".encode())
    for side in (text.sources, text.targets):
        for start in range(0, len(side), _DIGEST_CHUNK):
            digest.update(("\n".join(side[start : start + _DIGEST_CHUNK]) + "\n").encode())
    return digest.hexdigest()


def train_tokenizer(section, sides, num_pairs):
    """Learns the vocabulary of a recipe's `TokenizerSection` from both sides of a corpus.

    Args:
        section: The `TokenizerSection`.
        sides: Two functions, one for each side, that return an iterator over its sentences.
        num_pairs: Number of pairs.

    Returns:
        A `TransformerTokenizer`.

    Raises:
        CorpusError: If each target word is to be one token, but there are more words than tokens.
    """
    step, words = -(-num_pairs // MAX_VOCABULARY_PAIRS), set()
    sources, targets = (itertools.islice(side(), 0, None, step) for side in sides)
    if section.whole_target_words:
        words, targets = _distinct_words(sides[1](), section.vocabulary_size), ()
    return TransformerTokenizer.train(
        sources,
        vocabulary_size=section.vocabulary_size,
        model_type=section.model_type,
        normalization=section.normalization,
        whole_words=sorted(words),
        target_texts=targets,
        target_normalization=section.target_normalization or section.normalization,
        byte_fallback=section.byte_fallback,
        split_digits=section.split_digits,
    )


def _report_changed_targets(text, tokenizer, section):
    """Logs how many targets of a `ParallelText` a tokenizer cannot write as they are.

    Args:
        text: The `ParallelText`.
        tokenizer: The `TransformerTokenizer`.
        section: The recipe's `TokenizerSection`.
    """
    if (section.target_normalization or section.normalization) in ("nfc", "identity"):
        return
    step = -(-len(text) // MAX_VOCABULARY_PAIRS)
    targets = text.targets[::step]
    changed = changed_texts(tokenizer.of_targets().proto, targets)
    if changed:
        examples = "; ".join(" → ".join(_around_the_change(*pair)) for pair in changed[:3])
        logger.info(
            "%s: the tokenizer writes %d of %d targets differently: %s. With "
            "`tokenizer.target_normalization: nfc` it writes them as they are.",
            text.name,
            len(changed),
            len(targets),
            examples,
        )


def _around_the_change(*texts):
    """The pieces of two texts where they begin to differ."""
    places = (i for i, pair in enumerate(zip(*texts, strict=False)) if len(set(pair)) > 1)
    start = max(0, next(places, 0) - 10)
    return [repr(text[start : start + 30]) for text in texts]


def _distinct_words(texts, max_words):
    """Collects the distinct words of texts."""
    words = set()
    for line, text in enumerate(texts, start=1):
        words.update(text.split())
        if len(words) > max_words:
            raise CorpusError(
                f"Training text, target line {line}: the targets have more than the {max_words} "
                "words of `tokenizer.vocabulary_size`. Raise it, or leave out "
                "`tokenizer.whole_target_words`."
            )
    return words


def check_lengths(pairs, tokenizer, max_sequence_length):
    """Refuses sentences that are too long for the model, in texts that are not filtered.

    Args:
        pairs: `ParallelText`.
        tokenizer: `TransformerTokenizer`.
        max_sequence_length: The model's number of positions.

    Raises:
        CorpusError: If a sentence has more tokens; the message names its line.
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
    """Tokenizes pairs and drops those outside the recipe's limits.

    Args:
        text: `ParallelText`.
        tokenizer: `TransformerTokenizer`.
        recipe: The `Recipe`.
        max_sequence_length: The model's number of positions.
        sampled: Whether words are split again in each epoch if the recipe says so.

    Returns:
        `TokenPairs` or `SampledPairs`.

    Raises:
        CorpusError: If no pair is left, or the vocabulary does not know the text.
    """
    limits = _limits(recipe.batches, max_sequence_length)
    sides = tokenizer(list(text.sources)), tokenizer.of_targets()(list(text.targets))
    kept, report = filter_pairs(*([len(ids) for ids in side] for side in sides), **limits)
    logger.info("%s: %s", text.name, report)
    check_known(text.name, sides, tokenizer)  # unknown bytes make a side long
    if not report.kept:
        raise CorpusError(f"{text.name}: no pair is within the limits of `batches`: {report}.")
    alpha = recipe.tokenizer.sampling_alpha
    if not sampled or alpha is None:
        return TokenPairs(*(list(itertools.compress(side, kept)) for side in sides))
    texts = (list(itertools.compress(side, kept)) for side in (text.sources, text.targets))
    return SampledPairs(
        *texts,
        tokenizer.proto,
        alpha,
        recipe.training.seed,
        limits["max_length"],
        target_proto=tokenizer.of_targets().proto,
    )


def check_known(name, sides, tokenizer):
    """Refuses a text that its vocabulary does not know; warns of single unknown wordpieces.

    Args:
        name: Name of the text.
        sides: The token ids of its sources and of its targets, each a list of lists.
        tokenizer: The `TransformerTokenizer`.

    Raises:
        CorpusError: If more than 30 % of the wordpieces of either side are unknown, or bytes of
            unknown characters.
    """
    byte_ids = frozenset(tokenizer.byte_token_ids())
    for side, rows in zip(("source", "target"), sides, strict=True):
        size = max(1, sum(map(len, rows)))
        unknown = sum(row.count(tokenizer.unk_token_id) for row in rows)
        spelled = sum(i in byte_ids for row in rows for i in row) if byte_ids else 0
        share = (unknown + spelled) / size
        if share > _MAX_UNKNOWN:
            raise CorpusError(
                f"{name}: {share:.0%} of the {side} side's wordpieces are unknown to the "
                "vocabulary: the text is in another language or script. Choose a model whose "
                "tokenizer knows this text, or train a new one."
            )
        if unknown:
            logger.warning(
                "%s: %s wordpieces of the %s side (%.2f %%) are unknown to the vocabulary.",
                name,
                f"{unknown:,}",
                side,
                100 * unknown / size,
            )


def make_batches(pairs, section, seed, source_end=True, shuffle=True):
    """Makes batches of pairs.

    Args:
        pairs: `TokenPairs`, `SampledPairs` or `TokenShards`.
        section: The recipe's `BatchesSection`.
        seed: Seed of the order.
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
    """Returns the limits of lengths, as arguments of `filter_pairs` and `TokenShards`."""
    # The end token needs a position too.
    length = min(section.max_length, max_sequence_length - 1)
    return {"max_length": length, "max_ratio": section.max_ratio}
