"""Pairs tokenized once and written as shards of bounded size."""

import array
import hashlib
import itertools
import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pooch
import sentencepiece
from array_record.python.array_record_module import ArrayRecordWriter

from aiayn_keras.common.addresses import copy_file, join, read_file
from aiayn_keras.common.files import atomic_path, digest_of_file, new_folder
from aiayn_keras.common.progress import SECONDS_BETWEEN_LINES, open_progress
from aiayn_keras.common.text_files import CorpusError
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

MAX_PAIRS = 1 << 18
"""Pairs of a shard. A writer keeps some 60 bytes for each of them until the shard is whole."""
ENDINGS = ("array_record", "lengths.npy")
CHUNK = 1000
"""Pairs that are tokenized together."""


def dtype_of(vocabulary_size):
    """NumPy's name of the smallest type of the ids of a vocabulary, as an index holds it."""
    return "<u2" if vocabulary_size <= 2**16 else "<u4"


def split_into_shards(pairs: Iterable, most_pairs=MAX_PAIRS):
    """Gives an iterator of pairs for each shard, which must be read to its end before the next."""
    pairs = iter(pairs)
    for first in pairs:
        yield itertools.chain([first], itertools.islice(pairs, most_pairs - 1))


def write_shard(pairs: Iterable, processor, dtype, records_path, lengths_path) -> int:
    """Tokenizes pairs and writes the two files of a shard.

    Args:
        pairs: Iterable of tuples of source and target sentence.
        processor: A `sentencepiece.SentencePieceProcessor`.
        dtype: NumPy's name of the type of the ids.
        records_path: File for ArrayRecord: a record for a pair, the source ids and then the target
            ids.
        lengths_path: File for NumPy's uint32 array `(pairs, 2)` of the numbers of ids.

    Returns:
        Number of pairs.
    """
    lengths, pairs = array.array("I"), iter(pairs)
    # With one record a group, each can be read alone.
    writer = ArrayRecordWriter(str(records_path), "group_size:1")
    while chunk := list(itertools.islice(pairs, CHUNK)):
        sides = [processor.encode(list(side)) for side in zip(*chunk, strict=True)]
        for source, target in zip(*sides, strict=True):
            writer.write(np.array(source + target, dtype=dtype).tobytes())
            lengths.extend((len(source), len(target)))
    writer.close()
    np.save(lengths_path, np.array(lengths, dtype="<u4").reshape(-1, 2))
    return len(lengths) // 2


def write_shards(
    folder, pairs: Iterable, tokenizer_proto: bytes, vocabulary_size, origin, most_pairs=MAX_PAIRS
) -> int:
    """Writes a folder for `TokenShards`, which appears when it is whole.

    Args:
        folder: Path of the folder to make.
        pairs: Iterable of tuples of source and target sentence; it is read once, in order.
        tokenizer_proto: A SentencePiece model.
        vocabulary_size: Its number of tokens.
        origin: Description of the corpus and tokenizer, kept in the index: any JSON value.
        most_pairs: Greatest number of pairs of a shard.

    Returns:
        Number of pairs.

    Raises:
        FileExistsError: If there is such a folder.
        ValueError: If there is no pair.
        RuntimeError: If the tokenizer is no SentencePiece model.
    """
    dtype, shards = dtype_of(vocabulary_size), []
    processor = sentencepiece.SentencePieceProcessor(model_proto=tokenizer_proto)
    with new_folder(folder) as written:
        (written / TOKENIZER).write_bytes(tokenizer_proto)
        for number, some in enumerate(split_into_shards(pairs, most_pairs)):
            name = f"train-{number:05d}"
            paths = [written / f"{name}.{ending}" for ending in ENDINGS]
            count = write_shard(some, processor, dtype, *paths)
            files = dict(zip(ENDINGS, map(facts_of, paths), strict=True))
            shards.append(Shard(name=name, pairs=count, files=files))
        if not shards:
            raise ValueError("The corpus is empty: there is no pair to prepare.")
        (written / INDEX).write_text(index_text(dtype, origin, shards), encoding="utf-8")
    return sum(shard.pairs for shard in shards)


def index_text(dtype, origin, shards):
    """The text of the index of a list of `Shard`s."""
    shards = [shard.model_dump(mode="json", by_alias=True) for shard in shards]
    index = {"version": VERSION, "dtype": dtype, "origin": origin, "shards": shards}
    return json.dumps(index, indent=1)


def copy_shards(address, cache_dir=None) -> Path:
    """Finds the copy of a folder of shards on this machine; files that are missing are copied.

    The copy is kept by the checksum of the shards' index, so that shards which were prepared anew
    are copied anew. Each file appears whole and with the checksum that the index says. Batches
    read pairs of all shards in any order, so every machine of a training has all of them.

    Args:
        address: URL of a folder that `aiayn-keras prepare` wrote.
        cache_dir: Folder for the copies; the user's cache folder for `aiayn_keras` by default.

    Returns:
        Path of the copy, for `TokenShards`.

    Raises:
        FileNotFoundError: If a file is missing there.
        CorpusError: If a file is damaged.
    """
    content = read_file(join(address, INDEX), MAX_INDEX_BYTES)
    index = parse_index(content, join(address, INDEX))
    cache = Path(cache_dir or pooch.os_cache("aiayn_keras"))
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
            raise CorpusError(
                f"{address} is damaged: its checksum is another. Prepare the corpus again."
            )


def _size(path):
    return path.stat().st_size if path.is_file() else None
