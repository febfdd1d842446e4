"""The SavedModel: written here or in a TensorFlow process, and checked."""

import contextlib
import importlib
import importlib.metadata
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

import keras

from aiayn_keras.common.weight_files import check_number_format
from aiayn_keras.export.preparation import (
    check_packages,
    check_tokenizer,
    check_weights,
    has_quantized_weights,
)
from aiayn_keras.export.served_translator import build_served_translator
from aiayn_keras.export.served_weights import HalfPrecisionWeights, WholeWeights
from aiayn_keras.export.server_files import check_graph, kit_name, seconds_to_load, write_warmup
from aiayn_keras.export.serving_kit import MAX_VERSION, check_kit, publishing_in, write_kit
from aiayn_keras.export.serving_options import (
    VERSION_FILE,
    ServingOptions,
    VersionNotes,
    longest_whole_text,
    make_serving_options,
)
from aiayn_keras.models import TransformerSeq2SeqLM
from aiayn_keras_light.checks import check_integer, check_texts, parse
from aiayn_keras_light.files import check_is_new, check_is_utf8, new_folder, write_checksums

WEIGHTS = {"float32": WholeWeights, "float16": HalfPrecisionWeights}
"""The class that keeps a graph's weights, by the number format in the files."""

_PRECISIONS = ("float32", "bfloat16")


def run_in_tensorflow(module, model, **arguments):
    """Calls the function `main` of a module where Keras runs on TensorFlow.

    Args:
        module: Full name of the module. Its `main` reads the arguments by `read_arguments`.
        model: A `TransformerSeq2SeqLM` with a preprocessor.
        **arguments: What JSON can hold. `preset` is added: a folder with the model.

    Raises:
        RuntimeError: If the process fails, with its last line, or is killed.
        ValueError: For a model of a class that the process cannot import.
    """
    arguments["modules"] = _modules_of(model)
    with tempfile.TemporaryDirectory() as preset:
        model.save_to_preset(preset)
        arguments["preset"] = preset
        process = subprocess.run(
            [sys.executable, "-c", f"from {module} import main; main()"],
            input=json.dumps(arguments),
            env={
                **os.environ,
                "KERAS_BACKEND": "tensorflow",
                "CUDA_VISIBLE_DEVICES": "",  # This process may hold the GPU's memory.
                "PYTHONPATH": os.pathsep.join(
                    [os.environ.get("PYTHONPATH", os.curdir), *filter(None, sys.path)]
                ),
            },
            capture_output=True,
            text=True,
        )
    if process.returncode < 0:
        raise RuntimeError(
            f"The TensorFlow process that exports the model was killed by signal "
            f"{-process.returncode}, perhaps for lack of memory: it has a second copy of the model."
        )
    if process.returncode:
        last_line = (process.stderr.strip().splitlines() or ["no message"])[-1]
        raise RuntimeError(f"The TensorFlow process could not export the model: {last_line}")


def _modules_of(model):
    """Names of the modules outside this package that register the classes of a model."""
    modules = {type(part).__module__ for part in (model, model.backbone)}
    if "__main__" in modules:
        raise ValueError(
            "The model has a class that this program or notebook defines itself, and a TensorFlow "
            "process has to import it for the export: move the class into a module of its own, or "
            "export with KERAS_BACKEND=tensorflow and without `precision`."
        )
    return sorted(name for name in modules if name.partition(".")[0] != "aiayn_keras")


def read_arguments():
    """Dictionary of the arguments of `run_in_tensorflow`, read in that process."""
    arguments = json.load(sys.stdin)
    for name in arguments.pop("modules"):
        importlib.import_module(name)
    return arguments


def write_graph(model, path, options, precision=None, weights="float32"):
    """Writes a SavedModel without warm-up requests and notes.

    With the JAX or PyTorch backend, or for a precision other than the model's, the model is saved
    and a TensorFlow process loads and writes it.

    Args:
        model: A `TransformerSeq2SeqLM` with a preprocessor.
        path: Folder to fill.
        options: `ServingOptions`.
        precision: `"float32"` or `"bfloat16"`; the model's own if not given.
        weights: A key of `WEIGHTS`.

    Raises:
        RuntimeError: If the TensorFlow process fails, with its last line.
        ValueError: For a weight that float16 does not have.
    """
    if keras.config.backend() == "tensorflow" and precision is None:
        _write_graph_here(model, path, options, weights)
    else:
        run_in_tensorflow(
            __name__,
            model,
            path=str(path),
            options=asdict(options),
            precision=precision,
            weights=weights,
        )


def _write_graph_here(model, path, options, weights):
    import tensorflow as tf

    module, signatures = build_served_translator(model, options, WEIGHTS[weights](model))
    tf.saved_model.save(module, str(path), signatures=signatures)


def main():
    """Runs in the TensorFlow process: writes the graph that its arguments describe."""
    arguments = read_arguments()
    precision = arguments["precision"]
    dtype = {} if precision is None else {"dtype": precision}
    model = TransformerSeq2SeqLM.from_preset(arguments["preset"], **dtype)
    options = ServingOptions(**arguments["options"])
    _write_graph_here(model, Path(arguments["path"]), options, arguments["weights"])


def export_saved_model(
    model,
    filepath,
    version=None,
    *,
    precision=None,
    weights="float32",
    warmup_texts=(),
    measure_load=False,
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
        version: Integer; defaults to the highest existing version plus one, starting at 1.
        precision: `"float32"` or `"bfloat16"`; the model's own if not given, as it must not be
            for a quantized model.
        weights: Number format of a float32 model's matrices in the files: `"float16"` halves them,
            which changes their last digits; loaded, they are float32 again, and nothing is slower.
        warmup_texts: List of typical texts to warm the server up with; made of words of the
            vocabulary if not given.
        measure_load: Whether to load and warm up the version once, as a server does. What a server
            could not load is not exported then, and a server of a slow model tries longer.
        card: Dictionary of strings for the model card, such as data, BLEU, limits and license.
        **options: The fields of `ServingOptions`, which are fixed in the graph: those of
            `SearchOptions`, where `num_return_sequences` is that of `translate_nbest` and defaults
            to `num_beams`; `max_input_length`, the maximum number of wordpieces in a text; and
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
            preprocessor or with a tokenizer of your own, or with a weight that is not finite;
            nothing is written.
        RuntimeError: If the TensorFlow process fails, with its last line.
        UnsupportedGraphError: If the oldest server that the kit names lacks an op of the graph.
    """
    check_packages("tensorflow", install="tensorflow")
    check_packages("tensorflow_text", install="tensorflow-text")
    check_packages("tensorflow_serving", install="tensorflow-serving-api")
    check_tokenizer(model)
    options = make_serving_options(
        model.backbone.max_sequence_length, model.search_defaults, **options
    )
    if not (precision is None or (isinstance(precision, str) and precision in _PRECISIONS)):
        raise ValueError(
            f'`precision` must be "float32" or "bfloat16". Received: precision={precision!r}.'
        )
    if precision is not None and has_quantized_weights(model):
        raise ValueError(
            "`precision` must be left out for a quantized model, which keeps its own numbers. "
            f"Received: precision={precision!r}."
        )
    _check_number_format(weights, precision or model.backbone.compute_dtype)
    if card is not None and not isinstance(card, dict):
        raise ValueError(f"`card` must be a dictionary of strings. Received: card={card!r:.60}.")
    check_weights(model)
    warmup_texts = check_texts("warmup_texts", warmup_texts)
    folder = Path(filepath)
    check_is_utf8(folder)
    newest = max(check_kit(folder), default=0)
    version = newest + 1 if version is None else version
    version = check_integer("version", version, 1, MAX_VERSION)
    target = folder / str(version)
    tokenizer = model.preprocessor.tokenizer
    facts = {
        "options": asdict(options),
        "precision": precision or model.backbone.compute_dtype,
        "weights": weights,
        "source_end": tokenizer.source_end,
        "longest_whole_text": longest_whole_text(tokenizer, options),
        "tensorflow": importlib.metadata.version("tensorflow"),
        "card": {"parameters": f"{model.count_params():,}", **(card or {})},
    }
    notes = parse(VersionNotes, facts, "`card`", "The facts are short texts.")
    with contextlib.ExitStack() as publishing, new_folder(target) as written:
        write_graph(model, written, options, precision, weights)
        check_graph(written)
        write_warmup(written, kit_name(folder), tokenizer, warmup_texts, options)
        if measure_load:
            notes.load_seconds = round(seconds_to_load(written), 1)
        (written / VERSION_FILE).write_text(notes.to_json(), encoding="utf-8")
        write_checksums(written)
        # Until the version is in its place, after `write_kit`, no other export describes the kit.
        publishing.enter_context(publishing_in(folder))
        check_is_new(target)
        write_kit(folder, {version: written})
    return target


def _check_number_format(weights, precision):
    check_number_format(weights)
    if weights == "float16" and precision != "float32":
        raise ValueError(
            '`weights="float16"` is for a model that computes in float32. '
            f"Received: precision={precision!r}, whose weights take as little space."
        )
