"""A recipe's training text tokenized once, for `corpus.shards`: on one machine or on many."""

import contextlib
import itertools
import logging
import operator

import sentencepiece

from aiayn_keras.common.addresses import absolute, is_address, join, read_file, sizes_in, whole_file
from aiayn_keras.common.files import check_is_new
from aiayn_keras.data import CorpusError, write_shards
from aiayn_keras.data.shard_writer import ENDINGS, MAX_PAIRS, dtype_of, index_text
from aiayn_keras.data.token_shards import INDEX, MAX_TOKENIZER_BYTES, TOKENIZER, Shard
from aiayn_keras.progress import SECONDS_BETWEEN_LINES, open_progress
from aiayn_keras.scale.engines import Engine
from aiayn_keras.scale.job import Job
from aiayn_keras.scale.parts import plan_parts
from aiayn_keras.scale.running import Totals, finish_job, first_of, totals
from aiayn_keras.scale.samples import SampleWork
from aiayn_keras.scale.tokenizing import TokenizingWork
from aiayn_keras.training.recipe import RecipeError
from aiayn_keras.training.training_data import MAX_PAIRS as MAX_SAMPLED
from aiayn_keras.training.training_data import load_named, origin_of, read_files, train_tokenizer

logger = logging.getLogger(__name__)

PART_BYTES = 16_000_000
"""Size of a part of the sources: some 150,000 pairs."""


def prepare(recipe, output, engine=None, *, part_bytes=PART_BYTES, most_pairs=MAX_PAIRS):
    """Learns a recipe's vocabulary and writes its training pairs as token shards.

    Files are cut into parts, each of which a worker tokenizes: a part's shards are written, then
    its manifest, `part-000000.json`; and when all parts are done, the index. A job that was killed
    goes on with the parts that have no manifest. Lines that cannot be used are listed in
    `part-000000.bad.jsonl`. The shards do not depend on the workers, whose memory does not grow
    with the corpus. A corpus by name, trees, and text with `tokenizer.whole_target_words` are read
    into memory and written at once.

    Args:
        recipe: A `Recipe`. Its `corpus.train` may be patterns and URLs, as in `find_files`: of
            aligned files, of tab-separated ones, or of Parquet with columns `source` and `target`.
        output: Path or URL of the folder to make, for the recipe's field `corpus.shards`.
        engine: The `Engine`; a process for each core if not given.
        part_bytes: As in `plan_parts`.
        most_pairs: As in `write_shards`.

    Returns:
        `Totals`.

    Raises:
        FileExistsError: If `output` is there, and is not of this job.
        FileNotFoundError: If a file is missing.
        FolderInUseError: If another process works on the job.
        CorpusError: For a corpus that cannot be read, or without a pair; for damaged files, before
            the vocabulary is learned, as it is learned from all of them.
        RecipeError: If the recipe fine-tunes a model, for which no vocabulary is learned, or has
            fields that need text.
    """
    if recipe.model.initial is not None:
        raise RecipeError(
            "`model.initial`: prepared shards are not for fine-tuning, which reads text. Leave "
            "out `aiayn-keras prepare`."
        )
    if names := recipe.fields_of_text():
        raise RecipeError(
            f"{names} needs text, which prepared shards do not hold: leave it out, or train "
            "without `aiayn-keras prepare`."
        )
    engine, output = engine or Engine(), absolute(output)
    section = recipe.corpus
    if section.name or section.tree_leaves or recipe.tokenizer.whole_target_words:
        return _prepare_in_memory(recipe, output, engine)
    files, parts = plan_parts(section.train, part_bytes, left_out=output)
    if not parts:  # Parquet files without a row
        raise CorpusError(f"{' and '.join(section.train)}: there is no pair to prepare.")
    job = Job(output, parts)
    description = {
        "task": "prepare",
        "files": [[file.address, file.bytes, file.version] for file in files],
        "origin": origin_of(recipe),
        "most_pairs": most_pairs,
    }
    with job.opened(description):
        return _prepare_parts(job, recipe, engine, most_pairs)


def _prepare_parts(job, recipe, engine, most_pairs):
    section = recipe.corpus
    proto = _tokenizer_of(job, recipe.tokenizer, engine)
    processor = sentencepiece.SentencePieceProcessor(model_proto=proto)
    dtype = dtype_of(processor.vocab_size())
    arguments = (proto, dtype, most_pairs)
    manifests = finish_job(job, engine, TokenizingWork, arguments, description="tokenizing ")
    shards = [shard for manifest in manifests for shard in _shards_of(manifest)]
    if not shards:
        raise CorpusError(f"{' and '.join(section.train)}: there is no pair to prepare.")
    with whole_file(join(job.output, INDEX)) as path:
        path.write_text(index_text(dtype, origin_of(recipe), shards), encoding="utf-8")
    return totals(manifests)


def _prepare_in_memory(recipe, output, engine):
    """Writes the shards of a corpus that is read into memory."""
    if engine != Engine() or is_address(output):
        raise RecipeError(
            "Only files of aligned or tab-separated text, or of Parquet, are prepared by workers, "
            "or into another place than a folder. Prepare this corpus without."
        )
    check_is_new(output)
    section = recipe.corpus
    text = load_named(section).train if section.name else read_files(section, section.train)
    sides = [lambda: iter(text.sources), lambda: iter(text.targets)]
    logger.info("%s pairs; learning the vocabulary.", f"{len(text):,}")
    tokenizer = train_tokenizer(recipe.tokenizer, sides, len(text))
    pairs = open_progress(SECONDS_BETWEEN_LINES, iterable=text, unit=" pairs", desc="tokenizing ")
    size = tokenizer.vocabulary_size()
    return Totals(write_shards(output, pairs, tokenizer.proto, size, origin_of(recipe)), 0)


def _tokenizer_of(job, section, engine):
    """The SentencePiece model of a job, which is learned if it is not there."""
    address = join(job.output, TOKENIZER)
    if TOKENIZER in sizes_in(job.output):
        return read_file(address, MAX_TOKENIZER_BYTES)
    logger.info("Learning the vocabulary from some of the pairs.")
    wanted = -(-MAX_SAMPLED // len(job.parts))
    results = engine.run(SampleWork, (job.output, wanted), job.parts)
    with (
        contextlib.closing(results),
        open_progress(
            SECONDS_BETWEEN_LINES,
            iterable=results,
            total=len(job.parts),
            unit="part",
            desc="sampling ",
        ) as bar,
    ):
        samples = [pairs for _, pairs in sorted(bar, key=operator.itemgetter(0))]
    if problems := [sample for sample in samples if isinstance(sample, CorpusError)]:
        raise first_of(
            problems, "No part is tokenized yet: the vocabulary is learned from all of them."
        ) from problems[0]
    pairs = list(itertools.chain.from_iterable(samples))
    if not pairs:
        raise CorpusError(f"{job.parts[0].pieces[0].address}: there is no pair to prepare.")
    sides = [lambda side=side: (pair[side] for pair in pairs) for side in (0, 1)]
    tokenizer = train_tokenizer(section, sides, len(pairs))
    with whole_file(address) as path:
        path.write_bytes(tokenizer.proto)
    return tokenizer.proto


def _shards_of(manifest):
    """The `Shard`s of a part's manifest."""
    for name, pairs in manifest.records.items():
        files = {ending: manifest.files[f"{name}.{ending}"] for ending in ENDINGS}
        yield Shard(name=name, pairs=pairs, files=files)
