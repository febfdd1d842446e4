"""The Transformer of "Attention Is All You Need" in Keras 3: train, translate, serve.

Paper: Vaswani et al. 2017, https://arxiv.org/abs/1706.03762.

Importing the package registers its classes with Keras, so that `keras_hub` and `keras.saving` load
its models. The command `aiayn-keras`, which answers `--help` before Keras is loaded, does without;
so do processes with `AIAYN_KERAS_LAZY=1`, such as workers that only tokenize. There a public name
is imported when it is first used.
"""

import importlib
import os
import sys

_MODULE_OF_NAME = {
    "BeamSampler": "aiayn_keras.decoding.beam_sampler",
    "LabelSmoothedCrossEntropy": "aiayn_keras.optimization",
    "TransformerBackbone": "aiayn_keras.models",
    "TransformerSeq2SeqLM": "aiayn_keras.models",
    "TransformerSeq2SeqLMPreprocessor": "aiayn_keras.models",
    "TransformerTokenizer": "aiayn_keras.models",
    "WarmupSchedule": "aiayn_keras.optimization",
    "paper_adam": "aiayn_keras.optimization",
}

_FOLDERS = ("convert", "export")
"""Sub-packages that add to the classes when they are imported."""

__all__ = [*_FOLDERS, *_MODULE_OF_NAME]


def __getattr__(name):
    """Imports a public name (PEP 562)."""
    if name in _FOLDERS:
        return importlib.import_module(f"aiayn_keras.{name}")
    if name not in _MODULE_OF_NAME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_MODULE_OF_NAME[name]), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *__all__})


def _is_the_command():
    """Whether this process runs `aiayn-keras` or `python -m aiayn_keras`."""
    program = sys.argv[0] if getattr(sys, "argv", None) else ""
    if program == "-m":  # Python is still looking for the module
        return "aiayn_keras" in sys.orig_argv
    return os.path.basename(program) == "aiayn-keras"


if not _is_the_command() and os.environ.get("AIAYN_KERAS_LAZY") != "1":
    for _name in __all__:
        __getattr__(_name)
