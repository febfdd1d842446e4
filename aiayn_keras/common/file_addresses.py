"""Files at addresses: local paths, URLs that fsspec supports, and the Hugging Face Hub.

An address without `scheme://` is a path, whatever characters it has; only a URL is parsed. Single
model files are downloaded from the Hub through its own client and cache.
"""

import contextlib
import os
import re
import tempfile
from pathlib import Path

from aiayn_keras_light.files import atomic_path

INSTALL = "pip install aiayn-keras[scale]"
PROTOCOLS = frozenset({"file", "http", "https", "s3", "gs", "abfs", "hf"})
"""Kinds of URLs. fsspec knows others that can run code from an address, such as `reference://`."""

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.:-]*)://", re.ASCII)
_HUGGING_FACE = "hf://"
_UNSUPPORTED = {"kaggle://": "kagglehub.model_download", "modelscope://": "ModelScope's client"}


def file_system(address):
    """Returns the fsspec file system of an address, and the path in that file system.

    Raises:
        ImportError: If fsspec, or its extension for this kind of address, is not installed.
        ValueError: If it is a URL of a kind other than `PROTOCOLS`, or a chain of them.
    """
    address = str(address)
    protocol = _protocol(address)
    if protocol not in PROTOCOLS | {None}:
        kinds = ", ".join(f"{kind}://" for kind in sorted(PROTOCOLS))
        raise ValueError(
            f"{address!r} is a URL of the kind {protocol}://, which is not read or written. "
            f"Use one of {kinds} or, for a file of this machine with such a name, put ./ before it."
        )
    try:
        from fsspec import get_filesystem_class

        system_class = get_filesystem_class(protocol or "file")
    except ImportError as error:
        raise ImportError(f"{address} cannot be read: {error}. Install it: {INSTALL}") from error
    if protocol in ("file", None):
        return system_class(), _local_path(address)
    # Not `url_to_fs`, for which `::` in the name of an object begins another URL.
    options = system_class._get_kwargs_from_urls(address)
    return system_class(**options), system_class._strip_protocol(address)


def _protocol(address):
    match = _URL.match(str(address))
    return match and match[1]


def _local_path(address):
    return os.path.abspath(str(address).removeprefix("file://"))


def is_url(address):
    """Returns whether an address is a URL such as `s3://bucket/corpus`, not a local path."""
    return _protocol(address) is not None


def absolute(folder):
    """Returns an address that is valid in processes with a different working directory."""
    kind = _protocol(folder)
    if kind in ("file", None):
        return _local_path(folder)
    return f"{kind}://{str(folder).removeprefix(f'{kind}://').rstrip('/')}"


def is_in(address, folder):
    """Returns whether a file found by `find_files` is inside a folder returned by `absolute`."""
    if is_url(address) != is_url(folder):
        return False
    if is_url(folder):
        folder = address_in(*file_system(folder))  # in the spelling of `find_files`
    else:  # resolve links into the folder
        address, folder = os.path.realpath(address), os.path.realpath(folder)
    return address.startswith(f"{folder.rstrip('/')}/")


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
    with naming_errors(address), system.open(path, "rb") as file:
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
    with naming_errors(address):
        system.get_file(source, str(path))


def delete_file(address):
    """Deletes a file if it exists."""
    system, path = file_system(address)
    with naming_errors(address), contextlib.suppress(FileNotFoundError):
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
    if is_local(system):
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
        with naming_errors(address):
            system.put_file(str(temporary), path)


@contextlib.contextmanager
def naming_errors(address):
    """Adds the address to errors of a file system, which often name only the key."""
    try:
        yield
    except FileNotFoundError:
        raise FileNotFoundError(f"There is no file {address}.") from None
    except PermissionError as error:
        raise PermissionError(f"No permission to read or write {address}: {error}") from error


def is_local(system):
    """Returns whether a file system returned by `file_system` is that of this machine."""
    return "file" in (system.protocol if isinstance(system.protocol, tuple) else [system.protocol])


def address_in(system, path):
    """Returns the address of a path in a file system returned by `file_system`."""
    return path if is_local(system) else system.unstrip_protocol(path)


def is_hub_address(preset):
    """Returns whether a preset is the address of a model on a hub rather than a path."""
    return str(preset).startswith((_HUGGING_FACE, *_UNSUPPORTED))


def download(address, names, one_of=(), optional=()):
    """Downloads files of a model, or finds them in the cache of `huggingface_hub`.

    Args:
        address: An address such as `"hf://Helsinki-NLP/opus-mt-en-de"`.
        names: List of required files, with `/` between folders.
        one_of: List of alternatives; the first one that exists is downloaded.
        optional: List of files that may be missing.

    Returns:
        `pathlib.Path` of the folder that holds the files.

    Raises:
        FileNotFoundError: If the model lacks a required file, or the hub cannot be reached.
        OSError: If the model changed during the download, or is private or gated.
        ValueError: If the address is not a valid one of the Hugging Face Hub.
    """
    handle = _handle_of(address)
    folders = {_folder_of(handle, name) for name in names}
    if one_of:
        first = next(filter(None, (_folder_if_there(handle, name) for name in one_of)), None)
        if first is None:
            raise FileNotFoundError(f"{address} has neither {' nor '.join(one_of)}.")
        folders.add(first)
    folders.update(filter(None, (_folder_if_there(handle, name) for name in optional)))
    if len(folders) > 1:
        raise OSError(f"{address} changed while it was being downloaded: try again.")
    return folders.pop()


def _handle_of(address):
    """The name of the repository at an address."""
    for scheme, client in _UNSUPPORTED.items():
        if address.startswith(scheme):
            raise ValueError(
                f"{address} cannot be downloaded: only {_HUGGING_FACE} addresses can. Download the "
                f"model with {client} and give its folder."
            )
    return address.removeprefix(_HUGGING_FACE)


def _folder_if_there(handle, name):
    """The model's folder, or `None` if the model does not have the file."""
    import huggingface_hub
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

    try:
        return _download(handle, name)
    except LocalEntryNotFoundError:  # the hub cannot be reached: the cache may know
        known = huggingface_hub.try_to_load_from_cache(handle, name)
        if known is not huggingface_hub._CACHED_NO_EXIST:
            raise _not_found(handle, name) from None
    except EntryNotFoundError:
        pass
    return None


def _folder_of(handle, name):
    """The model's folder, into which one of its files is downloaded."""
    from huggingface_hub.errors import EntryNotFoundError

    try:
        return _download(handle, name)
    except EntryNotFoundError:
        raise _not_found(handle, name) from None


def _not_found(handle, name):
    return FileNotFoundError(
        f"{_HUGGING_FACE}{handle} does not have the file {name}. Or the hub cannot be reached: "
        "try again."
    )


def _download(handle, name):
    import huggingface_hub
    from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError, HFValidationError

    address = f"{_HUGGING_FACE}{handle}"
    try:
        path = huggingface_hub.hf_hub_download(handle, name)
    except EntryNotFoundError:
        raise
    except HFValidationError as error:
        raise ValueError(
            f"{address} is not an address of the form hf://USER/MODEL: {_line(error)}"
        ) from None
    except HfHubHTTPError as error:  # a missing, private or gated repository
        raise OSError(f"{address} cannot be downloaded: {_line(error)}") from error
    return Path(path).parents[name.count("/")]


def _line(error):
    return " ".join(str(error).split())[:300]
