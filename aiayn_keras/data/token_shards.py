"""Pairs tokenized once and kept on disk: lengths at hand, ids read when a batch needs them."""

import hashlib
import json
from pathlib import Path

import grain
import numpy as np

from aiayn_keras.data.filtering import FilterReport, filter_pairs
from aiayn_keras.data.text_files import CorpusError
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
        origin: Description of the corpus and tokenizer, as `write_shards` was given it.

    Raises:
        FileNotFoundError: If there is no such folder.
        CorpusError: If a file is missing or damaged, or no pair is left.
    """

    def __init__(self, folder, *, max_length: int | None = 256, max_ratio: float | None = None):
        self._folder = Path(folder)
        index = _read_index(self._folder)
        self.origin = index["origin"]
        self.tokenizer_proto = (self._folder / TOKENIZER).read_bytes()
        self._dtype = np.dtype(index["dtype"])
        self.report, first, parts, paths = FilterReport(), 0, [], []
        for shard in index["shards"]:
            paths.append(_check_file(self._folder, shard, "array_record"))
            lengths = _read_lengths(self._folder, shard)
            kept, report = filter_pairs(*lengths.T, max_length=max_length, max_ratio=max_ratio)
            numbers = np.flatnonzero(kept).astype(np.int32)
            parts.append((numbers + first, _compact(lengths[kept, 0]), _compact(lengths[kept, 1])))
            self.report += report
            first += len(lengths)
        if not self.report.kept:
            raise CorpusError(f"{self._folder}: no pair is left: {self.report}.")
        self._numbers, self.source_lengths, self.target_lengths = (
            np.concatenate(column) for column in zip(*parts, strict=True)
        )
        self._records = grain.sources.ArrayRecordDataSource(paths)

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
            sizes = np.array([len(record) for record in records])
            if (sizes != lengths.sum(axis=1) * self._dtype.itemsize).any():
                raise ValueError("a record is not as long as the index says")
        except (RuntimeError, ValueError) as error:
            raise CorpusError(
                f"The shards in {self._folder} are damaged: {' '.join(str(error).split())[:200]}. "
                "Prepare the corpus again."
            ) from error
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
        problem = "is missing" if found is None else f"has {found:,} bytes instead of {wanted:,}"
        raise CorpusError(f"{path} {problem}. Copy it again, or prepare the corpus again.")
    return str(path)


def _read_lengths(folder, shard):
    """The lengths of a shard's pairs, uint32 `(pairs, 2)`, mapped into memory."""
    path = _check_file(folder, shard, "lengths.npy")
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != shard["files"]["lengths.npy"]["sha256"]:
        raise CorpusError(f"{path} is damaged: its checksum is another. Prepare the corpus again.")
    return np.load(path, mmap_mode="r", allow_pickle=False)


def _compact(lengths):
    """The lengths in the smallest integer type that holds them."""
    return np.asarray(lengths, dtype=np.min_scalar_type(int(lengths.max(initial=0))))
