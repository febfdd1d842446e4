"""Token shards: pairs that were tokenized once and are read from disk when a batch needs them.

A folder of shards contains an index, a tokenizer, and two files for each shard, an ArrayRecord file
of the ids and a NumPy array of their numbers. `shard_folders` writes such folders.
"""

from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import pydantic
import sentencepiece
from pydantic import Field, JsonValue

from aiayn_keras.data.token_pairs import FilterReport, Tokens, filter_pairs
from aiayn_keras_light.files import digest_of_file, read_bytes
from aiayn_keras_light.text_files import CorpusError

TOKENIZER = "tokenizer.spm"

MAX_TOKENIZER_BYTES = 100_000_000


VERSION = 1
INDEX = "index.json"
MAX_INDEX_BYTES = 64_000_000
_MAX_PAIRS = 2**31 - 1
_MAX_FILE_BYTES = 2**50


class _Fields(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(
        extra="forbid", frozen=True, strict=True, allow_inf_nan=False
    )


class FileFacts(_Fields):
    """Size and checksum of a file, for verification.

    Attributes:
        bytes: Size in bytes.
        sha256: Checksum, in hexadecimal.
    """

    bytes: Annotated[int, Field(ge=0, le=_MAX_FILE_BYTES)]
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


def facts_of(path):
    """Computes the `FileFacts` of a file."""
    return FileFacts(bytes=path.stat().st_size, sha256=digest_of_file(path))


class _ShardFiles(_Fields):
    """The `FileFacts` of the two files of a shard, named after their endings."""

    array_record: FileFacts
    lengths: Annotated[FileFacts, Field(alias="lengths.npy")]


class Shard(_Fields):
    """A shard, as described in the index.

    Attributes:
        name: Name of its files, without the ending.
        pairs: Number of pairs.
        files: Size and checksum of its two files.
    """

    name: Annotated[str, Field(pattern="^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$")]
    pairs: Annotated[int, Field(ge=1, le=_MAX_PAIRS)]
    files: _ShardFiles


class _ShardIndex(_Fields):
    """Contents of the file `index.json`.

    Attributes:
        version: Version of the format.
        dtype: NumPy name of the type of the ids.
        origin: Description of the corpus and the tokenizer.
        shards: At least one `Shard`.
    """

    version: Annotated[int, Field(ge=VERSION, le=VERSION)]
    dtype: Literal["<u2", "<u4"]
    origin: JsonValue
    shards: Annotated[list[Shard], Field(min_length=1)]

    @pydantic.field_validator("shards")
    @classmethod
    def _names_differ(cls, shards):
        if len({shard.name for shard in shards}) < len(shards):
            raise ValueError("two shards have the same name")
        if sum(shard.pairs for shard in shards) > _MAX_PAIRS:
            raise ValueError(f"all shards together must have at most {_MAX_PAIRS:,} pairs")
        return shards


def read_index(folder):
    """Reads the index of a folder of shards.

    Args:
        folder: Path of the folder.

    Raises:
        FileNotFoundError: If the folder has no index.
        CorpusError: If the index is invalid; the message names the first invalid field.
    """
    path = Path(folder) / INDEX
    try:
        return parse_index(read_bytes(path, MAX_INDEX_BYTES), path)
    except FileNotFoundError:
        raise FileNotFoundError(
            f"{folder} does not contain a prepared corpus: there is no {INDEX}. Prepare one with "
            "`aiayn-keras prepare`."
        ) from None
    except CorpusError:
        raise
    except (OSError, ValueError) as error:
        raise CorpusError(f"{error} Prepare the corpus again.") from None


def parse_index(content, path):
    """Parses the contents of an index.

    Args:
        content: Bytes of the file.
        path: Path or URL of the file, used in messages.

    Raises:
        CorpusError: If the index is invalid; the message names the first invalid field.
    """
    try:
        return _ShardIndex.model_validate_json(content)
    except pydantic.ValidationError as error:
        raise CorpusError(_explain(error, path)) from None


def _explain(error, path):
    problems = {problem["loc"]: problem for problem in error.errors()}
    version = problems.get(("version",))
    if version is not None and version["type"] != "missing":
        return (
            f"{path} has version {version['input']!r:.40}, this package reads version {VERSION}. "
            "Prepare the corpus again."
        )
    place, problem = next(iter(problems.items()))
    field = ".".join(map(str, place))[:100]
    reason = problem["msg"].removeprefix("Value error, ")
    return (
        f"{path} is damaged{f': `{field}`' if field else ''}: {reason}. Prepare the corpus again."
    )


class TokenShards:
    """Pairs of token ids in a folder written by `aiayn-keras prepare`.

    The ids stay on disk, in ArrayRecord files with random access. Each pair takes about fifteen
    bytes of memory for its number, its two lengths and the position of its record.

    Args:
        folder: Path of the folder.
        max_length: Maximum length of a side, as in `filter_pairs`.
        max_ratio: Maximum ratio of the lengths, as in `filter_pairs`.

    Attributes:
        source_lengths: Integer array `(pairs,)` of the lengths of the kept sources.
        target_lengths: Integer array `(pairs,)` of the lengths of the kept targets.
        report: `FilterReport` with the numbers of kept and dropped pairs.
        tokenizer_proto: Bytes of the SentencePiece model that produced the ids.
        origin: Description of the corpus and the tokenizer, as passed to `write_shards`.

    Raises:
        FileNotFoundError: If the folder does not exist or is not a prepared corpus.
        CorpusError: If a file is missing, corrupt or inconsistent with the others, or if no pairs
            are left.
    """

    def __init__(self, folder, *, max_length: int | None = 256, max_ratio: float | None = None):
        self._folder = Path(folder)
        index = read_index(self._folder)
        self.origin, self._dtype = index.origin, np.dtype(index.dtype)
        self.tokenizer_proto = _read_tokenizer(self._folder / TOKENIZER)
        self._vocabulary_size = _count_tokens(self._folder / TOKENIZER, self.tokenizer_proto)
        if self._vocabulary_size > np.iinfo(self._dtype).max + 1:
            raise CorpusError(
                f"{self._folder / TOKENIZER} has {self._vocabulary_size:,} tokens, more than "
                f"ids of the index's type, `dtype`={index.dtype}. Prepare the corpus again."
            )
        self.report, first, parts = FilterReport(), 0, []
        for shard in index.shards:
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
        self._records = _open_records(self._folder, index.shards)

    def __len__(self) -> int:
        return len(self.source_lengths)

    def read(self, numbers: np.ndarray, epoch: int) -> tuple[Tokens, Tokens]:
        """Reads the source and target ids of the pairs with the given numbers, in that order.

        Raises:
            CorpusError: If a record is corrupt.
        """
        lengths = np.stack([self.source_lengths[numbers], self.target_lengths[numbers]], axis=1)
        lengths = lengths.astype(np.int64)
        try:
            records = self._records.__getitems__(self._numbers[numbers].tolist())
            sizes = np.array([len(record) for record in records])
            if (sizes != lengths.sum(axis=1) * self._dtype.itemsize).any():
                raise ValueError("the length of a record does not match the index")
            ids = np.frombuffer(b"".join(records), self._dtype)
            if ids.max(initial=0) >= self._vocabulary_size:
                raise ValueError(
                    f"a record contains the id {ids.max()}, but the tokenizer has "
                    f"{self._vocabulary_size} tokens"
                )
        except (RuntimeError, ValueError, IndexError) as error:
            raise _damaged(self._folder, error) from error
        ids = ids.astype(np.int32)
        is_source = np.repeat(np.tile([True, False], len(lengths)), lengths.reshape(-1))
        return Tokens(ids[is_source], lengths[:, 0]), Tokens(ids[~is_source], lengths[:, 1])


def _damaged(folder, error):
    reason = " ".join(str(error).split())[:200]
    return CorpusError(
        f"The shards in {folder} are damaged: {reason}. Prepare the corpus again or, if the folder "
        "is a local copy of shards at a URL, delete it to copy them again."
    )


def _read_tokenizer(path):
    """Returns the bytes of the SentencePiece model."""
    try:
        return read_bytes(path, MAX_TOKENIZER_BYTES)
    except (OSError, ValueError) as error:
        raise CorpusError(f"{error} Copy the folder again, or prepare it again.") from None


def _count_tokens(path, proto):
    """Returns the number of tokens in a SentencePiece model."""
    processor = sentencepiece.SentencePieceProcessor()
    try:
        processor.LoadFromSerializedProto(proto)
        return processor.vocab_size()
    except (RuntimeError, OSError) as error:
        raise CorpusError(
            f"{path} is not a SentencePiece model: {' '.join(str(error).split())[:200]}. "
            "Copy the folder again, or prepare it again."
        ) from None


def _open_records(folder, shards):
    """Opens the records of all shards for random access."""
    import grain  # slow: also loads JAX if it is installed

    paths = [
        _check_file(folder, f"{shard.name}.array_record", shard.files.array_record)
        for shard in shards
    ]
    wanted = sum(shard.pairs for shard in shards)
    try:
        records = grain.sources.ArrayRecordDataSource(paths)
        found = len(records)
    except (RuntimeError, ValueError, IndexError) as error:
        raise _damaged(folder, error) from error
    if found != wanted:
        raise _damaged(folder, f"they contain {found:,} pairs instead of {wanted:,}")
    return records


def check_records(folder):
    """Compares the ids of a folder of shards with the checksums in its index.

    `TokenShards` does not: it would read the whole corpus, at about three seconds per GB.

    Args:
        folder: Path of the folder.

    Raises:
        FileNotFoundError: If the folder has no index.
        CorpusError: If a file is missing, damaged or a different one.
    """
    folder = Path(folder)
    for shard in read_index(folder).shards:
        name, facts = f"{shard.name}.array_record", shard.files.array_record
        path = _check_file(folder, name, facts)
        if digest_of_file(path) != facts.sha256:
            raise CorpusError(
                f"{path} is damaged or another shard's: checksum mismatch. Copy it again, or "
                "prepare the corpus again."
            )


def _check_file(folder, name, facts):
    """Returns the path of a shard's file, or raises a `CorpusError` if its size is wrong."""
    path = folder / name
    found = path.stat().st_size if path.is_file() else None
    if found != facts.bytes:
        problem = (
            "is missing" if found is None else f"has {found:,} bytes instead of {facts.bytes:,}"
        )
        raise CorpusError(f"{path} {problem}. Copy it again, or prepare the corpus again.")
    return str(path)


def _read_lengths(folder, shard):
    """Maps the lengths of a shard's pairs into memory: uint32 `(pairs, 2)`."""
    path = _check_file(folder, f"{shard.name}.lengths.npy", shard.files.lengths)
    if digest_of_file(path) != shard.files.lengths.sha256:
        raise CorpusError(f"{path} is damaged: checksum mismatch. Prepare the corpus again.")
    try:
        lengths = np.lib.format.open_memmap(path, mode="r")
    except (ValueError, OSError) as error:
        reason = " ".join(str(error).split())[:200]
        raise CorpusError(f"{path} is not an array: {reason}. Prepare the corpus again.") from None
    if lengths.shape != (shard.pairs, 2) or lengths.dtype != np.dtype("<u4"):
        raise CorpusError(
            f"{path} must contain {shard.pairs:,} pairs of <u4 by the index, but contains "
            f"{lengths.dtype.str} of shape {lengths.shape}. Prepare the corpus again."
        )
    return lengths


def _compact(lengths):
    """Converts lengths to the smallest integer type that can represent them."""
    return np.asarray(lengths, dtype=np.min_scalar_type(int(lengths.max(initial=0))))
