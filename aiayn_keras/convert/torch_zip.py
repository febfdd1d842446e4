"""The ZIP archives that `torch.save` writes since PyTorch 1.6: a pickle, and a file a storage."""

import contextlib
import io
import stat
import zipfile
from pathlib import PurePosixPath

from aiayn_keras.convert.inert_pickle import read_pickle
from aiayn_keras.convert.torch_tensors import make_storage, make_tensor

MAX_PICKLE_BYTES = 1 << 26
MAX_DIRECTORY_BYTES = 1 << 22
"""Bound on an archive's list of its files, of which a file takes about 80 bytes."""

END_BYTES, LOCATOR_BYTES, LARGE_END_BYTES = 22, 20, 56
"""Sizes of the records at an archive's end, see section 4.3 of PKWARE's APPNOTE."""


@contextlib.contextmanager
def open_torch_zip(path):
    """Opens an archive of `torch.save`.

    Args:
        path: The file.

    Yields:
        The object in it, with `Tensor`s and stand-ins, see `read_pickle`; and a function of a
        `Storage` that returns its bytes.

    Raises:
        ValueError: If it is damaged, or is no archive that `torch.save` writes.
    """
    try:
        _check_directory_size(path)
        with zipfile.ZipFile(path) as archive:
            _check_members(archive)
            root = _root(archive)
            content = read_pickle(
                io.BytesIO(_read(archive, f"{root}/data.pkl", MAX_PICKLE_BYTES)),
                make=make_tensor,
                load=make_storage,
            )
            yield content, lambda storage: _read_storage(archive, root, storage)
    except (zipfile.BadZipFile, NotImplementedError, EOFError, RuntimeError) as error:
        raise ValueError(f"it is no ZIP archive, or is damaged: {error}") from error


def _check_directory_size(path):
    """Looks at an archive's end before `zipfile` reads the list of files that it announces."""
    with open(path, "rb") as file:
        file.seek(0, io.SEEK_END)
        size = min(file.tell(), END_BYTES + LOCATOR_BYTES + LARGE_END_BYTES)
        file.seek(-size, io.SEEK_END)
        end = file.read()
    if end[-END_BYTES:].startswith(b"PK\5\6"):
        num_bytes = int.from_bytes(end[-END_BYTES:][12:16], "little")
        if num_bytes == 0xFFFFFFFF:
            num_bytes = int.from_bytes(end[40:48], "little")
        if num_bytes <= MAX_DIRECTORY_BYTES:
            return
        raise ValueError(f"its list of files has {num_bytes:,} bytes, too many")
    raise ValueError("it is no whole ZIP archive: it is cut off, or something is behind its end")


def _check_members(archive):
    names = set()
    for member in archive.infolist():
        name = member.filename
        if name.startswith("/") or "\\" in name or ".." in PurePosixPath(name).parts:
            raise ValueError(f"the file {name!r:.100} in it is outside the archive")
        if stat.S_ISLNK(member.external_attr >> 16):
            raise ValueError(f"the file {name!r:.100} in it is a link")
        if member.compress_type != zipfile.ZIP_STORED or member.file_size != member.compress_size:
            raise ValueError(
                f"the file {name!r:.100} in it is compressed, what `torch.save` never does"
            )
        if name in names:
            raise ValueError(f"the file {name!r:.100} is twice in it")
        names.add(name)


def _root(archive):
    """Name of the folder that all files are in."""
    roots = [name.split("/")[0] for name in archive.namelist() if name.count("/") == 1]
    found = {root for root in roots if f"{root}/data.pkl" in archive.NameToInfo}
    if len(found) != 1:
        raise ValueError("there is no `data.pkl` in it: it is not from `torch.save`")
    root = found.pop()
    if f"{root}/constants.pkl" in archive.NameToInfo:
        raise ValueError("it is a program of TorchScript, no file of tensors")
    order = f"{root}/byteorder"
    if order in archive.NameToInfo and _read(archive, order, 10) != b"little":
        raise ValueError("its numbers are big-endian, which is not read")
    return root


def _read_storage(archive, root, storage):
    name = f"{root}/data/{storage.key}"
    if name not in archive.NameToInfo:
        raise ValueError(f"the storage {name:.100} is missing")
    if archive.getinfo(name).file_size != storage.num_bytes:
        raise ValueError(
            f"the storage {name:.100} has {archive.getinfo(name).file_size:,} bytes, "
            f"expected {storage.num_bytes:,}"
        )
    return archive.read(name)


def _read(archive, name, most_bytes):
    if archive.getinfo(name).file_size > most_bytes:
        raise ValueError(f"the file {name:.100} in it has more than {most_bytes:,} bytes")
    return archive.read(name)
