"""The index of a folder of token shards: its fields, and how it is read."""

from pathlib import Path
from typing import Annotated, Literal

import pydantic
from pydantic import Field, JsonValue

from aiayn_keras.data.text_files import CorpusError
from aiayn_keras.files import digest_of_file, read_bytes

VERSION = 1
INDEX = "index.json"
MAX_INDEX_BYTES = 64_000_000
MOST_PAIRS = 2**31 - 1
MOST_FILE_BYTES = 2**50


class _Fields(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(
        extra="forbid", frozen=True, strict=True, allow_inf_nan=False
    )


class FileFacts(_Fields):
    """Facts by which a file of a shard is known.

    Attributes:
        bytes: Its size.
        sha256: Its checksum, in hexadecimal.
    """

    bytes: Annotated[int, Field(ge=0, le=MOST_FILE_BYTES)]
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


def facts_of(path):
    """The `FileFacts` of a file."""
    return FileFacts(bytes=path.stat().st_size, sha256=digest_of_file(path))


class ShardFiles(_Fields):
    """The two files of a shard, by their ending."""

    array_record: FileFacts
    lengths: Annotated[FileFacts, Field(alias="lengths.npy")]


class Shard(_Fields):
    """One shard.

    Attributes:
        name: Name of its files without their ending.
        pairs: Number of its pairs.
        files: `ShardFiles`.
    """

    name: Annotated[str, Field(pattern="^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$")]
    pairs: Annotated[int, Field(ge=1, le=MOST_PAIRS)]
    files: ShardFiles


class ShardIndex(_Fields):
    """The file `index.json` that `write_shards` writes.

    Attributes:
        version: Of the format.
        dtype: NumPy's name of the type of the ids.
        origin: Description of the corpus and tokenizer.
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
        if sum(shard.pairs for shard in shards) > MOST_PAIRS:
            raise ValueError(f"all shards together must have at most {MOST_PAIRS:,} pairs")
        return shards


def read_index(folder):
    """Reads the `ShardIndex` of a folder.

    Args:
        folder: Path of the folder.

    Raises:
        FileNotFoundError: If the folder has no index.
        CorpusError: For an index that cannot be used; the message names its first wrong field.
    """
    path = Path(folder) / INDEX
    try:
        return parse_index(read_bytes(path, MAX_INDEX_BYTES), path)
    except FileNotFoundError:
        raise FileNotFoundError(
            f"{folder} holds no prepared corpus: it has no {INDEX}. Make one with "
            "`aiayn-keras prepare`."
        ) from None
    except CorpusError:
        raise
    except (OSError, ValueError) as error:
        raise CorpusError(f"{error} Prepare the corpus again.") from None


def parse_index(content, path):
    """Reads the `ShardIndex` of a file's bytes.

    Args:
        content: The bytes.
        path: The file's path or URL, for messages.

    Raises:
        CorpusError: As `read_index`.
    """
    try:
        return ShardIndex.model_validate_json(content)
    except pydantic.ValidationError as error:
        raise CorpusError(_explain(error, path)) from None


def _explain(error, path):
    problems = {problem["loc"]: problem for problem in error.errors()}
    version = problems.get(("version",))
    if version is not None and version["type"] != "missing":
        return (
            f"{path} has version {version['input']!r:.40}, this package reads {VERSION}. "
            "Prepare the corpus again."
        )
    place, problem = next(iter(problems.items()))
    field = ".".join(map(str, place))[:100]
    reason = problem["msg"].removeprefix("Value error, ")
    return (
        f"{path} is damaged{f': `{field}`' if field else ''}: {reason}. Prepare the corpus again."
    )
