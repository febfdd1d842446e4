"""Folders of token shards: written from tokenized pairs, or copied from a URL.

`token_shards` describes the format and reads it.
"""

import array
import hashlib
import itertools
import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from array_record.python.array_record_module import ArrayRecordWriter

from aiayn_keras.common.file_addresses import copy_file, join, read_file
from aiayn_keras.data.token_pairs import processors_of
from aiayn_keras.data.token_shards import (
    INDEX,
    MAX_INDEX_BYTES,
    MAX_TOKENIZER_BYTES,
    TOKENIZER,
    VERSION,
    Shard,
    facts_of,
    parse_index,
)
from aiayn_keras_light.files import atomic_path, digest_of_file, new_folder, user_cache
from aiayn_keras_light.progress import SECONDS_BETWEEN_LINES, open_progress
from aiayn_keras_light.text_files import CorpusError

MAX_PAIRS_PER_SHARD = 1 << 18
"""Maximum number of pairs in a shard, each of which takes the writer some 60 bytes of memory."""
ENDINGS = ("array_record", "lengths.npy")
"""Endings of the two files of a shard: its ids and their numbers."""
_CHUNK = 1000
"""Number of pairs tokenized together."""


def dtype_of(vocabulary_size):
    """Returns the NumPy name of the smallest type for the ids of a vocabulary."""
    return "<u2" if vocabulary_size <= 2**16 else "<u4"


def split_into_shards(pairs: Iterable, max_pairs_per_shard=MAX_PAIRS_PER_SHARD):
    """Yields an iterator of pairs for each shard; each must be exhausted before the next."""
    pairs = iter(pairs)
    for first in pairs:
        yield itertools.chain([first], itertools.islice(pairs, max_pairs_per_shard - 1))


def write_shard(pairs: Iterable, processors, dtype, records_path, lengths_path) -> int:
    """Tokenizes pairs and writes the two files of a shard.

    Args:
        pairs: Iterable of tuples of source and target sentence.
        processors: A `PieceProcessor` for each side.
        dtype: NumPy name of the type of the ids.
        records_path: ArrayRecord file to write, with one record per pair: the source ids followed
            by the target ids.
        lengths_path: NumPy file to write, with a uint32 array `(pairs, 2)` of the numbers of ids.

    Returns:
        Number of pairs.
    """
    lengths, pairs = array.array("I"), iter(pairs)
    # With one record per group, each record can be read alone.
    writer = ArrayRecordWriter(str(records_path), "group_size:1")
    while chunk := list(itertools.islice(pairs, _CHUNK)):
        sides = [
            processor.encode(list(side))
            for processor, side in zip(processors, zip(*chunk, strict=True), strict=True)
        ]
        for source, target in zip(*sides, strict=True):
            writer.write(np.array(source + target, dtype=dtype).tobytes())
            lengths.extend((len(source), len(target)))
    writer.close()
    np.save(lengths_path, np.array(lengths, dtype="<u4").reshape(-1, 2))
    return len(lengths) // 2


def index_text(dtype, origin, shards):
    """Returns the JSON text of the index for a list of `Shard`s."""
    shards = [shard.model_dump(mode="json", by_alias=True) for shard in shards]
    index = {"version": VERSION, "dtype": dtype, "origin": origin, "shards": shards}
    return json.dumps(index, indent=1)


def write_shards(
    folder,
    pairs: Iterable,
    tokenizer_proto: bytes,
    vocabulary_size,
    origin,
    max_pairs_per_shard=MAX_PAIRS_PER_SHARD,
    target_proto: bytes | None = None,
) -> int:
    """Tokenizes pairs into a new folder for `TokenShards`, which appears complete or not at all.

    Args:
        folder: Path of the new folder.
        pairs: Iterable of tuples of source and target sentence, which is read once and in order.
        tokenizer_proto: Bytes of a SentencePiece model.
        vocabulary_size: Number of its tokens.
        origin: Description of the corpus and the tokenizer, any JSON value; stored in the index.
        max_pairs_per_shard: Maximum number of pairs per shard.
        target_proto: Bytes of the model that tokenizes the targets, if it is another one; it must
            have the same pieces, and is not stored.

    Returns:
        Number of pairs.

    Raises:
        FileExistsError: If the folder already exists.
        ValueError: If there are no pairs.
        RuntimeError: If `tokenizer_proto` or `target_proto` is not a SentencePiece model.
    """
    dtype, shards = dtype_of(vocabulary_size), []
    processors = processors_of(tokenizer_proto, target_proto)
    with new_folder(folder) as written:
        (written / TOKENIZER).write_bytes(tokenizer_proto)
        for number, some in enumerate(split_into_shards(pairs, max_pairs_per_shard)):
            name = f"train-{number:05d}"
            paths = [written / f"{name}.{ending}" for ending in ENDINGS]
            count = write_shard(some, processors, dtype, *paths)
            files = dict(zip(ENDINGS, map(facts_of, paths), strict=True))
            shards.append(Shard(name=name, pairs=count, files=files))
        if not shards:
            raise ValueError("The corpus is empty: no pairs to prepare.")
        (written / INDEX).write_text(index_text(dtype, origin, shards), encoding="utf-8")
    return sum(shard.pairs for shard in shards)


def copy_shards(address, cache_dir=None) -> Path:
    """Copies a folder of shards to this machine, except for files that were copied before.

    The local folder is named after the checksum of the index, so shards that have been prepared
    again are copied again. Each file appears complete and with the checksum recorded in the index.
    Every machine in a training run needs all shards, because batches read pairs in any order.

    Args:
        address: URL of a folder written by `aiayn-keras prepare`.
        cache_dir: Folder for the copies; the default is `user_cache()`.

    Returns:
        Path of the local folder, for `TokenShards`.

    Raises:
        FileNotFoundError: If a file is missing at the URL.
        CorpusError: If a file is corrupt.
    """
    content = read_file(join(address, INDEX), MAX_INDEX_BYTES)
    index = parse_index(content, join(address, INDEX))
    cache = Path(cache_dir or user_cache())
    folder = cache / "shards" / hashlib.sha256(content).hexdigest()
    folder.mkdir(parents=True, exist_ok=True)
    facts = {
        f"{shard.name}.{ending}": each
        for shard in index.shards
        for ending, each in zip(
            ENDINGS, (shard.files.array_record, shard.files.lengths), strict=True
        )
    }
    missing = {name: each for name, each in facts.items() if _size(folder / name) != each.bytes}
    with open_progress(
        SECONDS_BETWEEN_LINES,
        total=sum(each.bytes for each in missing.values()),
        unit="B",
        unit_scale=True,
        desc=f"copying {address} ",
    ) as bar:
        for name, each in missing.items():
            _copy(join(address, name), folder / name, each.sha256)
            bar.update(each.bytes)
    proto = read_file(join(address, TOKENIZER), MAX_TOKENIZER_BYTES)
    for name, written in ((TOKENIZER, proto), (INDEX, content)):
        with atomic_path(folder / name) as temporary:
            temporary.write_bytes(written)
    return folder


def _copy(address, path, sha256):
    with atomic_path(path) as temporary:
        copy_file(address, temporary)
        if digest_of_file(temporary) != sha256:
            raise CorpusError(f"{address} is damaged: checksum mismatch. Prepare the corpus again.")


def _size(path):
    return path.stat().st_size if path.is_file() else None
