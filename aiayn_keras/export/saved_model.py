"""A SavedModel for TensorFlow Serving, from whatever backend runs, in a kit that runs it."""

import hashlib
import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

import keras

from aiayn_keras.export.served_translator import build_served_translator
from aiayn_keras.export.serving_kit import VERSION_FILE, read_versions, write_kit
from aiayn_keras.export.serving_options import ServingOptions, make_serving_options
from aiayn_keras.export.warmup import write_warmup
from aiayn_keras.models import TransformerSeq2SeqLM

PRECISIONS = ("float32", "bfloat16")


def export_saved_model(
    model,
    filepath,
    version=None,
    *,
    precision=None,
    warmup_texts=(),
    card=None,
    **options,
):
    """Writes `filepath/<version>/`, a SavedModel that takes text and returns text, and its kit.

    Beside the versions are `models.config`, `batching.config`, `monitoring.config` and
    `docker-compose.yml` for TensorFlow Serving, and a README with the model card, the commands to
    run and ask the server, and the signatures. From the JAX or PyTorch backend the model is saved
    and exported by a TensorFlow process.

    Args:
        model: A `TransformerSeq2SeqLM` with a preprocessor.
        filepath: The folder `<name>`, TensorFlow Serving's `model_base_path`; made if missing.
        version: Integer; defaults to the one after the greatest there is, from 1 on.
        precision: `"float32"` or `"bfloat16"`; the model's own if not given.
        warmup_texts: List of texts as they will come, to warm the server up with; made of the
            vocabulary if not given.
        card: Dictionary of strings for the model card, such as data, BLEU, limits and license.
        **options: The fields of `ServingOptions`, which are fixed in the graph: those of
            `SearchOptions`, where `num_return_sequences` is that of `translate_nbest` and defaults
            to `num_beams`; `max_input_length`, the greatest number of wordpieces of a text; and
            `long_text`, `"truncate"` to translate the beginning of a longer one or `"error"` to
            refuse the request.

    Returns:
        `pathlib.Path` of the version's folder.

    Raises:
        FileExistsError: If the version exists already.
        FileNotFoundError: If the folder has versions that are of another origin.
        ImportError: If TensorFlow, TensorFlow Text or TensorFlow Serving's API is not installed.
        ValueError: For an option out of range.
        RuntimeError: If the TensorFlow process fails, with its last line.
    """
    _check_installed()
    options = make_serving_options(model.backbone.max_sequence_length, **options)
    if precision not in (None, *PRECISIONS):
        raise ValueError(
            f'`precision` must be "float32" or "bfloat16". Received: precision={precision!r}.'
        )
    folder = Path(filepath)
    greatest = max(read_versions(folder), default=0)
    version = greatest + 1 if version is None else version
    target = folder / str(version)
    if target.exists():
        raise FileExistsError(f"{target} exists already: choose another version.")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".writing-", dir=folder) as temporary:
        written = Path(temporary) / str(version)
        if keras.config.backend() == "tensorflow" and precision is None:
            _write(model, written, options)
        else:
            _write_in_other_process(model, written, options, precision)
        tokenizer = model.preprocessor.tokenizer
        write_warmup(written, folder.resolve().name, tokenizer, list(warmup_texts))
        notes = {
            "options": asdict(options),
            "precision": precision or model.backbone.compute_dtype,
            "tensorflow": importlib.metadata.version("tensorflow"),
            "card": {"parameters": f"{model.count_params():,}", **(card or {})},
        }
        (written / VERSION_FILE).write_text(json.dumps(notes, indent=1), encoding="utf-8")
        _write_checksums(written)
        written.rename(target)
    write_kit(folder)
    return target


def _check_installed():
    for module, package in (
        ("tensorflow", "tensorflow"),
        ("tensorflow_text", "tensorflow-text"),
        ("tensorflow_serving", "tensorflow-serving-api"),
    ):
        if importlib.util.find_spec(module) is None:
            raise ImportError(
                f"A SavedModel is written by TensorFlow, but `{module}` is not installed: "
                f"pip install {package}."
            )


def _write(model, path, options):
    import tensorflow as tf

    module, signatures = build_served_translator(model, options)
    tf.saved_model.save(module, str(path), signatures=signatures)


def _write_checksums(folder):
    """Writes what `sha256sum --check` reads."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    lines = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder).as_posix()}\n"
        for path in files
    ]
    (folder / "SHA256SUMS").write_text("".join(lines), encoding="utf-8")


def _write_in_other_process(model, path, options, precision):
    """Saves the model and lets a process with the TensorFlow backend write the SavedModel."""
    with tempfile.TemporaryDirectory() as preset:
        model.save_to_preset(preset)
        arguments = {
            "preset": preset,
            "path": str(path),
            "options": asdict(options),
            "precision": precision,
        }
        process = subprocess.run(
            [sys.executable, "-m", "aiayn_keras.export.saved_model", json.dumps(arguments)],
            # This process may hold the GPU's memory.
            env={**os.environ, "KERAS_BACKEND": "tensorflow", "CUDA_VISIBLE_DEVICES": ""},
            capture_output=True,
            text=True,
        )
    if process.returncode:
        last_line = (process.stderr.strip().splitlines() or ["no message"])[-1]
        raise RuntimeError(f"The TensorFlow process could not export the model: {last_line}")


def _main(preset, path, options, precision):
    dtype = {} if precision is None else {"dtype": precision}
    model = TransformerSeq2SeqLM.from_preset(preset, **dtype)
    _write(model, Path(path), ServingOptions(**options))


if __name__ == "__main__":
    _main(**json.loads(sys.argv[1]))
