"""Files of public corpora: where they are published, and where they are here."""

import dataclasses
import os
import pathlib
import zipfile
import zlib
from importlib import resources

import pooch

from aiayn_keras.common.files import atomic_path
from aiayn_keras.common.text_files import CorpusError


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


# The pinned commit first: its files cannot change.
MULTI30K_HOMES = tuple(
    f"https://raw.githubusercontent.com/multi30k/dataset/{revision}/data/task1"
    for revision in ("a3d2e0d26b56f3846f66a952536ffed4e401d05a", "master")
)
MULTI30K_SPLITS = {"train": "train", "validation": "val", "test": "test_2016_flickr"}
# Of the unpacked files, as `sha256sum --check` reads them in the data folder.
_LINES = (resources.files("aiayn_keras.data") / "checksums.txt").read_text("utf-8").splitlines()
SHA256 = {path: digest for digest, path in map(str.split, _LINES)}


def _multi30k_file(variant, split, language):
    # The raw files are served compressed, the tokenised ones are not.
    middle, ending = ("", ".gz") if variant == "raw" else (".lc.norm.tok", "")
    name = f"{variant}/{MULTI30K_SPLITS[split]}{middle}.{language}"
    urls = tuple(f"{home}/{name}{ending}" for home in MULTI30K_HOMES)
    return RemoteFile(f"multi30k/{name}", SHA256[f"multi30k/{name}"], urls)


MULTI30K = {
    f"{variant}/{split}.{language}": _multi30k_file(variant, split, language)
    for variant in ("raw", "tok")
    for split in MULTI30K_SPLITS
    for language in ("de", "en", "fr")
}
TATOEBA = RemoteFile(
    path="tatoeba-spa-eng/spa.txt",
    sha256=SHA256["tatoeba-spa-eng/spa.txt"],
    urls=tuple(
        f"{scheme}://storage.googleapis.com/download.tensorflow.org/data/spa-eng.zip"
        for scheme in ("https", "http")
    ),
    member="spa-eng/spa.txt",
)
# Release 5; the sha256 sums are those of the files' content in it.
CRAFT_HOME = "https://raw.githubusercontent.com/UCDenver-ccp/CRAFT/master"
CRAFT = {
    path.removeprefix("craft/"): RemoteFile(
        path, digest, (f"{CRAFT_HOME}/{path.removeprefix('craft/')}",)
    )
    for path, digest in SHA256.items()
    if path.startswith("craft/")
}


DATA_VARIABLE = "AIAYN_KERAS_DATA"


def locate(file, data_dir=None):
    """Finds the path of a corpus file, which is downloaded where no folder is named.

    Args:
        file: A `RemoteFile`.
        data_dir: The user's folder; by default the one that AIAYN_KERAS_DATA names.

    Raises:
        FileNotFoundError: If it is missing from the folder.
        CorpusError: If it cannot be downloaded.
    """
    folder, origin = data_dir, "`data_dir`"
    if folder is None:
        folder, origin = os.environ.get(DATA_VARIABLE), f"the variable {DATA_VARIABLE}"
    if not folder:
        return fetch(file)
    path = pathlib.Path(folder) / file.path
    if not path.is_file():
        raise FileNotFoundError(
            f"There is no corpus file {str(path)!r}; {origin} names the folder {str(folder)!r}. "
            f"Put the file there, or unset {DATA_VARIABLE} and leave `data_dir` out to download it."
        )
    return path
