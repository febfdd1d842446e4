"""Conditions of every export: the packages that write it, and a model that has a tokenizer."""

import importlib.util

INTEROP = "'aiayn-keras[interop]'"
"""The extra with the packages of other engines, as pip takes it."""


def check_packages(*modules, install=INTEROP):
    """Raises an `ImportError` that says what to install, unless all the packages are there.

    Args:
        *modules: Names to import.
        install: What pip installs them by.
    """
    for module in modules:
        if importlib.util.find_spec(module) is None:
            raise ImportError(
                f"This format is written with the package {module}, which is not installed: "
                f"pip install {install}."
            )


def is_quantized(model):
    """Whether Keras has quantized layers of a model."""
    layers = model.backbone._flatten_layers()
    return any(getattr(layer, "quantization_mode", None) for layer in layers)


def check_has_tokenizer(model):
    """Raises a `ValueError` for a model without preprocessor."""
    if model.preprocessor is None:
        raise ValueError("The model has no `preprocessor`, hence no tokenizer to write.")
