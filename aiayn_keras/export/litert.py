"""A folder for LiteRT (once TensorFlow Lite), which runs models on phones and small computers."""

from pathlib import Path

import keras

from aiayn_keras.checks import check_integer
from aiayn_keras.decoding.search_options import EXTRA_LENGTH
from aiayn_keras.export.litert_graph import write_litert
from aiayn_keras.export.preconditions import check_has_tokenizer, check_packages, is_quantized
from aiayn_keras.export.template_files import render
from aiayn_keras.files import check_is_new, new_folder
from aiayn_keras.weight_files import as_float16

WEIGHTS = ("float32", "float16", "int8")
INPUT_LENGTH = 64
"""Number of wordpieces of a text, as a rule: the encoder always computes that many."""


def export_litert(model, filepath, *, max_input_length=None, max_length=None, weights="float32"):
    """Writes a folder with `model.tflite`, its SentencePiece model, and a README that runs them.

    The file has the signatures `encode`, run once for a text, and `step`, which takes a token and
    the keys and values of those before, and gives the logits of the next one. The loop around
    `step` is the caller's, and with it the search; greedy search is in the README. All operators
    are LiteRT's own, all shapes are fixed, and one text is translated at a time.

    Args:
        model: A `TransformerSeq2SeqLM` with a preprocessor.
        filepath: The folder to make.
        max_input_length: Greatest number of wordpieces of a text. The time of `encode` grows with
            it, whatever the text's own length is. Defaults to 64, or to the model's limit.
        max_length: Greatest number of wordpieces of a translation. Defaults to
            `max_input_length + 50`, or to the model's limit.
        weights: Number format of the matrices in the file: `"float32"`; `"float16"`, which halves
            them and from which loading makes float32; or `"int8"`, a quarter, with which LiteRT
            computes in integers.

    Returns:
        `pathlib.Path` of the folder.

    Raises:
        FileExistsError: If the folder exists already.
        ImportError: If TensorFlow is not installed.
        RuntimeError: If the TensorFlow process that other backends need fails, with its last line.
        TypeError: For a length that is no integer.
        ValueError: For a length above the model's positions, unknown `weights` or a weight that
            float16 does not have, a model without preprocessor, one that Keras has quantized, or
            an activation that LiteRT does not have.
    """
    _check_model(model, weights)
    limit = model.backbone.max_sequence_length - 1
    if max_input_length is None:
        max_input_length = min(INPUT_LENGTH, limit)
    max_input_length = check_integer("max_input_length", max_input_length, 1, limit)
    if max_length is None:
        max_length = min(max_input_length + EXTRA_LENGTH, limit)
    max_length = check_integer("max_length", max_length, 1, limit)
    folder = Path(filepath)
    check_is_new(folder)
    tokenizer = model.preprocessor.tokenizer
    source_length = max_input_length + len(tokenizer.source_ids)
    with new_folder(folder) as written:
        write_litert(model, written / "model.tflite", source_length, max_length, weights)
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
    check_has_tokenizer(model)
    if is_quantized(model):
        raise ValueError(
            "LiteRT does not have the operations of a model that Keras has quantized. Export the "
            'model of before, with `weights="int8"`.'
        )
    if weights == "float16":
        for variable in model.backbone.weights:
            as_float16(variable.path, keras.ops.convert_to_numpy(variable))


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
        num_layers=backbone.num_layers,
        num_heads=backbone.num_heads,
        key_dim=backbone.key_dim,
        value_dim=backbone.value_dim,
        vocabulary_size=backbone.vocabulary_size,
    )
