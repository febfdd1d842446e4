"""Models that systems load: random weights and exports.

Each maker runs in its own process, so that no measured process holds a second framework.
"""

from pathlib import Path

from benchmarks.processes import Worker
from benchmarks.random_models import build_random_model
from benchmarks.speed.decode_systems import NUM_BEAMS

# Keras backends on which the makers run.
BACKENDS = {
    "random_model": "torch",
    "saved_model": "tensorflow",
    "ctranslate2": "torch",
    "onnx_float32": "torch",
    "onnx_int8": "torch",
}


def make_artifact(kind, model, target, checkout=None):
    """Runs a maker in another process.

    Args:
        kind: A key of `BACKENDS`.
        model: A model folder; for `"random_model"` the name of an architecture.
        target: The folder to make.
        checkout: Folder of a different version of this package that makes it.

    Raises:
        WorkerError: If it fails.
    """
    log = Path(f"{target}.log")
    with Worker(log, BACKENDS[kind], checkout) as worker:
        worker.call(
            f"benchmarks.speed.artifacts:write_{kind}", model=str(model), target=str(target)
        )


def write_random_model(model, target):
    build_random_model(model).save_to_preset(target)


def write_saved_model(model, target):
    """Writes one version: `saved_model.pb` lies in the folder itself."""
    target = Path(target)
    written = _load(model).export(target / "versions", num_beams=NUM_BEAMS, length_penalty=0.0)
    for path in written.iterdir():
        path.rename(target / path.name)


def write_ctranslate2(model, target):
    _load(model).export(target, format="ctranslate2")


def write_onnx_float32(model, target):
    _load(model).export(target, format="onnx")


def write_onnx_int8(model, target):
    _load(model).export(target, format="onnx", weights="int8")


def _load(model):
    from aiayn_keras import TransformerSeq2SeqLM

    return TransformerSeq2SeqLM.from_preset(model)
