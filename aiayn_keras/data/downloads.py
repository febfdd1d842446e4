"""Fetch one corpus file: download, unpack, check, and only then put it in its place."""

import dataclasses
import pathlib
import zipfile
import zlib

import pooch

from aiayn_keras.data.text_files import CorpusError
from aiayn_keras.files import atomic_path


@dataclasses.dataclass(frozen=True)
class RemoteFile:
    """A file with public addresses.

    Args:
        path: Its path in the data folder.
        sha256: Checksum of the unpacked file, in hexadecimal.
        urls: Its addresses, in the order to try them.
        member: Name of the file inside the `.zip` archive at the addresses. An address that ends
            in `.gz` serves the file compressed; any other serves it as it is.
    """

    path: str
    sha256: str
    urls: tuple[str, ...]
    member: str | None = None


def fetch(file: RemoteFile, cache_dir=None, retries: int = 3) -> pathlib.Path:
    """Finds the local path of a file, downloaded if it is not in the cache yet.

    The file appears in the cache complete and with the right checksum, or not at all: a download
    that was cut short or a killed machine leaves nothing that looks like it.

    Args:
        file: The file.
        cache_dir: Folder to keep it in; the user's cache folder for `aiayn_keras` by default.
        retries: Further attempts at each address after a failure.

    Returns:
        Path of the unpacked file.

    Raises:
        CorpusError: If no address gives the file with the right checksum.
    """
    target = pathlib.Path(cache_dir or pooch.os_cache("aiayn_keras")) / file.path
    if target.is_file() and pooch.file_hash(target) == file.sha256:
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    failures = []
    for url in file.urls:
        try:
            with atomic_path(target) as temporary:
                unpacked = _download(url, file.member, temporary.parent, retries)
                found = pooch.file_hash(unpacked)
                if found != file.sha256:
                    raise ValueError(f"sha256 is {found}, expected {file.sha256}")
                unpacked.replace(temporary)
            return target
        # requests raises OSErrors, pooch ValueErrors, and unpacking all the others.
        except (OSError, ValueError, EOFError, zlib.error, zipfile.BadZipFile) as error:
            failures.append(f"{url}: {error}")
    raise CorpusError(
        f"Could not download {file.path!r}. Put the file into a folder and set AIAYN_KERAS_DATA "
        f"to that folder, or try again later. Tried: {'; '.join(failures)}."
    )


def _download(url, member, folder, retries):
    """Path of the unpacked file of an address, in a folder."""
    name = url.rsplit("/", 1)[-1]
    files = pooch.create(
        folder, base_url="", registry={name: None}, urls={name: url}, retry_if_failed=retries
    )
    if member is None:
        unpack = pooch.Decompress() if name.endswith(".gz") else None
        return pathlib.Path(files.fetch(name, unpack))
    members = files.fetch(name, pooch.Unzip([member]))
    if not members:
        raise ValueError(f"the archive holds no {member}")
    return pathlib.Path(members[0])
