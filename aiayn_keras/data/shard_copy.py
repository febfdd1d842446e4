"""Prepared shards of an object store, copied to this machine once."""

import hashlib
from pathlib import Path

import pooch

from aiayn_keras.data.addresses import copy_file, join, read_file
from aiayn_keras.data.shard_index import INDEX, MAX_INDEX_BYTES, parse_index
from aiayn_keras.data.shard_writer import ENDINGS
from aiayn_keras.data.text_files import CorpusError
from aiayn_keras.data.token_shards import MAX_TOKENIZER_BYTES, TOKENIZER
from aiayn_keras.files import atomic_path, digest_of_file
from aiayn_keras.progress import SECONDS_BETWEEN_LINES, open_progress


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
