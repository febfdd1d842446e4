"""CTranslate2 as an engine of `translate`, the fastest way through single sentences on CPUs."""

import importlib.util
import os
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import ClassVar

import numpy as np

from aiayn_keras.backend import WeightsSnapshot, has_accelerator, rounds_products
from aiayn_keras.decoding.engines import Engine
from aiayn_keras.decoding.frozen_decoder import own_classes
from aiayn_keras.export.ctranslate2 import ACTIVATIONS, export_ctranslate2
from aiayn_keras.export.preparation import is_quantized
from aiayn_keras_light.search_numbers import length_penalty

_PATIENCE = 2
"""Finished hypotheses that end a search, as a multiple of the beams. Ours stops when nothing better
can follow; with 1, CTranslate2 stops too early in 1 % of sentences."""
_NEARLY_ZERO = 1e-7
"""CTranslate2's α for a search that goes on until so many are finished: with 0, it stops when
nothing can have a greater log-probability than the best."""
_MAX_LENGTH_PENALTY = 1.0
"""Up to here, CTranslate2 has finished what wins by the time it stops."""
_MIN_ROWS = 4
"""From so many sentences on, each core searches for some of them."""
_SMALL_HIDDEN_DIM = 256
"""Maximum width of a model whose products are too small to be shared by cores."""


class CTranslate2Engine(Engine):
    """CTranslate2 (https://opennmt.net/CTranslate2) on the model's weights, copied in float32.

    It finds the translations that our search finds, with their log-probabilities. Both keep the
    same live hypotheses, since length penalties play no part in that; CTranslate2 gives all that
    are finished, and they are ranked here, by our length penalty. What it would do differently, it
    leaves to our search: a sentence with a prefix or an unknown token, and one that reaches its
    maximum length, or would be translated by a token that may not be chosen (unknown, padding or
    start).

    Once the weights have changed, they are copied again, which takes a tenth of a second for 10
    million weights.

    Args:
        model: A `TransformerSeq2SeqLM`.
    """

    is_automatic = True
    compute_type: ClassVar[str] = "float32"

    def __init__(self, model):
        self._model, self._lock = model, threading.Lock()
        self._snapshot, self._translators = None, {}
        self._watch = ThreadPoolExecutor(1, thread_name_prefix="weights")
        tokenizer = model.preprocessor.tokenizer
        targets = tokenizer.of_targets()
        self._pieces = tokenizer.get_vocabulary()
        self._ids = {piece: i for i, piece in enumerate(targets.get_vocabulary())}
        self._num_ends, self._start_id = len(tokenizer.source_ids), tokenizer.start_token_id
        self._end_id, self._unknown_id = tokenizer.end_token_id, tokenizer.unk_token_id
        self._forbidden = {tokenizer.pad_token_id, self._unknown_id, self._start_id}

    @classmethod
    def obstacle(cls, models, options):
        """See `Engine.obstacle`."""
        if importlib.util.find_spec("ctranslate2") is None:
            return "it is not installed: pip install 'aiayn-keras[fast]'"
        return _obstacle_in_options(models, options) or _obstacle_in_model(models[0])

    def find(self, options, own_find, *tensors):
        """See `Engine.find`."""
        token_ids, mask, prompts, limits, _ = tensors
        lengths = mask.sum(axis=1) - self._num_ends
        rows = [tuple(row[:n]) for row, n in zip(token_ids.tolist(), lengths, strict=True)]
        is_own = (prompts[:, 1] != 0) | [self._unknown_id in row for row in rows]
        # Rows that fill up a batch repeat one.
        distinct = {row: None for row, own in zip(rows, is_own, strict=True) if not own}
        longest = max(limits.tolist())
        if distinct:
            found = self._search(list(distinct), options, longest)
            distinct = dict(zip(distinct, found, strict=True))
        num_found, width = options.num_return_sequences, prompts.shape[1]
        ids = np.zeros((len(rows), num_found, width), "int32")
        log_probs = np.full((len(rows), num_found), -np.inf, "float32")
        for i, row in enumerate(rows):
            if not is_own[i]:
                is_own[i] = not self._read(distinct[row], limits[i], options, ids[i], log_probs[i])
        for i in np.flatnonzero(is_own):
            one = (tensor if tensor.ndim == 0 else tensor[i : i + 1] for tensor in tensors)
            ids[i], log_probs[i] = (np.asarray(each)[0] for each in own_find(*one))
        return ids, log_probs

    def _search(self, rows, options, max_length):
        """Searches with weights as they are now; returns a `TranslationResult` for each row."""
        sources = [[self._pieces[i] for i in row] for row in rows]
        num_cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2
        is_batch = len(rows) >= _MIN_ROWS
        is_small = self._model.backbone.hidden_dim <= _SMALL_HIDDEN_DIM
        variables, num_found = self._model.backbone.variables, options.num_return_sequences
        is_ranked = options.length_penalty > 0 or num_found > 1
        patience = _PATIENCE if is_ranked else 1
        while True:
            translator, snapshot = self._translator(
                1 if is_batch or is_small else num_cores, num_cores
            )
            is_current = self._watch.submit(snapshot.is_current, variables)  # takes a millisecond
            results = translator.translate_batch(
                sources,
                max_batch_size=-(-len(rows) // num_cores) if is_batch else 0,
                beam_size=options.num_beams,
                num_hypotheses=patience * options.num_beams if is_ranked else 1,
                patience=patience,
                length_penalty=_NEARLY_ZERO if is_ranked else 0,
                min_decoding_length=0,  # more would change the scores
                max_decoding_length=max_length + 1,
                max_input_length=0,
                return_scores=True,
                return_end_token=True,
            )
            if is_current.result():
                return results
            with self._lock:
                if self._snapshot is snapshot:
                    self._snapshot = None

    def _translator(self, cores_per_batch, num_cores):
        """The `ctranslate2.Translator` that searches for a batch with some of the cores.

        Returns:
            The translator, and the `WeightsSnapshot` that it was made from.
        """
        import ctranslate2

        with self._lock:
            if self._snapshot is None:
                self._translators = {}
                self._snapshot = WeightsSnapshot(self._model.backbone.variables)
            if cores_per_batch not in self._translators:
                with tempfile.TemporaryDirectory(prefix="ctranslate2-") as name:
                    folder = export_ctranslate2(self._model, Path(name) / "model")
                    self._translators[cores_per_batch] = ctranslate2.Translator(
                        str(folder),
                        compute_type=self.compute_type,
                        inter_threads=num_cores // cores_per_batch,
                        intra_threads=cores_per_batch,
                    )
            return self._translators[cores_per_batch], self._snapshot

    def _read(self, result, limit, options, ids, log_probs):
        """Fills in the hypotheses of a sentence; returns False if they may differ from ours."""
        finished = []
        for pieces, score in zip(result.hypotheses, result.scores, strict=True):
            found = [self._ids[piece] for piece in pieces]
            if not found or found[-1] != self._end_id:  # the search was cut off
                return False
            if len(found) > options.min_length:
                score /= length_penalty(len(found), options)
                finished.append((score, found))
        finished.sort(key=lambda scored: -scored[0])
        best = finished[: options.num_return_sequences]
        if len(best) < options.num_return_sequences:
            return False
        for n, (score, found) in enumerate(best):
            if len(found) > limit or self._forbidden.intersection(found):
                return False
            ids[n, 0] = self._start_id
            ids[n, 1 : len(found) + 1] = found
            log_probs[n] = score * length_penalty(len(found), options)
        return True


class CTranslate2Int8Engine(CTranslate2Engine):
    """CTranslate2 with weights and products in int8: faster still, with other roundings."""

    is_automatic = False
    compute_type = "int8"


def _obstacle_in_options(models, options):
    if len(models) > 1:
        return "it has no ensembles"
    if options.constraint is not None:
        return "it knows no `constraint`"
    if options.coverage_penalty:
        return "its coverage penalty is not GNMT's: `coverage_penalty` must be 0"
    if options.no_repeat_ngram_size:
        return "it would forbid other tokens: `no_repeat_ngram_size` must be 0"
    if options.min_length > 1:
        return "it would spread the probability of an early end: `min_length` must be 0 or 1"
    if options.num_beams == 1 and options.length_penalty:
        return "it stops at the first end: with one beam, `length_penalty` must be 0"
    if options.length_penalty > _MAX_LENGTH_PENALTY:
        return f"it may stop too early: `length_penalty` must be at most {_MAX_LENGTH_PENALTY:g}"
    return None


def _obstacle_in_model(model):
    backbone = model.backbone
    if has_accelerator():
        return "the model is on an accelerator, where our own search is faster"
    if rounds_products():
        return "matrix products are to be computed in bfloat16"
    if is_quantized(model):
        return "the weights are quantized"
    if backbone.compute_dtype != "float32":
        return f"the model computes in {backbone.compute_dtype}, not in float32"
    if names := own_classes(backbone._flatten_layers()):
        return f"it does not know parts of your own: {', '.join(names)}"
    head_dim = backbone.hidden_dim / backbone.num_heads
    if (backbone.key_dim, backbone.value_dim) != (head_dim, head_dim):
        return f"it needs heads of width `hidden_dim / num_heads` = {head_dim:g}"
    if backbone.activation not in ACTIVATIONS:
        return "it does not have the model's activation"
    return None
