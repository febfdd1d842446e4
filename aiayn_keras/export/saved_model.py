"""A SavedModel for TensorFlow Serving, in a folder with everything that the server needs."""

import importlib.metadata
from dataclasses import asdict
from pathlib import Path

from aiayn_keras.checks import check_integer, check_texts
from aiayn_keras.export.graph_writer import write_graph
from aiayn_keras.export.preconditions import check_has_tokenizer, check_packages, is_quantized
from aiayn_keras.export.server_versions import check_graph
from aiayn_keras.export.serving_kit import check_kit, write_kit
from aiayn_keras.export.serving_options import make_serving_options
from aiayn_keras.export.version_notes import VERSION_FILE, VersionNotes
from aiayn_keras.export.warmup_requests import write_warmup
from aiayn_keras.files import new_folder, write_checksums
from aiayn_keras.schemas import parse
from aiayn_keras.weight_files import check_number_format

PRECISIONS = ("float32", "bfloat16")


def export_saved_model(
    model,
    filepath,
    version=None,
    *,
    precision=None,
    weights="float32",
    warmup_texts=(),
    card=None,
    **options,
):
    """Writes `filepath/<version>/`, a SavedModel that takes text and returns text, and its kit.

    Beside the versions are `models.config`, `batching.config`, `monitoring.config`,
    `docker-compose.yml` and `kubernetes` for TensorFlow Serving, and a README with the model card,
    the commands to run the server and send requests to it, and the signatures. With the JAX or
    PyTorch backend a TensorFlow process writes the SavedModel.

    Args:
        model: A `TransformerSeq2SeqLM` with a preprocessor.
        filepath: The folder `<name>`, TensorFlow Serving's `model_base_path`; made if missing.
        version: Integer; defaults to the one after the greatest there is, from 1 on.
        precision: `"float32"` or `"bfloat16"`; the model's own if not given, as it must not be
            for a quantized model.
        weights: Number format of a float32 model's matrices in the files: `"float16"` halves them,
            which changes their last digits; loaded, they are float32 again, and nothing is slower.
        warmup_texts: List of typical texts to warm the server up with; made of words of the
            vocabulary if not given.
        card: Dictionary of strings for the model card, such as data, BLEU, limits and license.
        **options: The fields of `ServingOptions`, which are fixed in the graph: those of
            `SearchOptions`, where `num_return_sequences` is that of `translate_nbest` and defaults
            to `num_beams`; `max_input_length`, the greatest number of wordpieces of a text; and
            `long_text`, `"truncate"` to translate the beginning of a longer one or `"error"` to
            refuse the request; `documents`, True for the signature `translate_document`, which
            translates texts of any length as `model.translate_documents` does.

    Returns:
        `pathlib.Path` of the version's folder.

    Raises:
        FileExistsError: If the version exists already, or the folder holds other files and no
            exported model.
        FileNotFoundError: If the folder has a version that this package did not write.
        ImportError: If TensorFlow, TensorFlow Text or TensorFlow Serving's API is not installed.
        ValueError: For an option out of range, a folder whose name is not of letters, digits, `.`,
            `_` and `-`, a kit in it that this package did not write, or a model without
            preprocessor; nothing is written.
        RuntimeError: If the TensorFlow process fails, with its last line.
        UnsupportedGraphError: If the oldest server that the kit names lacks an op of the graph.
    """
    check_packages("tensorflow", install="tensorflow")
    check_packages("tensorflow_text", install="tensorflow-text")
    check_packages("tensorflow_serving", install="tensorflow-serving-api")
    check_has_tokenizer(model)
    options = make_serving_options(model.backbone.max_sequence_length, **options)
    if precision not in (None, *PRECISIONS):
        raise ValueError(
            f'`precision` must be "float32" or "bfloat16". Received: precision={precision!r}.'
        )
    if precision is not None and is_quantized(model):
        raise ValueError(
            "`precision` must be left out for a quantized model, which keeps its own numbers. "
            f"Received: precision={precision!r}."
        )
    _check_weights(weights, precision or model.backbone.compute_dtype)
    warmup_texts = check_texts("warmup_texts", warmup_texts)
    folder = Path(filepath)
    greatest = max(check_kit(folder), default=0)
    version = greatest + 1 if version is None else check_integer("version", version, 1, 2**62)
    target = folder / str(version)
    notes = parse(
        VersionNotes,
        {
            "options": asdict(options),
            "precision": precision or model.backbone.compute_dtype,
            "weights": weights,
            "source_end": model.preprocessor.tokenizer.source_end,
            "tensorflow": importlib.metadata.version("tensorflow"),
            "card": {"parameters": f"{model.count_params():,}", **(card or {})},
        },
        "`card`",
        "The facts are short texts.",
    )
    with new_folder(target) as written:
        write_graph(model, written, options, precision, weights)
        check_graph(written)
        tokenizer = model.preprocessor.tokenizer
        name = folder.resolve().name
        write_warmup(written, name, tokenizer, warmup_texts, options)
        (written / VERSION_FILE).write_text(notes.to_json(), encoding="utf-8")
        write_checksums(written)
    write_kit(folder)
    return target


def _check_weights(weights, precision):
    check_number_format(weights)
    if weights == "float16" and precision != "float32":
        raise ValueError(
            '`weights="float16"` is for a model that computes in float32. '
            f"Received: precision={precision!r}, whose weights take as little space."
        )
