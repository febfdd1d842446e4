"""A process of its own with the TensorFlow backend, for what only TensorFlow writes."""

import json
import os
import subprocess
import sys
import tempfile


def run_in_tensorflow(module, model, **arguments):
    """Calls the function `main` of a module where Keras runs on TensorFlow.

    Args:
        module: Full name of the module. Its `main` reads the arguments by `read_arguments`.
        model: A `TransformerSeq2SeqLM` with a preprocessor.
        **arguments: What JSON can hold. `preset` is added: a folder with the model.

    Raises:
        RuntimeError: If the process fails, with its last line, or is killed.
    """
    with tempfile.TemporaryDirectory() as preset:
        model.save_to_preset(preset)
        arguments["preset"] = preset
        process = subprocess.run(
            [sys.executable, "-c", f"from {module} import main; main()"],
            input=json.dumps(arguments),
            # This process may hold the GPU's memory.
            env={**os.environ, "KERAS_BACKEND": "tensorflow", "CUDA_VISIBLE_DEVICES": ""},
            capture_output=True,
            text=True,
        )
    if process.returncode < 0:
        raise RuntimeError(
            f"The TensorFlow process that exports the model was killed by signal "
            f"{-process.returncode}, perhaps for want of memory: it holds the model once more."
        )
    if process.returncode:
        last_line = (process.stderr.strip().splitlines() or ["no message"])[-1]
        raise RuntimeError(f"The TensorFlow process could not export the model: {last_line}")


def read_arguments():
    """Dictionary of the arguments of `run_in_tensorflow`, read in that process."""
    return json.load(sys.stdin)
