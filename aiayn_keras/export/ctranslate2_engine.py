"""CTranslate2 as an engine of `translate`, the fastest way through single sentences on CPUs."""

import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import ClassVar

from aiayn_keras.backend import WeightsSnapshot, has_accelerator, rounds_products
from aiayn_keras.decoding.engines import Engine, ModelObstacleError
from aiayn_keras.decoding.frozen_decoder import own_classes
from aiayn_keras.export.ctranslate2 import ACTIVATIONS, write_ctranslate2
from aiayn_keras.export.preparation import are_quantized
from aiayn_keras_light.converted_model import MODEL, ConvertedSettings
from aiayn_keras_light.ctranslate2_search import (
    AUTOMATIC,
    COMPUTE_TYPES,
    CTranslate2Search,
    is_installed,
    obstacle,
    open_translator,
)


class CTranslate2Engine(Engine):
    """CTranslate2 (https://opennmt.net/CTranslate2) on the model's weights, copied in float32.

    It finds the translations that our search finds, with their log-probabilities; see
    `CTranslate2Search`. Once the weights have changed, they are copied again, which takes a tenth
    of a second for 10 million weights.

    Args:
        model: A `TransformerSeq2SeqLM`.
    """

    name: ClassVar[str] = "ctranslate2"
    is_automatic = name in AUTOMATIC

    def __init__(self, model):
        self._model, self._lock = model, threading.Lock()
        self._snapshot, self._translators = None, {}
        self._watch = ThreadPoolExecutor(1, thread_name_prefix="weights")
        tokenizer, hidden_dim = model.preprocessor.tokenizer, model.backbone.hidden_dim
        self._search = CTranslate2Search(tokenizer, hidden_dim, self._translate_batch)

    @classmethod
    def obstacle(cls, models, options, is_made=False):
        """See `Engine.obstacle`."""
        if not is_installed():
            return "it is not installed: pip install 'aiayn-keras[fast]'"
        reason = _obstacle_in_options(models, options) or _obstacle_in_settings()
        return reason if reason or is_made else _obstacle_in_model(models[0])

    def find(self, options, own_find, *tensors):
        """See `Engine.find`."""

        def checked_own_find(*arrays):
            self._check_model()
            return own_find(*arrays)

        return self._search.find(options, checked_own_find, *tensors)

    def _translate_batch(self, cores_per_batch, num_cores, sources, **options):
        """Translates with the model as it is now; see `CTranslate2Search`."""
        while True:
            translator, snapshot = self._translator(cores_per_batch, num_cores)
            # It takes a millisecond or two, in which CTranslate2 needs no Python.
            is_current = self._watch.submit(self._is_current, snapshot)
            results = translator.translate_batch(sources, **options)
            if is_current.result():
                return results
            with self._lock:
                if self._snapshot is snapshot:
                    self._snapshot = None

    def _is_current(self, snapshot):
        """True if a translator made at the time of a snapshot translates as the model does now."""
        if _obstacle_in_model(self._model) is not None:
            return False
        return snapshot.is_current(self._model.backbone)

    def _check_model(self):
        if _obstacle_in_model(self._model) is not None:
            raise ModelObstacleError

    def _translator(self, cores_per_batch, num_cores):
        """The `ctranslate2.Translator` that searches for a batch with some of the cores.

        Returns:
            The translator, and the `_Snapshot` that it was made from.

        Raises:
            ModelObstacleError: If CTranslate2 can no longer translate with the model.
        """
        with self._lock:
            if self._snapshot is None:
                self._translators = {}
                self._snapshot = _Snapshot(self._model.backbone)
            if cores_per_batch not in self._translators:
                self._check_model()
                with tempfile.TemporaryDirectory(prefix="ctranslate2-") as name:
                    folder = write_ctranslate2(self._model, Path(name) / "model")
                    self._translators[cores_per_batch] = open_translator(
                        folder, COMPUTE_TYPES[self.name], cores_per_batch, num_cores
                    )
            return self._translators[cores_per_batch], self._snapshot


class _Snapshot:
    """State of a backbone at one moment, which a copy of it depends on."""

    def __init__(self, backbone):
        self._weights = WeightsSnapshot(backbone.weights)
        self._strengths = _strengths_of_adapters(backbone)

    def is_current(self, backbone):
        is_as_strong = self._strengths == _strengths_of_adapters(backbone)
        return is_as_strong and self._weights.is_current(backbone.weights)


def _strengths_of_adapters(backbone):
    return [vars(layer).get("lora_alpha") for layer in backbone._flatten_layers()]


def write_converted_model(model, folder):
    """Writes a model for `ConvertedModel`, which translates with it without Keras.

    Args:
        model: A `TransformerSeq2SeqLM` for which this engine has no obstacle, and whose tokenizer
            is plain.
        folder: `pathlib.Path` of an empty folder.
    """
    write_ctranslate2(model, folder / MODEL)
    tokenizer, backbone = model.preprocessor.tokenizer, model.backbone
    ConvertedSettings(
        backbone.hidden_dim,
        backbone.max_sequence_length,
        tokenizer.source_end,
        tokenizer.copy_without_letters,
        tokenizer.learned_length,
    ).write(folder)


class CTranslate2Int8Engine(CTranslate2Engine):
    """CTranslate2 with weights and products in int8: faster still, with other roundings."""

    name = "ctranslate2-int8"
    is_automatic = False


def _obstacle_in_options(models, options):
    if len(models) > 1:
        return "it has no ensembles"
    if options.constraint is not None:
        return "it knows no `constraint`"
    return obstacle(options)


def _obstacle_in_settings():
    if has_accelerator():
        return "the model is on an accelerator, where our own search is faster"
    if rounds_products():
        return "matrix products are to be computed in bfloat16"
    return None


def _obstacle_in_model(model):
    backbone = model.backbone
    layers = backbone._flatten_layers()
    if are_quantized(layers):
        return "the weights are quantized"
    if backbone.compute_dtype != "float32":
        return f"the model computes in {backbone.compute_dtype}, not in float32"
    if names := own_classes(layers):
        return f"it does not know parts of your own: {', '.join(names)}"
    head_dim = backbone.hidden_dim / backbone.num_heads
    if (backbone.key_dim, backbone.value_dim) != (head_dim, head_dim):
        return f"it needs heads of width `hidden_dim / num_heads` = {head_dim:g}"
    if backbone.activation not in ACTIVATIONS:
        return "it does not have the model's activation"
    return None
