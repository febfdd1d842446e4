"""Files found by a pattern, and their state, which must not change while they are in use."""

import collections
import contextlib
import fnmatch
import logging
import os
import stat
from dataclasses import dataclass

from aiayn_keras.common.file_addresses import address_in, file_system, is_local, naming_errors
from aiayn_keras_light.text_files import CorpusError

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class FoundFile:
    """A file and its state when it was found.

    Attributes:
        address: Path or URL.
        bytes: Size in bytes.
        version: An object store's tag, or the inode and the times of the last modification and of
            the last change of any kind, to detect changes of the contents. Programs can reset the
            time of modification, but not that of the last change.
    """

    address: str
    bytes: int
    version: str


def find_files(pattern):
    """Finds the files that match a pattern such as `s3://corpus/part-*.gz`, sorted by name.

    A local file that matches under several names, by way of links, is found once.

    Args:
        pattern: A path or URL in which `*`, `?` and `[...]` match parts of names and `**` matches
            folders. A file of exactly that name comes before those that match, and so does a
            folder whose name has brackets.

    Returns:
        Non-empty list of `FoundFile`s.

    Raises:
        FileNotFoundError: If no file matches, or a match is a broken link.
        ValueError: If it is a URL of a kind other than `PROTOCOLS`.
    """
    system, path = file_system(pattern)
    files = _local_files(path) if is_local(system) else _remote_files(system, path, pattern)
    if not files:
        remedy = _remedy(path) if is_local(system) else ""
        raise FileNotFoundError(f"No file matches {pattern}.{remedy}")
    return files


def _remedy(path):
    """Sentence that says what is there instead of a file; "" if nothing is."""
    if os.path.isdir(path):
        return f" It is a folder: for its files, give {path.rstrip('/')}/*."
    return " It is not a regular file." if os.path.exists(path) else ""


def fixed_folder(pattern):
    """Returns the address of the folder that contains all files that a pattern may match.

    It ends before the first part of the pattern that matches several names; for a pattern that is
    the name of a file, it is the file's folder.
    """
    system, path = file_system(pattern)
    if is_local(system):
        folder, others = _split_pattern(path)
        return folder if others else os.path.dirname(folder)
    parts = path.split("/")
    if _has_magic(path) and not system.isfile(path):
        last = next(place for place, part in enumerate(parts) if _has_magic(part))
    else:
        last = len(parts) - 1
    return address_in(system, "/".join(parts[:last]))


def check_unchanged(file):
    """Raises a `CorpusError` if a `FoundFile` is not in the state in which it was found."""
    system, path = file_system(file.address)
    try:
        if is_local(system):
            found, _ = _local_file(path)
        else:
            system.invalidate_cache()
            found = _remote_file(system, path, _facts(system, path, file.address))
    except FileNotFoundError:
        raise CorpusError(f"{file.address} has been deleted while it was in use.") from None
    if (found.bytes, found.version) != (file.bytes, file.version):
        sizes = (
            f"{file.bytes:,} bytes, now {found.bytes:,}"
            if found.bytes != file.bytes
            else f"still {file.bytes:,} bytes, but written again, or given other rights or links"
        )
        raise CorpusError(
            f"{file.address} has changed while it was in use ({sizes}). Make sure that nothing "
            "writes to it, and start again in a different folder."
        )


@contextlib.contextmanager
def unchanged(*files):
    """Context manager that raises a `CorpusError` if a `FoundFile` changes during the block."""
    for file in files:
        check_unchanged(file)
    try:
        yield
    except CorpusError:  # such as a compressed file without its end: the change is the cause
        for file in files:
            check_unchanged(file)
        raise
    for file in files:
        check_unchanged(file)


# ---- Local files ----


def _local_files(pattern):
    names = list(_matches(*_split_pattern(pattern)))
    if names == [pattern] and _has_magic(pattern) and len(set(_matches("", _parts(pattern)))) > 1:
        logger.warning("%s is a file; others that match it as a pattern are left out.", pattern)
    files, others, folders = {}, [], []
    for name in sorted(set(names), key=lambda name: (name.count("/"), name)):
        with naming_errors(name):
            file, facts = _local_file(name)
        if stat.S_ISREG(facts.st_mode):
            first = files.setdefault((facts.st_dev, facts.st_ino), file)
            others += [name] if first is not file else []
        elif stat.S_ISDIR(facts.st_mode) and _has_magic(pattern) and "**" not in _parts(pattern):
            folders.append(name)
    if others:
        logger.warning(
            "Read once: files that %s matches under several names, such as %s.", pattern, others[0]
        )
    if folders:
        logger.warning(
            "Left out: folders that %s matches, such as %s. In a pattern, **/ stands for folders.",
            *(pattern, folders[0]),
        )
    return sorted(files.values(), key=lambda file: file.address)


def _local_file(path):
    """A `FoundFile`, and what the operating system says about it."""
    facts = os.stat(path)
    version = f"{facts.st_mtime_ns}-{facts.st_ctime_ns}-{facts.st_ino}"
    return FoundFile(path, facts.st_size, version), facts


def _split_pattern(pattern):
    """The folder or file at the beginning of a local pattern, and a list of the other parts."""
    if os.path.lexists(pattern) and not os.path.isdir(pattern):
        return pattern, []
    found, parts = "", _parts(pattern)
    while parts:
        part = parts[0]
        matches_itself = fnmatch.fnmatchcase(part, part)  # with `*`, but not with brackets
        if _has_magic(part) and (matches_itself or not os.path.lexists(f"{found}/{part}")):
            break
        found = f"{found}/{parts.pop(0)}"
    return found, parts


def _parts(pattern):
    return pattern.split("/")[1:]


def _matches(folder, parts):
    """Yields the names that match the parts of a pattern below a folder; some of them twice."""
    if not parts:
        yield folder
        return
    part, *rest = parts
    if part == "**":
        for each in _folders_below(folder):
            yield from _matches(each, rest or ["*"])
    elif not _has_magic(part):
        if os.path.lexists(f"{folder}/{part}"):
            yield from _matches(f"{folder}/{part}", rest)
    elif os.path.isdir(folder or "/"):
        for name in os.listdir(folder or "/"):
            if fnmatch.fnmatchcase(name, part) and _is_hidden(name) <= _is_hidden(part):
                yield from _matches(f"{folder}/{name}", rest)


def _folders_below(folder):
    """Yields a folder and all below it, each once, under the shortest name that links give it."""
    seen, queue = set(), collections.deque([folder])
    while queue:
        folder = queue.popleft()
        if not os.path.isdir(folder or "/"):
            continue
        facts = os.stat(folder or "/")
        if (facts.st_dev, facts.st_ino) not in seen:
            seen.add((facts.st_dev, facts.st_ino))
            yield folder
            names = sorted(os.listdir(folder or "/"))
            queue.extend(f"{folder}/{name}" for name in names if not _is_hidden(name))


def _is_hidden(name):
    return name.startswith(".")


def _has_magic(path):
    return any(mark in path for mark in "*?[")


# ---- Files in an object store or on a server ----


def _remote_files(system, path, pattern):
    with naming_errors(pattern):
        is_pattern = _has_magic(path) and not system.isfile(path)  # names may contain brackets
        found = system.glob(path, detail=True) if is_pattern else {path: system.info(path)}
    files = []
    for name, facts in sorted(found.items()):
        if facts["type"] == "file":
            if facts["size"] is None:  # a list on a web server does not hold it
                facts = _facts(system, name, address_in(system, name))
            files.append(_remote_file(system, name, facts))
    return files


def _remote_file(system, path, facts):
    return FoundFile(address_in(system, path), facts["size"], _version(facts))


def _version(facts):
    for name in ("ETag", "etag", "blob_id", "mtime", "LastModified", "updated", "created"):
        if facts.get(name) is not None:
            return str(facts[name]).strip('"')
    return ""


def _facts(system, path, address):
    with naming_errors(address):
        return system.info(path)
