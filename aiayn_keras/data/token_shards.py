"""Pairs tokenized once and kept on disk: lengths at hand, ids read when a batch needs them."""

import hashlib
import json
from pathlib import Path

import grain
import numpy as np

from aiayn_keras.data.filtering import keep_pairs
from aiayn_keras.data.text_lines import CorpusError
from aiayn_keras.data.token_pairs import Tokens

VERSION = 1
INDEX = "index.json"
TOKENIZER = "tokenizer.spm"


class TokenShards:
    """The folder that `aiayn-keras prepare` writes, as the pairs of batches.

    The ids stay on disk, in ArrayRecord files that are read at random. In memory are about fifteen
    bytes for each pair: its number, its two lengths, and where its record begins.

    Args:
        folder: The folder.
        max_length: As in `filter_pairs`, in tokens without special ids.
        max_ratio: As in `filter_pairs`.

    Attributes:
        source_lengths: Integer array `(pairs,)` of the kept pairs.
        target_lengths: Integer array `(pairs,)` of the kept pairs.
        report: `FilterReport`.
        tokenizer_proto: Bytes of the SentencePiece model that made the ids.
        origin: What the shards were made from, as `write_shards` was told.

    Raises:
        FileNotFoundError: If there is no such folder.
        CorpusError: If a file is missing or damaged, or no pair is left.
    """

    def __init__(self, folder, *, max_length: int | None = 256, max_ratio: float | None = None):
        folder = Path(folder)
        index = _read_index(folder)
        self.origin = index["origin"]
        self.tokenizer_proto = (folder / TOKENIZER).read_bytes()
        self._dtype = np.dtype(index["dtype"])
        shards = index["shards"]
        paths = [_check_file(folder, shard, "array_record") for shard in shards]
        lengths = [_read_lengths(folder, shard) for shard in shards]
        kept, self.report = _filter(lengths, max_length, max_ratio)
        if not self.report.kept:
            raise CorpusError(f"{folder}: no pair is left: {self.report}.")
        self._numbers = np.concatenate(
            [first + places for first, places in zip(_firsts(lengths), kept, strict=True)]
        ).astype(np.int32)
        self.source_lengths, self.target_lengths = (
            _compact([shard[places, side] for shard, places in zip(lengths, kept, strict=True)])
            for side in (0, 1)
        )
        self._records = grain.sources.ArrayRecordDataSource(paths)
        self._folder = folder

    def __len__(self) -> int:
        return len(self.source_lengths)

    def read(self, numbers: np.ndarray, epoch: int) -> tuple[Tokens, Tokens]:
        """The source and target ids of some pairs; all epochs are alike.

        Raises:
            CorpusError: If a record is damaged.
        """
        lengths = np.stack([self.source_lengths[numbers], self.target_lengths[numbers]], axis=1)
        lengths = lengths.astype(np.int64)
        try:
            records = self._records.__getitems__(self._numbers[numbers].tolist())
        except (RuntimeError, ValueError) as error:
            raise CorpusError(
                f"The shards in {self._folder} are damaged: {' '.join(str(error).split())[:200]}. "
                "Prepare the corpus again."
            ) from error
        sizes = np.array([len(record) for record in records])
        if (sizes != lengths.sum(axis=1) * self._dtype.itemsize).any():
            raise CorpusError(
                f"The shards in {self._folder} are damaged: a record is not as long as the index "
                "says. Prepare the corpus again."
            )
        ids = np.frombuffer(b"".join(records), self._dtype).astype(np.int32)
        is_source = np.repeat(np.tile([True, False], len(lengths)), lengths.reshape(-1))
        return Tokens(ids[is_source], lengths[:, 0]), Tokens(ids[~is_source], lengths[:, 1])


def _read_index(folder):
    path = folder / INDEX
    if not path.is_file():
        raise FileNotFoundError(
            f"{folder} holds no prepared corpus: it has no {INDEX}. Make one with "
            "`aiayn-keras prepare`."
        )
    try:
        index = json.loads(path.read_text(encoding="utf-8"))
        version = index["version"]
    except (ValueError, KeyError, TypeError) as error:
        raise CorpusError(f"{path} is damaged ({error}). Prepare the corpus again.") from error
    if version != VERSION:
        raise CorpusError(
            f"{path} has version {version}, this package reads {VERSION}. Prepare the corpus again."
        )
    return index


def _check_file(folder, shard, ending):
    """Path of a shard's file, if it has the size it should have."""
    path = folder / f"{shard['name']}.{ending}"
    wanted = shard["files"][ending]["bytes"]
    found = path.stat().st_size if path.is_file() else None
    if found != wanted:
        what = "is missing" if found is None else f"has {found:,} bytes instead of {wanted:,}"
        raise CorpusError(f"{path} {what}. Copy it again, or prepare the corpus again.")
    return str(path)


def _read_lengths(folder, shard):
    """The lengths of a shard's pairs, uint32 `(pairs, 2)`, mapped into memory."""
    path = _check_file(folder, shard, "lengths.npy")
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != shard["files"]["lengths.npy"]["sha256"]:
        raise CorpusError(f"{path} is damaged: its checksum is another. Prepare the corpus again.")
    return np.load(path, mmap_mode="r", allow_pickle=False)


def _filter(lengths, max_length, max_ratio):
    """Places of the kept pairs in each shard, and the report on all of them."""
    results = [
        keep_pairs(*np.asarray(shard).T, max_length=max_length, max_ratio=max_ratio)
        for shard in lengths
    ]
    places = [np.flatnonzero(kept).astype(np.int32) for kept, _ in results]
    return places, sum((report for _, report in results[1:]), start=results[0][1])


def _firsts(lengths):
    """Number of each shard's first pair."""
    counts = [len(shard) for shard in lengths]
    return [sum(counts[:n]) for n in range(len(counts))]


def _compact(parts):
    """One array of the smallest integer type that holds all values."""
    largest = max((int(part.max()) for part in parts if len(part)), default=0)
    return np.concatenate([part.astype(np.min_scalar_type(largest)) for part in parts])
