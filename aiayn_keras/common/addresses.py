"""Files at addresses: local paths, or URLs such as `s3://` and `gs://` that fsspec supports."""

import contextlib
import glob
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from aiayn_keras.common.files import atomic_path

INSTALL = "pip install aiayn-keras[scale]"


@dataclass(frozen=True)
class FoundFile:
    """A file and its state when it was found.

    Attributes:
        address: Path or URL.
        bytes: Size in bytes.
        version: An object store's tag or the modification time, to detect changes of the contents.
    """

    address: str
    bytes: int
    version: str


def file_system(address):
    """Returns the fsspec file system of an address, and the path in that file system.

    Raises:
        ImportError: If fsspec, or its extension for this kind of address, is not installed.
        ValueError: If fsspec does not support this kind of address.
    """
    try:
        from fsspec.core import url_to_fs

        return url_to_fs(str(address))
    except ImportError as error:
        raise ImportError(f"{address} cannot be read: {error}. Install it: {INSTALL}") from error


def is_url(address):
    """Returns whether an address is a URL such as `s3://bucket/corpus`, not a local path."""
    return "://" in str(address)


def absolute(folder):
    """Returns an address that is valid in processes with a different working directory."""
    kind, mark, rest = str(folder).partition("://")
    if kind in ("file", "local"):
        return os.path.abspath(file_system(folder)[1])
    return f"{kind}://{rest.rstrip('/')}" if mark else os.path.abspath(folder)


def is_in(address, folder):
    """Returns whether a file found by `find_files` is inside a folder returned by `absolute`."""
    if is_url(address) != is_url(folder):
        return False
    if is_url(folder):
        folder = _address(*file_system(folder))  # in the spelling of `find_files`
    else:  # resolve links into the folder
        address, folder = os.path.realpath(address), os.path.realpath(folder)
    return address.startswith(f"{folder.rstrip('/')}/")


def find_files(pattern):
    """Finds the files that match a pattern such as `s3://corpus/part-*.gz`, sorted by name.

    Args:
        pattern: A path or URL in which `*`, `?` and `[...]` match parts of names and `**` matches
            folders.

    Returns:
        Non-empty list of `FoundFile`s.

    Raises:
        FileNotFoundError: If no file matches, or a match is a broken link.
    """
    system, path = file_system(pattern)
    with _its_errors(pattern):
        is_pattern = _has_magic(path) and not system.isfile(path)  # names may contain brackets
    if is_pattern and _is_local(system):  # fsspec's own patterns skip links
        found = {name: _facts(system, name, name) for name in glob.glob(path, recursive=True)}
    elif is_pattern:
        with _its_errors(pattern):
            found = system.glob(path, detail=True)
    else:
        found = {path: _facts(system, path, pattern)}
    files = [
        FoundFile(_address(system, name), facts["size"], _version(facts))
        for name, facts in sorted(found.items())
        if facts["type"] == "file"
    ]
    if not files:
        raise FileNotFoundError(f"There is no file {pattern}.")
    return files


def _facts(system, path, address):
    with _its_errors(address):
        return system.info(path)


def join(folder, name):
    """Returns the address of a file in a folder."""
    return f"{str(folder).rstrip('/')}/{name}"


def sizes_in(folder):
    """Returns the sizes of the files in a folder by name; empty if the folder does not exist."""
    return {name: facts["size"] for name, facts in _entries(folder) if facts["type"] == "file"}


def folders_in(folder):
    """Returns the names of the subfolders of a folder; empty if the folder does not exist."""
    return {name for name, facts in _entries(folder) if facts["type"] == "directory"}


def _entries(folder):
    """Returns tuples of each name in a folder and the file system's information about it."""
    system, path = file_system(folder)
    system.invalidate_cache()
    try:
        found = system.ls(path, detail=True)
    except FileNotFoundError:
        return []
    # An object store may represent the folder itself by an empty object.
    others = (each for each in found if each["name"].rstrip("/") != path.rstrip("/"))
    return [(each["name"].rstrip("/").rsplit("/", 1)[-1], each) for each in others]


def read_file(address, max_bytes):
    """Reads a file of at most `max_bytes` bytes.

    Raises:
        FileNotFoundError: If the file does not exist.
        ValueError: If the file is larger.
    """
    system, path = file_system(address)
    with _its_errors(address), system.open(path, "rb") as file:
        content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise ValueError(
            f"{address} has more than {max_bytes:,} bytes, too many for this kind of file."
        )
    return content


def copy_file(address, path):
    """Copies a file to a local path.

    Raises:
        FileNotFoundError: If the file does not exist.
    """
    system, source = file_system(address)
    with _its_errors(address):
        system.get_file(source, str(path))


def delete_file(address):
    """Deletes a file if it exists."""
    system, path = file_system(address)
    with _its_errors(address), contextlib.suppress(FileNotFoundError):
        if system.exists(path):  # a missing file needs no permission to delete
            system.rm_file(path)


@contextlib.contextmanager
def whole_file(address):
    """Provides a temporary file, which is moved to an address if the block ends without an error.

    A local file is renamed into place; an object store shows an object once it has been received
    in full. So the file appears complete or not at all.

    Yields:
        `pathlib.Path` of the temporary file.

    Raises:
        OSError: If the file cannot be written; the message names the address.
    """
    system, path = file_system(address)
    if _is_local(system):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        try:
            with atomic_path(path) as temporary:
                yield temporary
        except OSError as error:
            if error.filename is None:  # for example if the disk is full
                raise OSError(f"Could not write {address}: {error}") from error
            raise
        return
    with tempfile.TemporaryDirectory() as folder:
        temporary = Path(folder) / path.rsplit("/", 1)[-1]
        yield temporary
        with _its_errors(address):
            system.put_file(str(temporary), path)


@contextlib.contextmanager
def _its_errors(address):
    """Adds the address to errors of a file system, which often name only the key."""
    try:
        yield
    except FileNotFoundError:
        raise FileNotFoundError(f"There is no file {address}.") from None
    except PermissionError as error:
        raise PermissionError(f"No permission to read or write {address}: {error}") from error


def _is_local(system):
    return "file" in (system.protocol if isinstance(system.protocol, tuple) else [system.protocol])


def _address(system, path):
    return path if _is_local(system) else system.unstrip_protocol(path)


def _version(facts):
    for name in ("ETag", "etag", "mtime", "LastModified", "updated", "created"):
        if facts.get(name) is not None:
            return str(facts[name]).strip('"')
    return ""


def _has_magic(path):
    return any(mark in path for mark in "*?[")
