"""A recipe's training text tokenized once, for `corpus.shards`."""

import logging
import os

from aiayn_keras.data import stream_parallel, write_shards
from aiayn_keras.progress import open_progress
from aiayn_keras.training.recipe import RecipeError
from aiayn_keras.training.training_data import load_named, origin_of, read_files, train_tokenizer

logger = logging.getLogger(__name__)


def prepare(recipe, output, workers=None):
    """Learns a recipe's vocabulary and writes its training pairs as token shards.

    Files are read line by line, so memory does not grow with the corpus. With the same number of
    workers the shards are the same.

    Args:
        recipe: A `Recipe`.
        output: Folder to make, for the recipe's field `corpus.shards`.
        workers: Number of processes, and of shards; one for each core if not given.

    Returns:
        Number of pairs.

    Raises:
        FileExistsError: If `output` exists.
        CorpusError: For a corpus that cannot be read.
        RecipeError: If the recipe fine-tunes a model, for which no vocabulary is learned.
    """
    if recipe.model.initial is not None:
        raise RecipeError(
            "`model.initial`: prepared shards are not for fine-tuning, which reads text. Leave "
            "out `aiayn-keras prepare`."
        )
    pairs = _pairs_of(recipe.corpus)
    count = sum(
        1 for _ in open_progress(iterable=pairs(), unit=" pairs", desc="counting ", leave=False)
    )
    logger.info("%s pairs; learning the vocabulary.", f"{count:,}")
    sides = [lambda side=side: (pair[side] for pair in pairs()) for side in (0, 1)]
    tokenizer = train_tokenizer(recipe.tokenizer, sides, count)
    with open_progress(total=count, unit=" pairs", desc="tokenizing ") as bar:
        return write_shards(
            output,
            pairs(),
            tokenizer.proto,
            tokenizer.vocabulary_size(),
            workers or os.cpu_count() or 1,
            origin_of(recipe),
            progress=bar.update,
        )


def _pairs_of(section):
    """A function that gives an iterator of the training pairs."""
    if section.name is None and section.tree_leaves is None:
        return lambda: stream_parallel(*section.train)
    named = section.name is not None
    text = load_named(section).train if named else read_files(section, section.train)
    return lambda: iter(text)
