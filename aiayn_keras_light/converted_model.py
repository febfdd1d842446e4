"""A model that was converted for CTranslate2: texts to translations without Keras."""

import contextlib
import dataclasses
import functools
import json
import threading
from dataclasses import dataclass

from aiayn_keras_light.ctranslate2_search import COMPUTE_TYPES, CTranslate2Search, open_translator
from aiayn_keras_light.piece_tokenizer import PieceTokenizer
from aiayn_keras_light.placeables import translate_placeables
from aiayn_keras_light.search_numbers import SearchNumbers
from aiayn_keras_light.text_batches import is_to_split, tokenize
from aiayn_keras_light.translating import TextSearch, map_in_threads, translate_in_batches

MODEL = "model"
"""Folder of the files that CTranslate2 and SentencePiece read, as `export_ctranslate2` makes it."""
_SETTINGS = "settings.json"


@dataclass(frozen=True)
class ConvertedSettings:
    """The facts of a model that its other files do not hold.

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
        self._search = CTranslate2Search(
            self._tokenizer, settings.hidden_dim, self._translate_batch
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
