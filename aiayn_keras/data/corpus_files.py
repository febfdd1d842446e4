"""Files of public corpora: their addresses and checksums, and where to find them on this machine.

`locate` looks in the user's folder or, if none is named, calls `fetch`, which downloads, unpacks
and verifies a file once.
"""

import dataclasses
import os
import pathlib
import zipfile
import zlib
from importlib import resources

import pooch

from aiayn_keras_light.files import atomic_path, user_cache
from aiayn_keras_light.text_files import CorpusError

_DATA_VARIABLE = "AIAYN_KERAS_DATA"


@dataclasses.dataclass(frozen=True)
class RemoteFile:
    """A file that can be downloaded.

    A URL that ends in `.gz` serves the file compressed; with `member`, it serves a `.zip` archive.

    Args:
        path: Path of the file in the data folder.
        sha256: Checksum of the unpacked file, in hexadecimal.
        urls: URLs of the file, in the order in which they are tried.
        member: Name of the file inside the `.zip` archive, or `None`.
    """

    path: str
    sha256: str
    urls: tuple[str, ...]
    member: str | None = None


def fetch(file: RemoteFile, cache_dir=None, retries: int = 3) -> pathlib.Path:
    """Returns the local path of a file, which is downloaded unless it is in the cache.

    The file appears in the cache complete and with the right checksum, or not at all, even if the
    download is interrupted or the process is killed.

    Args:
        file: A `RemoteFile`.
        cache_dir: Folder for downloads; the default is `user_cache()`.
        retries: Number of further attempts for each URL after a failure.

    Returns:
        Path of the unpacked file.

    Raises:
        CorpusError: If no URL serves the file with the right checksum.
    """
    target = pathlib.Path(cache_dir or user_cache()) / file.path
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
        # requests raises OSErrors, pooch ValueErrors, and unpacking the others.
        except (OSError, ValueError, EOFError, zlib.error, zipfile.BadZipFile) as error:
            failures.append(f"{url}: {error}")
    raise CorpusError(
        f"Could not download {file.path!r}. Put the file into a folder and set AIAYN_KERAS_DATA "
        f"to that folder, or try again later. Tried: {'; '.join(failures)}."
    )


def _download(url, member, folder, retries):
    """Downloads and unpacks a file into a folder; returns its path."""
    name = url.rsplit("/", 1)[-1]
    files = pooch.create(
        folder, base_url="", registry={name: None}, urls={name: url}, retry_if_failed=retries
    )
    if member is None:
        unpack = pooch.Decompress() if name.endswith(".gz") else None
        return pathlib.Path(files.fetch(name, unpack))
    members = files.fetch(name, pooch.Unzip([member]))
    if not members:
        raise ValueError(f"the archive does not contain {member}")
    return pathlib.Path(members[0])


# The pinned commit comes first, since its files cannot change.
_MULTI30K_HOMES = tuple(
    f"https://raw.githubusercontent.com/multi30k/dataset/{revision}/data/task1"
    for revision in ("a3d2e0d26b56f3846f66a952536ffed4e401d05a", "master")
)
_MULTI30K_SPLITS = {"train": "train", "validation": "val", "test": "test_2016_flickr"}
# Checksums of the unpacked files, in the format of `sha256sum --check`.
_LINES = (resources.files("aiayn_keras.data") / "checksums.txt").read_text("utf-8").splitlines()
_SHA256 = {path: digest for digest, path in map(str.split, _LINES)}


def _multi30k_file(variant, split, language):
    # The raw files are served compressed, the tokenized ones are not.
    middle, ending = ("", ".gz") if variant == "raw" else (".lc.norm.tok", "")
    name = f"{variant}/{_MULTI30K_SPLITS[split]}{middle}.{language}"
    urls = tuple(f"{home}/{name}{ending}" for home in _MULTI30K_HOMES)
    return RemoteFile(f"multi30k/{name}", _SHA256[f"multi30k/{name}"], urls)


MULTI30K = {
    f"{variant}/{split}.{language}": _multi30k_file(variant, split, language)
    for variant in ("raw", "tok")
    for split in _MULTI30K_SPLITS
    for language in ("de", "en", "fr")
}
TATOEBA = RemoteFile(
    path="tatoeba-spa-eng/spa.txt",
    sha256=_SHA256["tatoeba-spa-eng/spa.txt"],
    urls=tuple(
        f"{scheme}://storage.googleapis.com/download.tensorflow.org/data/spa-eng.zip"
        for scheme in ("https", "http")
    ),
    member="spa-eng/spa.txt",
)
# The checksums are those of release 5.
_CRAFT_HOME = "https://raw.githubusercontent.com/UCDenver-ccp/CRAFT/master"
CRAFT = {
    path.removeprefix("craft/"): RemoteFile(
        path, digest, (f"{_CRAFT_HOME}/{path.removeprefix('craft/')}",)
    )
    for path, digest in _SHA256.items()
    if path.startswith("craft/")
}


def locate(file, data_dir=None):
    """Returns the path of a corpus file, which is downloaded if no folder is named.

    Args:
        file: A `RemoteFile`.
        data_dir: Folder with the file; the default is the one named by AIAYN_KERAS_DATA, if any.

    Raises:
        FileNotFoundError: If the file is missing from the folder.
        CorpusError: If the file cannot be downloaded.
    """
    folder, origin = data_dir, "`data_dir`"
    if folder is None:
        folder, origin = os.environ.get(_DATA_VARIABLE), f"the variable {_DATA_VARIABLE}"
    if not folder:
        return fetch(file)
    path = pathlib.Path(folder) / file.path
    if not path.is_file():
        raise FileNotFoundError(
            f"Corpus file {str(path)!r} does not exist; {origin} names the folder {str(folder)!r}. "
            f"Put the file there, or unset {_DATA_VARIABLE} and omit `data_dir` to download it."
        )
    return path
