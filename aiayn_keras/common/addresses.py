"""Files at addresses: paths of this machine, or `s3://`, `gs://` and others that fsspec knows."""

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
    """A file as it was found.

    Attributes:
        address: Its path or URL.
        bytes: Its size.
        version: What changes when its content does: an object store's tag, or a time.
    """

    address: str
    bytes: int
    version: str


def file_system(address):
    """The fsspec file system of an address, and the path in it.

    Raises:
        ImportError: If fsspec, or its part for this kind of address, is not installed.
        ValueError: For a kind of address that it does not know.
    """
    try:
        from fsspec.core import url_to_fs

        return url_to_fs(str(address))
    except ImportError as error:
        raise ImportError(f"{address} cannot be read: {error}. Install it: {INSTALL}") from error


def is_address(folder):
    """Whether a path is the address of something that is not of this machine, such as `s3://`."""
    return "://" in str(folder)


def absolute(folder):
    """The address of a folder, which another process may use that works elsewhere."""
    kind, mark, rest = str(folder).partition("://")
    if kind in ("file", "local"):
        return os.path.abspath(file_system(folder)[1])
    return f"{kind}://{rest.rstrip('/')}" if mark else os.path.abspath(folder)


def is_in(address, folder):
    """Whether a file, as `find_files` gives it, lies in a folder, as `absolute` gives it."""
    if is_address(address) != is_address(folder):
        return False
    if is_address(folder):
        folder = _address(*file_system(folder))  # as `find_files` spells it
    else:  # a link may lead there
        address, folder = os.path.realpath(address), os.path.realpath(folder)
    return address.startswith(f"{folder.rstrip('/')}/")


def find_files(pattern):
    """The files of a pattern such as `s3://corpus/part-*.gz`, in the order of their names.

    Args:
        pattern: A path or URL, in which `*`, `?` and `[...]` stand for parts of names and `**` for
            folders.

    Returns:
        List of at least one `FoundFile`.

    Raises:
        FileNotFoundError: If there is none, or one is a link that leads nowhere.
    """
    system, path = file_system(pattern)
    with _its_errors(pattern):
        is_pattern = _has_magic(path) and not system.isfile(path)  # a name may have a bracket in it
    if is_pattern and _is_local(system):  # fsspec's own patterns leave out links
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
    """The address of a file in a folder."""
    return f"{str(folder).rstrip('/')}/{name}"


def sizes_in(folder):
    """Bytes of the files in a folder, by their names; empty if there is no such folder."""
    return {name: facts["size"] for name, facts in _entries(folder) if facts["type"] == "file"}


def folders_in(folder):
    """Names of the folders in a folder; empty if there is no such folder."""
    return {name for name, facts in _entries(folder) if facts["type"] == "directory"}


def _entries(folder):
    """Tuples of a name in a folder, and what the file system says of it."""
    system, path = file_system(folder)
    system.invalidate_cache()
    try:
        found = system.ls(path, detail=True)
    except FileNotFoundError:
        return []
    # An object store marks a folder by an empty object of its name.
    others = (each for each in found if each["name"].rstrip("/") != path.rstrip("/"))
    return [(each["name"].rstrip("/").rsplit("/", 1)[-1], each) for each in others]


def read_file(address, max_bytes):
    """The bytes of a file of at most so many bytes.

    Raises:
        FileNotFoundError: If there is none.
        ValueError: If it is larger.
    """
    system, path = file_system(address)
    with _its_errors(address), system.open(path, "rb") as file:
        content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise ValueError(f"{address} has more than {max_bytes:,} bytes, too many for such a file.")
    return content


def copy_file(address, path):
    """Copies a file to a path of this machine.

    Raises:
        FileNotFoundError: If there is none.
    """
    system, source = file_system(address)
    with _its_errors(address):
        system.get_file(source, str(path))


def delete_file(address):
    """Deletes a file, if it is there."""
    system, path = file_system(address)
    with _its_errors(address), contextlib.suppress(FileNotFoundError):
        if system.exists(path):  # who may not delete need not, if there is nothing
            system.rm_file(path)


@contextlib.contextmanager
def whole_file(address):
    """Gives a path to write, whose content is at the address when the block ends without an error.

    On this machine the file is renamed into its place; an object store shows an object when all of
    it has arrived.

    Yields:
        A `pathlib.Path`.

    Raises:
        OSError: If it cannot be written, with the address.
    """
    system, path = file_system(address)
    if _is_local(system):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        try:
            with atomic_path(path) as temporary:
                yield temporary
        except OSError as error:
            if error.filename is None:  # as of a disk that is full
                raise OSError(f"While {address} was written: {error}") from error
            raise
        return
    with tempfile.TemporaryDirectory() as folder:
        temporary = Path(folder) / path.rsplit("/", 1)[-1]
        yield temporary
        with _its_errors(address):
            system.put_file(str(temporary), path)


@contextlib.contextmanager
def _its_errors(address):
    """Names the address in errors of a file system, which often name a key alone."""
    try:
        yield
    except FileNotFoundError:
        raise FileNotFoundError(f"There is no file {address}.") from None
    except PermissionError as error:
        raise PermissionError(f"{address} may not be read or written: {error}") from error


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
