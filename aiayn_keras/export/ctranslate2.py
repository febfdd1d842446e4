"""CTranslate2, a C++ engine for CPUs and GPUs (https://opennmt.net/CTranslate2).

A folder for it, and the engine of `translate` that uses one: the fastest way through single
sentences on CPUs.
"""

import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import ClassVar

import keras
import numpy as np

from aiayn_keras.backend import WeightsSnapshot, has_accelerator, own_classes, rounds_products
from aiayn_keras.decoding.translation_search import Engine, ModelObstacleError
from aiayn_keras.export.preparation import (
    are_quantized,
    check_known_parts,
    check_packages,
    check_tokenizer,
    check_weights,
    float32_array,
    float32_kernel,
)
from aiayn_keras_light.converted_model import MODEL, ConvertedSettings
from aiayn_keras_light.ctranslate2_search import (
    AUTOMATIC,
    COMPUTE_TYPES,
    CTranslate2Search,
    is_installed,
    load_ctranslate2,
    obstacle,
    open_translator,
)
from aiayn_keras_light.files import check_is_new, new_folder

_QUANTIZATIONS = (
    "int8",
    "int8_float32",
    "int8_float16",
    "int8_bfloat16",
    "int16",
    "float16",
    "bfloat16",
    "float32",
)
ACTIVATIONS = {
    keras.activations.relu: "RELU",
    keras.activations.silu: "SWISH",
    keras.activations.gelu: "GELU",  # without approximation, as Keras' own default
}
"""CTranslate2's names of the activations that it has."""


def export_ctranslate2(model, filepath, quantization=None):
    """Writes a folder that `ctranslate2.Translator` loads, with the SentencePiece model in it.

    The engine takes and gives wordpieces. Called as follows, it gives the translations of
    `model.translate([text], num_beams=4, length_penalty=0.0)`:

    ```python
    pieces = sentencepiece.SentencePieceProcessor("folder/sentencepiece.model")
    results = ctranslate2.Translator("folder").translate_batch(
        [pieces.encode(text, out_type=str)],
        beam_size=4,
        length_penalty=0,
        disable_unk=True,
        suppress_sequences=[["<pad>"], ["<s>"]],
    )
    pieces.decode(results[0].hypotheses[0])
    ```

    Where translations have a SentencePiece model of their own, it is `target_sentencepiece.model`.

    Its search differs from ours:

    - Its `length_penalty` α, by default 1, divides by `length^α`, as ours does with
      `length_penalty_offset=0`.
    - With α above 0 it stops at `beam_size · patience` finished hypotheses, even if a live one
      could still win: a large `patience` prevents it.
    - It spreads the probability of tokens that it may not choose over the others, so its scores
      are a little higher.
    - It cuts a source at `max_input_length` (1024) and a translation at `max_decoding_length` (256)
      tokens, not at the source's plus 50, and fails where a text is longer than the model's
      positions.

    Args:
        model: A `TransformerSeq2SeqLM` with a preprocessor.
        filepath: The folder to make.
        quantization: How weights are stored: one of CTranslate2's types, such as `"int8"` or
            `"float16"`; float32 if not given.

    Returns:
        `pathlib.Path` of the folder.

    Raises:
        FileExistsError: If the folder exists already.
        ImportError: If `ctranslate2` is not installed.
        RuntimeError: For bfloat16 without PyTorch, which CTranslate2 needs for rounding.
        ValueError: For an unknown quantization, a model without preprocessor or with a tokenizer of
            your own, or one that CTranslate2 cannot run: heads whose width is not
            `hidden_dim / num_heads`, or an activation other than ReLU, swish (SiLU) and GELU; and
            for a weight that is not finite, or beyond the range of float16.
    """
    check_packages("ctranslate2")
    if quantization is not None and quantization not in _QUANTIZATIONS:
        raise ValueError(
            f"`quantization` must be one of {', '.join(_QUANTIZATIONS)}. "
            f"Received: {quantization!r}."
        )
    check_tokenizer(model)
    check_known_parts(model, "CTranslate2")
    check_weights(model, str(quantization).removeprefix("int8_"))
    return write_ctranslate2(model, filepath, quantization)


def write_ctranslate2(model, filepath, quantization=None):
    """Writes the folder of `export_ctranslate2`, without checking the model."""
    folder = Path(filepath)
    check_is_new(folder)
    tokenizer = model.preprocessor.tokenizer
    spec = _build_spec(model.backbone, tokenizer)
    spec.validate()
    spec.optimize(quantization=quantization)
    with new_folder(folder) as written:
        spec.save(str(written))
        (written / "sentencepiece.model").write_bytes(tokenizer.proto)
        if tokenizer.target_proto is not None:
            (written / "target_sentencepiece.model").write_bytes(tokenizer.target_proto)
    return folder


def _build_spec(backbone, tokenizer):
    """CTranslate2's description of a model, filled with the weights."""
    ctranslate2 = load_ctranslate2()
    head_dim = backbone.hidden_dim / backbone.num_heads
    if (backbone.key_dim, backbone.value_dim) != (head_dim, head_dim):
        raise ValueError(
            f"CTranslate2 needs heads of width `hidden_dim / num_heads` = {head_dim:g}. "
            f"Received: key_dim={backbone.key_dim}, value_dim={backbone.value_dim}."
        )
    spec = ctranslate2.specs.TransformerSpec.from_config(
        num_layers=(backbone.num_encoder_layers, backbone.num_decoder_layers),
        num_heads=backbone.num_heads,
        pre_norm=backbone.normalize_first,
        activation=_activation(backbone.activation),
    )
    spec.config.layer_norm_epsilon = backbone.layer_norm_epsilon
    spec.config.decoder_start_token = tokenizer.id_to_token(tokenizer.start_token_id)
    spec.config.bos_token = tokenizer.id_to_token(tokenizer.start_token_id)
    spec.config.eos_token = tokenizer.id_to_token(tokenizer.end_token_id)
    spec.config.unk_token = tokenizer.id_to_token(tokenizer.unk_token_id)
    spec.config.add_source_bos = False
    spec.config.add_source_eos = tokenizer.source_end
    vocabulary = tokenizer.get_vocabulary()
    spec.register_source_vocabulary(vocabulary)
    spec.register_target_vocabulary(tokenizer.of_targets().get_vocabulary())

    embedding = backbone.token_embedding
    embeddings = float32_array(embedding.matrix())
    spec.encoder.embeddings[0].weight = embeddings
    spec.decoder.embeddings.weight = embeddings
    spec.decoder.projection.weight = embeddings
    if not embedding.tie_weights:
        spec.decoder.projection.weight = np.ascontiguousarray(
            float32_array(embedding.output_kernel()).T
        )
    if embedding.logits_bias is not None:
        spec.decoder.projection.bias = float32_array(embedding.logits_bias)
    sides = (
        (spec.encoder, backbone.encoder_embedding, backbone.encoder_blocks, backbone.encoder_norm),
        (spec.decoder, backbone.decoder_embedding, backbone.decoder_blocks, backbone.decoder_norm),
    )
    for side, embedding, blocks, norm in sides:
        side.scale_embeddings = True
        side.position_encodings.encodings = float32_array(embedding.table)
        for layer, block in zip(side.layer, blocks, strict=True):
            _fill_block(layer, block)
        if norm is not None:
            _fill_norm(side.layer_norm, norm)
    return spec


def _activation(function):
    ctranslate2 = load_ctranslate2()
    if function not in ACTIVATIONS:
        raise ValueError(
            "CTranslate2 runs the activations "
            f"{', '.join(known.__name__ for known in ACTIVATIONS)}. "
            f"Received: {getattr(function, '__name__', function)!r}."
        )
    return ctranslate2.specs.Activation[ACTIVATIONS[function]]


def _fill_block(spec, block):
    attention = block.self_attention
    _fill_dense(
        spec.self_attention.linear[0],
        attention.query_dense,
        attention.key_dense,
        attention.value_dense,
    )
    _fill_dense(spec.self_attention.linear[1], attention.output_dense)
    _fill_norm(spec.self_attention.layer_norm, block.self_attention_add_norm.layer_norm)
    if hasattr(spec, "attention"):  # a decoder layer
        attention = block.cross_attention
        _fill_dense(spec.attention.linear[0], attention.query_dense)
        _fill_dense(spec.attention.linear[1], attention.key_dense, attention.value_dense)
        _fill_dense(spec.attention.linear[2], attention.output_dense)
        _fill_norm(spec.attention.layer_norm, block.cross_attention_add_norm.layer_norm)
    _fill_dense(spec.ffn.linear_0, block.feed_forward.hidden_dense)
    _fill_dense(spec.ffn.linear_1, block.feed_forward.output_dense)
    _fill_norm(spec.ffn.layer_norm, block.feed_forward_add_norm.layer_norm)


def _fill_dense(spec, *layers):
    """Dense layers side by side as one matrix, transposed as CTranslate2 has it."""
    spec.weight = np.concatenate([float32_kernel(layer).T for layer in layers])
    if layers[0].use_bias:
        spec.bias = np.concatenate([float32_array(layer.bias) for layer in layers])


def _fill_norm(spec, layer):
    spec.gamma, spec.beta = float32_array(layer.gamma), float32_array(layer.beta)


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
        compute_type = COMPUTE_TYPES[self.name]
        self._search = CTranslate2Search(tokenizer, hidden_dim, compute_type, self._translate_batch)

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
