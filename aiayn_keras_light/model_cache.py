"""The cache of models that were converted for CTranslate2, in the user's cache folder.

An entry has a key that says what it was made from and where: the files of the model folder, the
packages installed, Keras' backend, and what decides which devices there are. Entries appear
complete or not at all. A damaged entry, or one with a different key, counts as missing.
"""

import contextlib
import hashlib
import json
import os
import platform
import shutil
import sys
import time
from pathlib import Path

from aiayn_keras_light.files import (
    CHECKSUMS,
    WRITING,
    check_checksums,
    digest_of_file,
    new_folder,
    user_cache,
    write_checksums,
    writing_folder,
)

_LAYOUT = 2
"""Version of the entries: increase it if their files, or the conversion of a model, change."""
_MAX_CACHE_BYTES = 2 << 30
"""Maximum size of the cache; beyond it, the least recently used entries are deleted."""
_MAX_MODEL_BYTES = 4 << 30
"""Maximum size of a model folder whose files are read for a key."""
_ASSETS = "assets"
"""The folder in a model folder that holds files of the model."""
_DEVICE_VARIABLES = (
    *("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"),
    *("JAX_PLATFORMS", "JAX_PLATFORM_NAME", "KERAS_TORCH_DEVICE", "TPU_VISIBLE_CHIPS"),
)
_DEVICE_FILES = "nvidia*", "dxg", "kfd", "dri/render*", "accel*", "vfio/*"
"""Patterns of GPUs and TPUs in `/dev`."""
_SECONDS_OF_A_WRITER = 86_400
"""Age of a temporary folder whose process must have been killed."""


def cache_folder():
    """Path of the folder of all entries; it need not exist."""
    return user_cache() / "ctranslate2"


def cache_key(model_folder):
    """Reads the files of a model folder and gives the key of its entry.

    Args:
        model_folder: `pathlib.Path` of the folder.

    Returns:
        A name for a folder; None if the folder is too large, or cannot be read.
    """
    try:
        facts = [_LAYOUT, _facts_of_files(model_folder), _facts_of_environment()]
    except (OSError, ValueError):
        return None
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def find_entry(key):
    """Path of the entry with a key; None if there is none, or if it is damaged."""
    folder = cache_folder() / key
    try:
        check_checksums(folder)
        there = {path.relative_to(folder).as_posix() for path in _files_below(folder)}
        if there != {*_names_with_checksums(folder), CHECKSUMS}:
            return None
    except (OSError, ValueError):
        return None
    with contextlib.suppress(OSError):  # the folder may not be the user's to write
        os.utime(folder)  # it is used
    return folder


def store_entry(key, write):
    """Writes the entry with a key, unless there is one that is whole, or nothing can be written.

    Args:
        key: As `cache_key` gives it.
        write: Function that fills a folder with the entry's files.
    """
    root = cache_folder()
    with contextlib.suppress(OSError):
        root.mkdir(parents=True, exist_ok=True)
        if find_entry(key) is None:
            _delete(root / key)
        with new_folder(root / key) as folder:  # refused if another process was faster
            write(folder)
            write_checksums(folder)
        _keep_small(root, root / key)


def _keep_small(root, newest):
    """Deletes what killed processes left, and entries beyond the size of the cache."""
    entries = []
    for path in root.iterdir():
        age = time.time() - path.stat().st_mtime
        if not path.name.startswith(WRITING):
            entries.append((path != newest, age, path))
        elif age > _SECONDS_OF_A_WRITER:
            shutil.rmtree(path, ignore_errors=True)
    total = 0
    for is_older, _, path in sorted(entries):
        total += sum(file.stat().st_size for file in _files_below(path))
        if is_older and total > _MAX_CACHE_BYTES:
            _delete(path)


def _delete(entry):
    """Deletes an entry, so that no process finds half of it."""
    with contextlib.suppress(FileNotFoundError), writing_folder(entry.parent) as trash:
        entry.rename(trash / entry.name)


def _facts_of_files(model_folder):
    """Name and checksum of each file at the top of a model folder and in its assets.

    Of folders at the top the name counts: `checkpoints`, for instance, can be that of a training
    that is not finished.
    """
    top = sorted(model_folder.iterdir())
    files = [*(path for path in top if not path.is_dir()), *_files_below(model_folder / _ASSETS)]
    if sum(path.stat().st_size for path in files) > _MAX_MODEL_BYTES:
        raise ValueError(f"{model_folder} is too large.")
    names = [path.relative_to(model_folder).as_posix() for path in files]
    if CHECKSUMS in names and not set(names).issuperset(_names_with_checksums(model_folder)):
        raise ValueError(f"{model_folder} has checksums of further files.")
    digests = [digest_of_file(path) if path.is_file() else "" for path in files]
    return [[path.name for path in top], list(zip(names, digests, strict=True))]


def _names_with_checksums(folder):
    lines = (folder / CHECKSUMS).read_text(encoding="utf-8").splitlines()
    return [line.partition("  ")[2] for line in lines]


def _files_below(folder):
    return [path for path in sorted(folder.rglob("*")) if not path.is_dir()]


def _facts_of_environment():
    """Facts that decide which engine searches: packages, backend and devices."""
    home = os.environ.get("KERAS_HOME") or os.path.join(os.path.expanduser("~"), ".keras")
    settings = Path(home, "keras.json")
    return [
        platform.machine(),
        sys.version,
        _installed_packages(),
        settings.read_text(encoding="utf-8") if settings.is_file() else None,
        {name: os.environ.get(name) for name in ("KERAS_BACKEND", *_DEVICE_VARIABLES)},
        sorted(str(path) for pattern in _DEVICE_FILES for path in Path("/dev").glob(pattern)),
    ]


def _installed_packages():
    """Names and versions of the packages that Python finds, as the names of their metadata."""
    names = []
    for folder in sys.path:
        with contextlib.suppress(OSError):
            names += [name for name in os.listdir(folder or ".") if name.endswith("-info")]
    return sorted(set(names))
