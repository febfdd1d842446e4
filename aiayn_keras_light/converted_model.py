"""Models that were converted for CTranslate2: texts to translations without Keras, and a cache.

The cache is in the user's cache folder. An entry has a key that says what it was made from and
where: the files of the model folder, the packages installed, Keras' backend, and what decides which
devices there are. Entries appear complete or not at all. A damaged entry, or one with a different
key, counts as missing.
"""

import contextlib
import dataclasses
import functools
import hashlib
import json
import os
import platform
import shutil
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from aiayn_keras_light.ctranslate2_search import COMPUTE_TYPES, CTranslate2Search, open_translator
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
from aiayn_keras_light.piece_tokenizer import PieceTokenizer
from aiayn_keras_light.placeables import translate_placeables
from aiayn_keras_light.search_numbers import SearchNumbers
from aiayn_keras_light.text_batches import is_to_split, tokenize
from aiayn_keras_light.translating import TextSearch, map_in_threads, translate_in_batches

MODEL = "model"
"""Folder of the files that CTranslate2 and SentencePiece read, as `export_ctranslate2` makes it."""
_SETTINGS = "settings.json"
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
"""Age from which on a temporary folder is that of a process that was killed."""


@dataclass(frozen=True)
class ConvertedSettings:
    """The facts about a model that its other files do not contain.

    Attributes:
        hidden_dim: Width of the model.
        max_sequence_length: Number of positions.
        source_end: Whether the model reads an end token after a source.
        copy_without_letters: Whether a text without letters is its own translation.
        learned_length: Number of tokens of the longest texts that the model has learned to read,
            or None.
    """

    hidden_dim: int
    max_sequence_length: int
    source_end: bool
    copy_without_letters: bool
    learned_length: int | None

    def write(self, folder):
        """Writes them into the folder of a converted model."""
        (folder / _SETTINGS).write_text(json.dumps(dataclasses.asdict(self)), encoding="utf-8")

    @classmethod
    def read(cls, folder):
        """Reads what `write` wrote."""
        return cls(**json.loads((folder / _SETTINGS).read_text(encoding="utf-8")))


class _DeletedError(Exception):
    """The files have been deleted since they were found."""


class ConvertedModel:
    """Translates as `TransformerSeq2SeqLM.translate` does with the same engine.

    Args:
        folder: `pathlib.Path` of the converted model.
        engine: A name in `COMPUTE_TYPES`.
        load_model: Function that loads the `TransformerSeq2SeqLM`, for what is left to our own
            search and for texts to split. It is called at most once, in any thread.
    """

    def __init__(self, folder, engine, load_model):
        self._folder, self._engine = folder / MODEL, engine
        self._load_model, self._model, self._lock = load_model, None, threading.Lock()
        settings = ConvertedSettings.read(folder)
        target = self._folder / "target_sentencepiece.model"
        self._tokenizer = PieceTokenizer(
            (self._folder / "sentencepiece.model").read_bytes(),
            target.read_bytes() if target.exists() else None,
            settings.source_end,
            settings.copy_without_letters,
        )
        self._max_sequence_length = settings.max_sequence_length
        self._learned_length = settings.learned_length
        compute_type = COMPUTE_TYPES[engine]
        self._search = CTranslate2Search(
            self._tokenizer, settings.hidden_dim, compute_type, self._translate_batch
        )
        self._translators = {}

    def translate(
        self, texts, *, batch_size, long_text, placeables="translate", progress=None, **numbers
    ):
        """Translates texts.

        Args:
            texts: List of strings.
            batch_size: Number of texts searched together.
            long_text: `"error"`, `"split"` by sentences, or `"cut"`, for too long texts.
            placeables: `"keep"` for URLs, names of files and the like to stay, or `"translate"`.
            progress: As in `TransformerSeq2SeqLM.translate`.
            **numbers: Fields of `SearchNumbers` for which `obstacle` finds nothing in the way.

        Returns:
            List of `Translation`, one for each text.

        Raises:
            ValueError: As `TransformerSeq2SeqLM.translate`.
        """
        translate = functools.partial(self._translate_any, batch_size, long_text, numbers)
        if placeables == "keep":
            return translate_placeables(texts, translate, progress)
        return translate(texts, progress)

    def _translate_any(self, batch_size, long_text, numbers, texts, progress):
        options = {"batch_size": batch_size, "progress": progress}
        if long_text == "cut" or not self._has_long(texts, long_text == "split"):
            with contextlib.suppress(_DeletedError):
                is_cut = long_text == "cut"
                return self._translate(texts, SearchNumbers(**numbers), is_cut=is_cut, **options)
        options |= {"long_text": long_text, "engine": self._engine}
        return self._loaded().translate(texts, **options, **numbers)

    def _translate(self, texts, numbers, **options):
        def own_find(*arrays):
            model = self._loaded()
            return model.own_search((model,), numbers)[1](*arrays)

        return translate_in_batches(
            texts,
            TextSearch(self._tokenizer, numbers, self._max_sequence_length),
            lambda *arrays: self._search.find(numbers, own_find, *arrays),
            in_turn=map_in_threads,
            **options,
        )

    def _loaded(self):
        with self._lock:
            self._model = self._model or self._load_model()
        return self._model

    def _has_long(self, texts, of_any_length):
        limits = self._max_sequence_length, self._learned_length, of_any_length
        sequences = tokenize(texts, "texts", self._tokenizer)
        return any(is_to_split(len(ids), *limits) for ids in sequences)

    def _translate_batch(self, cores_per_batch, num_cores, sources, **options):
        with self._lock:
            if cores_per_batch not in self._translators:
                self._translators[cores_per_batch] = self._open(cores_per_batch, num_cores)
        return self._translators[cores_per_batch].translate_batch(sources, **options)

    def _open(self, *cores):
        try:
            return open_translator(self._folder, COMPUTE_TYPES[self._engine], *cores)
        except RuntimeError as error:
            raise _DeletedError(self._folder) from error


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
    with contextlib.suppress(OSError):  # the folder may belong to another user
        os.utime(folder)  # notes that it is used
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

    Of other folders at the top, only the names are included: `checkpoints`, for instance, shows
    that a training may not be finished.
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
