"""A SavedModel for TensorFlow Serving, from whatever backend runs."""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import keras

from aiayn_keras.export.served_translator import build_served_translator
from aiayn_keras.models import TransformerSeq2SeqLM


def export_saved_model(model, filepath, version=None, num_beams=4, length_penalty=0.6):
    """Writes `filepath/<version>/`, a SavedModel that takes text and returns text.

    Signatures (B texts, W beams):

    | name | inputs | outputs |
    |---|---|---|
    | `serving_default` | `text` string (B,) | `translation` string (B,), `score` float (B,) |
    | `translate_nbest` | `text` string (B,) | `translations` string (B, W), `scores` float (B, W) |
    | `generate_ids` | `token_ids` int32 (B, S), `pieces </s>`, padded with 0 | `token_ids` int32
      (B, L), `score` float (B,) |
    | `score` | `source`, `target` string (B,) | `log_probability` float (B,) |

    Scores are log-probabilities in nats. A text of more tokens than the model has positions is
    cut. From the JAX or PyTorch backend the model is saved and exported by a TensorFlow process.

    Args:
        model: A `TransformerSeq2SeqLM` with a preprocessor.
        filepath: The folder `<name>`, TensorFlow Serving's `model_base_path`; made if missing.
        version: Integer; defaults to the one after the greatest there is, from 1 on.
        num_beams: Number of beams, fixed in the graph.
        length_penalty: The exponent α, fixed in the graph.

    Returns:
        `pathlib.Path` of the version's folder.

    Raises:
        FileExistsError: If the version exists already.
        ImportError: If TensorFlow or TensorFlow Text is not installed.
        RuntimeError: If the TensorFlow process fails, with its last line.
    """
    for module in ("tensorflow", "tensorflow_text"):
        if importlib.util.find_spec(module) is None:
            raise ImportError(
                f"A SavedModel is written by TensorFlow, but `{module}` is not installed: "
                "pip install tensorflow tensorflow-text."
            )
    folder = Path(filepath)
    version = _next_version(folder) if version is None else version
    target = folder / str(version)
    if target.exists():
        raise FileExistsError(f"{target} exists already: choose another version.")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".writing-", dir=folder) as temporary:
        written = Path(temporary) / str(version)
        if keras.config.backend() == "tensorflow":
            _write(model, written, num_beams, length_penalty)
        else:
            _write_by_tensorflow(model, written, num_beams, length_penalty)
        written.rename(target)
    return target


def _next_version(folder):
    if not folder.is_dir():
        return 1
    return 1 + max(
        (int(path.name) for path in folder.iterdir() if path.name.isdecimal()), default=0
    )


def _write(model, path, num_beams, length_penalty):
    import tensorflow as tf

    module, signatures = build_served_translator(model, num_beams, length_penalty)
    tf.saved_model.save(module, str(path), signatures=signatures)


def _write_by_tensorflow(model, path, num_beams, length_penalty):
    """Saves the model and lets a process with the TensorFlow backend write the SavedModel."""
    with tempfile.TemporaryDirectory() as preset:
        model.save_to_preset(preset)
        arguments = {
            "preset": preset,
            "path": str(path),
            "num_beams": num_beams,
            "length_penalty": length_penalty,
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


def _main(preset, path, num_beams, length_penalty):
    model = TransformerSeq2SeqLM.from_preset(preset)
    _write(model, Path(path), num_beams, length_penalty)


if __name__ == "__main__":
    _main(**json.loads(sys.argv[1]))
