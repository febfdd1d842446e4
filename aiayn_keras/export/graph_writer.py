"""Writing the served graph: in this process, or in one of its own with the TensorFlow backend."""

from dataclasses import asdict
from pathlib import Path

import keras

from aiayn_keras.export.half_precision import HalfPrecisionWeights, WholeWeights
from aiayn_keras.export.served_translator import build_served_translator
from aiayn_keras.export.serving_options import ServingOptions
from aiayn_keras.export.tensorflow_process import read_arguments, run_in_tensorflow
from aiayn_keras.models import TransformerSeq2SeqLM

WEIGHTS = {"float32": WholeWeights, "float16": HalfPrecisionWeights}
"""How a graph keeps weights, by the name of their number format in the files."""


def write_graph(model, path, options, precision=None, weights="float32"):
    """Writes a SavedModel without warm-up requests and notes.

    With the JAX or PyTorch backend, or for another precision than the model's, the model is saved
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
