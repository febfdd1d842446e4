"""Encoder and decoder step as a LiteRT file, written by TensorFlow's converter."""

import tempfile
from pathlib import Path

import keras
from keras import ops

from aiayn_keras.decoding.frozen_decoder import freeze_decoder
from aiayn_keras.export.preparation import (
    check_known_parts,
    check_packages,
    check_tokenizer,
    check_weights,
    has_quantized_weights,
    render,
)
from aiayn_keras.export.saved_model import read_arguments, run_in_tensorflow
from aiayn_keras.layers import decoder_layer, scaled_dot_product_attention
from aiayn_keras.models import TransformerSeq2SeqLM
from aiayn_keras_light.checks import check_integer
from aiayn_keras_light.files import check_is_new, new_folder
from aiayn_keras_light.search_numbers import EXTRA_LENGTH

WEIGHTS = ("float32", "float16", "int8")

_INPUT_LENGTH = 64
"""Number of wordpieces of a text, as a rule: the encoder always computes that many."""


def _write_litert(model, path, source_length, target_length, weights):
    """Writes a file with the signatures `encode` and `step`, of fixed shapes for one text.

    With the JAX or PyTorch backend, or where the model does not compute in float32, it is saved
    and a TensorFlow process loads it in float32 and writes the file.

    Args:
        model: A `TransformerSeq2SeqLM` with a preprocessor.
        path: File to write.
        source_length: Number of tokens S of a source, the end included.
        target_length: Number of positions T of the decoder's cache.
        weights: `"float32"`, `"float16"` or `"int8"`.

    Raises:
        RuntimeError: If the TensorFlow process fails, with its last line.
        ValueError: For an operation that LiteRT does not have.
    """
    is_float32 = model.backbone.compute_dtype == "float32"
    if keras.config.backend() == "tensorflow" and is_float32:
        _write_here(model.backbone, path, source_length, target_length, weights)
    else:
        run_in_tensorflow(
            __name__,
            model,
            path=str(path),
            source_length=source_length,
            target_length=target_length,
            weights=weights,
        )


def main():
    """Runs in the TensorFlow process: writes the file that its arguments describe."""
    arguments = read_arguments()
    model = TransformerSeq2SeqLM.from_preset(arguments.pop("preset"), dtype="float32")
    _write_here(model.backbone, **arguments)


def _write_here(backbone, path, source_length, target_length, weights):
    import tensorflow as tf

    module = tf.Module()
    module.model_variables = [variable.value for variable in backbone.variables]
    encode = _encode(backbone, source_length)
    step = _step(backbone, encode.structured_outputs, target_length)
    signatures = {"encode": encode, "step": step}
    with tempfile.TemporaryDirectory() as folder:
        tf.saved_model.save(module, folder, signatures=signatures)
        Path(path).write_bytes(_convert(folder, list(signatures), weights))


def _convert(folder, signatures, weights):
    """The bytes of a LiteRT file made of a SavedModel; only LiteRT's own operators are allowed."""
    import tensorflow as tf
    from tensorflow.lite.python.convert_phase import ConverterError

    converter = tf.lite.TFLiteConverter.from_saved_model(folder, signature_keys=signatures)
    if weights != "float32":
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if weights == "float16":
        converter.target_spec.supported_types = [tf.float16]
    try:
        return converter.convert()
    except ConverterError as error:
        names = sorted({each.operator.name for each in error.errors} - {""})
        missing = f" Missing, perhaps for its `activation`: {', '.join(names)}." if names else ""
        raise ValueError(f"LiteRT does not have all operations of this model.{missing}") from error


def _encode(backbone, source_length):
    """The concrete function of `encode`: token ids `(1, S)` to what every step looks at."""
    import tensorflow as tf

    @tf.function(autograph=False)
    def encode(token_ids):
        padding_mask = tf.cast(token_ids != 0, tf.int32)
        memory = backbone.encode(token_ids, padding_mask, training=False)
        outputs = {"source_mask": tf.cast(padding_mask, tf.float32)}
        for layer, block in enumerate(backbone.decoder_blocks):
            projected = block.cross_attention.project_memory(memory)
            outputs[f"memory_keys_{layer}"], outputs[f"memory_values_{layer}"] = projected
        return outputs

    return encode.get_concrete_function(
        tf.TensorSpec([1, source_length], tf.int32, name="token_ids")
    )


def _step(backbone, memory, target_length):
    """The concrete function of `step`: a token and its position to the logits of the next one.

    Args:
        backbone: A `TransformerBackbone`.
        memory: Dictionary of tensors, the outputs of `encode`.
        target_length: Number of positions T of the cache.
    """
    import tensorflow as tf

    @tf.function(autograph=False)
    def step(**inputs):
        return _Step(backbone, inputs, target_length).outputs

    specs = {name: tf.TensorSpec(x.shape, x.dtype, name=name) for name, x in memory.items()}
    for name in ("token_id", "position"):
        specs[name] = tf.TensorSpec([1], tf.int32, name=name)
    for layer in range(backbone.num_decoder_layers):
        for kind, width in (("keys", backbone.key_dim), ("values", backbone.value_dim)):
            name, shape = f"{kind}_{layer}", [1, backbone.num_heads, target_length, width]
            specs[name] = tf.TensorSpec(shape, tf.float32, name=name)
    return step.get_concrete_function(**specs)


class _Step:
    """One position on its way through the decoder.

    A `DecoderCache` is for hypotheses that share memory; with one of them and fixed shapes, heads
    are split by a reshape, and a cache is a tensor `(1, H, T, K)`.

    Attributes:
        outputs: Dictionary of the logits `(1, V)` and the cache with this position.
    """

    def __init__(self, backbone, inputs, target_length):
        self._inputs, self.outputs = inputs, {}
        positions, position = ops.arange(target_length), inputs["position"]
        self._is_new = ops.reshape(ops.equal(positions, position), (1, 1, -1, 1))
        self._is_written = ops.reshape(positions <= position, (1, 1, 1, -1))
        self._source_mask = ops.reshape(inputs["source_mask"] > 0, (1, 1, 1, -1))
        decoder = freeze_decoder(backbone)
        x = decoder.embed(inputs["token_id"], position)  # --> (1, D)
        for layer, block in enumerate(decoder.blocks):
            x = self._run(layer, block, x)
        self.outputs["logits"] = decoder.logits(x if decoder.norm is None else decoder.norm(x))

    def _run(self, layer, block, x):
        def attend_to_self(x):
            return self._attend_to_self(block.self_attention, layer, x)

        def attend_to_memory(x):
            attention = block.cross_attention
            query = ops.reshape(attention.input(x), (1, attention.num_heads, 1, -1))
            keys, values = (self._inputs[f"memory_{kind}_{layer}"] for kind in ("keys", "values"))
            return _attend(attention, query, keys, values, self._source_mask)

        return decoder_layer(block, x, attend_to_self, attend_to_memory)

    def _attend_to_self(self, attention, layer, x):
        H, K = attention.num_heads, attention.key_dim
        x = attention.input(x)
        query, key, value = (
            ops.reshape(part, (1, H, 1, -1)) for part in ops.split(x, [H * K, 2 * H * K], axis=1)
        )
        keys = self._write(f"keys_{layer}", key)
        values = self._write(f"values_{layer}", value)
        return _attend(attention, query, keys, values, self._is_written)

    def _write(self, name, new):
        """The cache of a name with the new position in it."""
        self.outputs[name] = ops.where(self._is_new, new, self._inputs[name])
        return self.outputs[name]


def _attend(attention, query, keys, values, mask):
    x = scaled_dot_product_attention(query, keys, values, mask)
    return attention.output(ops.reshape(x, (1, -1)))


def export_litert(model, filepath, *, max_input_length=None, max_length=None, weights="float32"):
    """Writes a folder with `model.tflite`, its SentencePiece model, and a README that runs them.

    The file has the signatures `encode`, run once for a text, and `step`, which takes a token and
    the keys and values of those before, and gives the logits of the next one. The loop around
    `step` is the caller's, and with it the search; greedy search is in the README. All operators
    are LiteRT's own, all shapes are fixed, and one text is translated at a time.

    Args:
        model: A `TransformerSeq2SeqLM` with a preprocessor.
        filepath: The folder to make.
        max_input_length: Maximum number of wordpieces in a text. The time of `encode` grows with
            it, even for shorter texts. Defaults to 64, or to the model's limit.
        max_length: Maximum number of wordpieces in a translation. Defaults to
            `max_input_length + 50`, or to the model's limit.
        weights: Number format of the matrices in the file: `"float32"`; `"float16"`, half the size,
            converted to float32 when loaded; or `"int8"`, a quarter of the size, with which LiteRT
            computes in integers.

    Returns:
        `pathlib.Path` of the folder.

    Raises:
        FileExistsError: If the folder exists already.
        ImportError: If TensorFlow is not installed.
        RuntimeError: If the TensorFlow process that other backends need fails, with its last line.
        TypeError: For a length that is not an integer.
        ValueError: For a length above the model's positions, unknown `weights`, a weight that is
            not finite or that float16 does not have, a model without preprocessor or with a
            tokenizer or decoder parts of your own, one that Keras has quantized, or an activation
            that LiteRT does not have.
    """
    _check_model(model, weights)
    limit = model.backbone.max_sequence_length - 1
    if max_input_length is None:
        max_input_length = min(_INPUT_LENGTH, limit)
    max_input_length = check_integer("max_input_length", max_input_length, 1, limit)
    if max_length is None:
        max_length = min(max_input_length + EXTRA_LENGTH, limit)
    max_length = check_integer("max_length", max_length, 1, limit)
    folder = Path(filepath)
    check_is_new(folder)
    tokenizer = model.preprocessor.tokenizer
    source_length = max_input_length + len(tokenizer.source_ids)
    with new_folder(folder) as written:
        _write_litert(model, written / "model.tflite", source_length, max_length, weights)
        (written / "sentencepiece.model").write_bytes(tokenizer.proto)
        if tokenizer.target_proto is not None:
            (written / "target_sentencepiece.model").write_bytes(tokenizer.target_proto)
        text = _readme(folder.resolve().name, model, max_input_length, max_length, weights)
        (written / "README.md").write_text(text, encoding="utf-8")
    return folder


def _check_model(model, weights):
    check_packages("tensorflow", install="tensorflow")
    if weights not in WEIGHTS:
        raise ValueError(f"`weights` must be one of {', '.join(WEIGHTS)}. Received: {weights!r}.")
    check_tokenizer(model)
    check_known_parts(model, "LiteRT", runs_encoder=True)
    if has_quantized_weights(model):
        raise ValueError(
            "LiteRT does not have the operations of a model that Keras has quantized. Export the "
            'model from before its quantization, with `weights="int8"`.'
        )
    check_weights(model, weights)


def _readme(name, model, max_input_length, max_length, weights):
    tokenizer, backbone = model.preprocessor.tokenizer, model.backbone
    load_target, target_pieces = "", "pieces"
    if tokenizer.target_proto is not None:
        target_pieces = "target_pieces"
        load_target = f'\n{target_pieces} = SentencePieceProcessor("target_sentencepiece.model")'
    return render(
        "litert.md",
        name=name,
        weights=weights,
        max_input_length=max_input_length,
        max_length=max_length,
        source_length=max_input_length + len(tokenizer.source_ids),
        source_content="`pieces </s>`" if tokenizer.source_end else "`pieces`",
        end=" + [3]" if tokenizer.source_end else "",
        load_target=load_target,
        target_pieces=target_pieces,
        num_layers=backbone.num_decoder_layers,
        num_heads=backbone.num_heads,
        key_dim=backbone.key_dim,
        value_dim=backbone.value_dim,
        vocabulary_size=backbone.vocabulary_size,
    )
