"""A recipe's training text tokenized once, for `corpus.shards`, on one machine or many."""

import contextlib
import itertools
import logging
from pathlib import Path

from aiayn_keras.common.bad_lines import BadLine, bad_lines_as_json
from aiayn_keras.common.file_addresses import (
    absolute,
    is_url,
    join,
    read_file,
    sizes_in,
    whole_file,
)
from aiayn_keras.data import CorpusError, write_shards
from aiayn_keras.data.shard_folders import (
    ENDINGS,
    MAX_PAIRS_PER_SHARD,
    dtype_of,
    index_text,
    split_into_shards,
    write_shard,
)
from aiayn_keras.data.text_layout import (
    check_columns,
    check_heading,
    check_line_ends,
    check_one_column,
    check_quotes,
)
from aiayn_keras.data.token_pairs import processors_of
from aiayn_keras.data.token_shards import INDEX, MAX_TOKENIZER_BYTES, TOKENIZER, Shard, facts_of
from aiayn_keras.scale.job import (
    Job,
    PartWork,
    Totals,
    finish_job,
    first_of,
    open_part_progress,
    stem_of,
)
from aiayn_keras.scale.parts import is_parquet, plan_parts, read_lines, read_pairs
from aiayn_keras.scale.worker_pool import WorkerPool, count_lines
from aiayn_keras.training.recipe import RecipeError
from aiayn_keras.training.training_data import (
    MAX_VOCABULARY_PAIRS,
    load_named,
    origin_of,
    read_training_files,
    tokenizer_of_shards,
    train_tokenizer,
)
from aiayn_keras_light.files import check_is_new, write_text
from aiayn_keras_light.progress import SECONDS_BETWEEN_LINES, open_progress

logger = logging.getLogger(__name__)

_PART_BYTES = 16_000_000
"""Size of a part of the sources: some 150,000 pairs."""


def prepare(
    recipe, output, pool=None, *, part_bytes=_PART_BYTES, max_pairs_per_shard=MAX_PAIRS_PER_SHARD
):
    """Learns a recipe's vocabulary and writes its training pairs as token shards.

    Files are cut into parts, and workers tokenize them: first the shards of a part are written,
    then its manifest, `part-000000.json`; the index follows when all parts are finished. A job that
    was killed goes on with the parts that do not have a manifest. Unusable lines are listed in
    `part-000000.bad.jsonl`. The shards do not depend on the workers, whose memory does not grow
    with the corpus. A corpus given by name, trees, and text with `tokenizer.whole_target_words` are
    read into memory and written at once.

    Args:
        recipe: A `Recipe`. Its `corpus.train` may hold patterns and URLs, as in `find_files`, of
            aligned files, of tab-separated ones, or of Parquet with columns `source` and `target`.
        output: Path or URL of the folder to create, for the recipe's field `corpus.shards`.
        pool: The `WorkerPool`, by default one process for each core.
        part_bytes: As in `plan_parts`.
        max_pairs_per_shard: As in `write_shards`.

    Returns:
        `Totals`.

    Raises:
        FileExistsError: If `output` exists and does not belong to this job.
        FileNotFoundError: If a file is missing.
        FolderInUseError: If another process is working on the job.
        CorpusError: For a corpus that cannot be read or does not have a pair. Damaged files are
            reported before the vocabulary is learned, as it is learned from all of them.
        RecipeError: If the recipe fine-tunes a model, so that no vocabulary is learned, or has
            fields that need text.
    """
    if recipe.model.initial is not None:
        raise RecipeError(
            "`model.initial`: fine-tuning reads text, not prepared shards. Leave out "
            "`aiayn-keras prepare`."
        )
    if names := recipe.fields_of_text():
        raise RecipeError(
            f"{names} needs text, which prepared shards do not hold: leave it out, or train "
            "without `aiayn-keras prepare`."
        )
    pool, output = pool or WorkerPool(), absolute(output)
    section = recipe.corpus
    if section.name or section.tree_leaves or recipe.tokenizer.whole_target_words:
        return _prepare_in_memory(recipe, output, pool)
    files, parts = plan_parts(section.train, part_bytes, left_out=output)
    if not parts:  # Parquet files without a row
        raise CorpusError(f"{' and '.join(section.train)}: no pairs to prepare.")
    job = Job(output, parts)
    description = {
        "task": "prepare",
        "files": [[file.address, file.bytes, file.version] for file in files],
        "origin": origin_of(recipe),
        "most_pairs": max_pairs_per_shard,
    }
    with job.opened(description):
        return _prepare_parts(job, recipe, pool, max_pairs_per_shard)


def _prepare_parts(job, recipe, pool, max_pairs_per_shard):
    section = recipe.corpus
    tokenizer = _tokenizer_of(job, recipe.vocabulary, pool)
    dtype = dtype_of(tokenizer.vocabulary_size())
    arguments = (tokenizer.proto, tokenizer.target_proto, dtype, max_pairs_per_shard)
    manifests = finish_job(job, pool, _TokenizingWork, arguments, description="tokenizing ")
    shards = [shard for manifest in manifests for shard in _shards_of(manifest)]
    if not shards:
        raise CorpusError(f"{' and '.join(section.train)}: no pairs to prepare.")
    with whole_file(join(job.output, INDEX)) as path:
        path.write_text(index_text(dtype, origin_of(recipe), shards), encoding="utf-8")
    return Totals.of(manifests)


def _prepare_in_memory(recipe, output, pool):
    """Writes the shards of a corpus that is read into memory."""
    if pool != WorkerPool() or is_url(output):
        raise RecipeError(
            "Workers and URLs are only for files of aligned or tab-separated text, or of Parquet. "
            "Prepare this corpus without them."
        )
    check_is_new(output)
    section = recipe.corpus
    if section.name:
        text, bad = load_named(section).train, []
    else:
        text, bad = read_training_files(section.model_copy(update={"bad_lines": "skip"}))
    sides = [lambda: iter(text.sources), lambda: iter(text.targets)]
    logger.info("%s pairs; learning the vocabulary.", f"{len(text):,}")
    tokenizer = train_tokenizer(recipe.vocabulary, sides, len(text))
    pairs = open_progress(SECONDS_BETWEEN_LINES, iterable=text, unit=" pairs", desc="tokenizing ")
    size = tokenizer.vocabulary_size()
    written = write_shards(
        output,
        pairs,
        tokenizer.proto,
        size,
        origin_of(recipe),
        target_proto=tokenizer.target_proto,
    )
    if bad:
        write_text(Path(output) / "bad_lines.jsonl", bad_lines_as_json(bad))
    return Totals(written + len(bad), len(bad))


# ---- The vocabulary ----


def _tokenizer_of(job, section, pool):
    """The `TransformerTokenizer` of a job, which is learned if it does not exist yet."""
    address = join(job.output, TOKENIZER)
    if TOKENIZER in sizes_in(job.output):
        return tokenizer_of_shards(read_file(address, MAX_TOKENIZER_BYTES), section)
    logger.info("Learning the vocabulary from a sample of the pairs.")
    wanted = -(-MAX_VOCABULARY_PAIRS // len(job.parts))
    samples = {}
    with (
        open_part_progress(len(job.parts), "sampling ") as (bar, show),
        contextlib.closing(pool.run(_SampleWork, (wanted,), job.parts, progress=show)) as results,
    ):
        for number, pairs in results:
            samples[number] = pairs
            bar.update()
    samples = [pairs for _, pairs in sorted(samples.items())]
    if problems := [sample for sample in samples if isinstance(sample, CorpusError)]:
        raise first_of(
            problems, "No part is tokenized yet: the vocabulary is learned from all of them."
        ) from problems[0]
    pairs = list(itertools.chain.from_iterable(samples))
    if not pairs:
        raise CorpusError(f"{job.parts[0].pieces[0].address}: no pairs to prepare.")
    _check_layout(job.parts, pairs)
    sides = [lambda side=side: (pair[side] for pair in pairs) for side in (0, 1)]
    tokenizer = train_tokenizer(section, sides, len(pairs))
    with whole_file(address) as path:
        path.write_bytes(tokenizer.proto)
    return tokenizer


def _check_layout(parts, pairs):
    """Refuses files that are read, but not as they are meant, as `read_parallel` does."""
    addresses = [piece.address for piece in parts[0].pieces]
    columns = list(zip(*pairs, strict=True))
    if len(addresses) == 2:
        check_one_column(addresses, columns)
    elif not is_parquet(addresses[0]):
        check_columns(addresses[0], columns, read_lines(parts[0]))
        check_quotes(addresses[0], columns)
    check_heading(addresses, pairs)
    if len(pairs) <= len(parts):
        check_line_ends(addresses, pairs)


class _SampleWork:
    """Draws evenly spaced pairs from parts.

    Args:
        wanted: Number of pairs to draw from each part.
    """

    def __init__(self, wanted):
        self._wanted = wanted

    def __call__(self, part):
        """The number of a `Part`, and a list of pairs or, if it is damaged, a `CorpusError`."""
        sample = EvenSample(self._wanted)
        try:
            for pair in read_pairs(part):
                count_lines(1)
                if not isinstance(pair, BadLine):
                    sample.add(pair)
        except CorpusError as error:
            return part.number, error
        return part.number, sample.items


class EvenSample:
    """Evenly spaced items of a stream of unknown length.

    Every `step`-th item is kept. When there are twice as many as wanted, every second one is
    dropped and the step doubles.

    Args:
        wanted: Minimum number of kept items, if the stream is long enough.

    Attributes:
        items: The kept items, in order.

    Example:
    >>> sample = EvenSample(2)
    >>> for item in range(10):
    ...     sample.add(item)
    >>> sample.items
    [0, 4, 8]
    """

    def __init__(self, wanted):
        self._wanted, self._step, self._seen = wanted, 1, 0
        self.items = []

    def add(self, item):
        """Takes the next item of the stream."""
        if self._seen % self._step == 0:
            self.items.append(item)
            if len(self.items) >= 2 * self._wanted:
                self.items, self._step = self.items[::2], 2 * self._step
        self._seen += 1


# ---- The shards ----


class _TokenizingWork(PartWork):
    """Tokenizes parts into shards.

    Args:
        output: As in `Job`.
        proto: A SentencePiece model.
        target_proto: That of the targets, if they have their own.
        dtype: NumPy's name of the type of the ids.
        max_pairs_per_shard: As in `write_shards`.
    """

    def __init__(self, output, proto, target_proto, dtype, max_pairs_per_shard):
        self._processors = processors_of(proto, target_proto)
        self._output, self._dtype, self._max_pairs_per_shard = output, dtype, max_pairs_per_shard

    def write(self, part):
        """Writes the shards of a `Part`; see `PartWork`."""
        bad, files, records = [], {}, {}
        pairs = _usable(read_pairs(part), bad)
        for number, some in enumerate(split_into_shards(pairs, self._max_pairs_per_shard)):
            name = f"{stem_of(part)}-{number:05d}"
            records[name] = self._write_shard(name, some, files)
        lines = sum(records.values()) + len(bad)
        return Job(self._output, [part]).finish_part(part, lines, bad, files, records)

    def _write_shard(self, name, pairs, files):
        addresses = [join(self._output, f"{name}.{ending}") for ending in ENDINGS]
        with whole_file(addresses[0]) as records, whole_file(addresses[1]) as lengths:
            count = write_shard(pairs, self._processors, self._dtype, records, lengths)
            for path in (records, lengths):
                files[path.name] = facts_of(path)
        return count


def _usable(rows, bad):
    """Yields the pairs among rows, and adds the number and problem of the others to a list."""
    for line, row in enumerate(rows, start=1):
        count_lines(1)
        if isinstance(row, BadLine):
            bad.append((line, row.reason))
        else:
            yield row


def _shards_of(manifest):
    """The `Shard`s of a part's manifest."""
    for name, pairs in manifest.records.items():
        files = {ending: manifest.files[f"{name}.{ending}"] for ending in ENDINGS}
        yield Shard(name=name, pairs=pairs, files=files)
