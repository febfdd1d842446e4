"""Fetch one corpus file: download, unpack, check, and only then put it in its place."""

import dataclasses
import gzip
import hashlib
import pathlib
import tempfile
import zipfile
import zlib

import pooch

from aiayn_keras.data.text_lines import CorpusError
from aiayn_keras.files import atomic_path


@dataclasses.dataclass(frozen=True)
class RemoteFile:
    """A file with a public home.

    Args:
        path: Where it lies in the data folder.
        sha256: Checksum of the unpacked file, in hexadecimal.
        urls: Its homes, in the order to try them.
        member: Name of the file inside the `.zip` archive that the homes serve. A home whose name
            ends in `.gz` serves the file compressed; any other serves it as it is.
    """

    path: str
    sha256: str
    urls: tuple[str, ...]
    member: str | None = None


def fetch(file: RemoteFile, cache_dir=None, retries: int = 3) -> pathlib.Path:
    """The local path of a file, downloaded if it is not in the cache yet.

    The file appears in the cache complete and with the right checksum, or not at all: a download
    that was cut short or a killed machine leaves nothing that looks like it.

    Args:
        file: What to fetch.
        cache_dir: Where to keep it; the user's cache folder for `aiayn_keras` by default.
        retries: How often to try each home again after a failure.

    Returns:
        Path of the unpacked file.

    Raises:
        CorpusError: If no home gives the file with the right checksum.
    """
    target = pathlib.Path(cache_dir or pooch.os_cache("aiayn_keras")) / file.path
    if target.is_file() and _sha256(target.read_bytes()) == file.sha256:
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    failures = []
    for url in file.urls:
        try:
            data = _download(url, file.member, retries)
        # requests raises OSErrors, pooch ValueErrors.
        except (OSError, ValueError, EOFError, KeyError, zlib.error, zipfile.BadZipFile) as error:
            failures.append(f"{url}: {error}")
            continue
        if _sha256(data) == file.sha256:
            with atomic_path(target) as temporary:
                temporary.write_bytes(data)
            return target
        failures.append(f"{url}: sha256 is {_sha256(data)}, expected {file.sha256}")
    raise CorpusError(
        f"Could not download {file.path!r}. Put the file into a folder and set AIAYN_KERAS_DATA "
        f"to that folder, or try again later. Tried: {'; '.join(failures)}."
    )


def _download(url, member, retries):
    """The unpacked bytes behind a URL."""
    name = url.rsplit("/", 1)[-1]
    with tempfile.TemporaryDirectory() as folder:
        files = pooch.create(
            folder, base_url="", registry={name: None}, urls={name: url}, retry_if_failed=retries
        )
        data = pathlib.Path(files.fetch(name)).read_bytes()
        if member is not None:
            with zipfile.ZipFile(pathlib.Path(folder, name)) as archive:
                return archive.read(member)
    return gzip.decompress(data) if name.endswith(".gz") else data


def _sha256(data):
    return hashlib.sha256(data).hexdigest()
