"""A folder for ONNX Runtime, in Python, in the browser (transformers.js), and elsewhere."""

from pathlib import Path

from aiayn_keras.export.hugging_face_files import ids_never_written, write_configuration
from aiayn_keras.export.onnx_graphs import write_decoder, write_encoder
from aiayn_keras.export.onnx_layers import check_activation
from aiayn_keras.export.preconditions import check_has_tokenizer, check_packages
from aiayn_keras.export.template_files import render
from aiayn_keras.export.tokenizer_json import has_other_targets, write_tokenizers
from aiayn_keras.files import check_is_new, new_folder

SUFFIXES = {"float32": "", "int8": "_quantized"}
"""Ends of the files' names by the number format of matrices, as transformers.js has them."""


def export_onnx(model, filepath, weights="float32"):
    """Writes a folder with the model as ONNX graphs, and the tokenizer that they need.

    The graphs are `onnx/encoder_model.onnx` and `onnx/decoder_model_merged.onnx`, which runs one
    step or more of the search at a time. With `int8` their names end with `_quantized`. They do not
    search: the program that runs them does, such as transformers.js, which is greedy. The README in
    the folder shows how. Both files hold the embeddings.

    Args:
        model: A `TransformerSeq2SeqLM` with a preprocessor.
        filepath: The folder to make.
        weights: Number format of matrices: `"float32"`, or `"int8"`, with a scale for each output,
            whose products are sums of integers.

    Returns:
        `pathlib.Path` of the folder.

    Raises:
        FileExistsError: If the folder exists already.
        ImportError: If `onnx` or `tokenizers` is not installed.
        ValueError: For unknown `weights`, a model without preprocessor, with an activation that is
            not Keras', with a file above 2 GB, or with a SentencePiece model that `tokenizer.json`
            cannot describe.
    """
    check_packages("onnx", "tokenizers")
    if weights not in SUFFIXES:
        raise ValueError(f"`weights` must be one of {', '.join(SUFFIXES)}. Received: {weights!r}.")
    folder = Path(filepath)
    check_is_new(folder)
    check_model(model)
    with new_folder(folder) as written:
        write_tokenizers(written, model.preprocessor.tokenizer)
        names = write_graphs(model.backbone, written / "onnx", weights)
        write_configuration(written, model, {"float32": "fp32", "int8": "q8"}[weights])
        readme = render("onnx.md", name=folder.name, **names, **facts(model))
        (written / "README.md").write_text(readme, encoding="utf-8")
    return folder


def check_model(model):
    """Raises a `ValueError` for a model that ONNX graphs or their folder cannot hold."""
    check_has_tokenizer(model)
    check_activation(model.backbone.activation)


def write_graphs(backbone, folder, weights="float32"):
    """Writes encoder and decoder into a new folder; their names, for the README."""
    folder.mkdir()
    suffix = SUFFIXES[weights]
    names = {
        "encoder": f"encoder_model{suffix}.onnx",
        "decoder": f"decoder_model_merged{suffix}.onnx",
    }
    write_encoder(backbone, folder / names["encoder"], quantized=weights == "int8")
    write_decoder(backbone, folder / names["decoder"], quantized=weights == "int8")
    return names


def facts(model):
    """Values that the READMEs of these graphs show, whatever the runtime."""
    tokenizer = model.preprocessor.tokenizer
    separate = has_other_targets(tokenizer)
    return {
        "positions": model.backbone.max_sequence_length,
        "text": "A text.",
        "start": tokenizer.start_token_id,
        "end": tokenizer.end_token_id,
        "suppressed": ids_never_written(tokenizer),
        "target_tokenizer": "target_tokenizer.json" if separate else "tokenizer.json",
        "separate": f"\n{render('separate_tokens.md').rstrip()}" if separate else "",
    }
