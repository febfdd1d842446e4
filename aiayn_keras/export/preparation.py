"""Steps shared by several exports: preconditions, float32 weights, text templates."""

import importlib.resources
import importlib.util
import string

import numpy as np
from keras import ops

from aiayn_keras.backend import own_classes
from aiayn_keras.common.weight_files import as_float16
from aiayn_keras.decoding.frozen_decoder import own_parts

_INTEROP = "'aiayn-keras[interop]'"
"""The extra with the packages of other engines, as an argument for pip."""


def check_packages(*modules, install=_INTEROP):
    """Raises an `ImportError` that says what to install if a package is missing.

    Args:
        *modules: Names to import.
        install: The argument for `pip install`.
    """
    for module in modules:
        if importlib.util.find_spec(module) is None:
            raise ImportError(
                f"This format is written with the package {module}, which is not installed: "
                f"pip install {install}."
            )


def has_quantized_weights(model):
    """True if Keras has quantized layers of a model."""
    return are_quantized(model.backbone._flatten_layers())


def are_quantized(layers):
    """True if Keras has quantized one of these layers."""
    return any(getattr(layer, "quantization_mode", None) for layer in layers)


def check_known_parts(model, format_name, runs_encoder=False):
    """Raises a `ValueError` if a format, which repeats what layers compute, does not know one.

    Args:
        model: A `TransformerSeq2SeqLM`.
        format_name: Name of the format, for the error.
        runs_encoder: Whether the format is written by running the encoder's layers as they are.
    """
    backbone = model.backbone
    if names := own_parts(backbone) if runs_encoder else own_classes(backbone._flatten_layers()):
        raise ValueError(
            f"{format_name} cannot hold parts of your own, {', '.join(names)}: it does not know "
            "what they compute. A SavedModel can hold them: `model.export(path)`."
        )


def check_tokenizer(model):
    """Raises a `ValueError` for a model whose tokenizer cannot be written.

    Exports only contain the SentencePiece models of a tokenizer. So a model is refused if it has no
    preprocessor, or if its tokenizer may do more than these: one of a class of your own, or with
    options of KerasHub.
    """
    if model.preprocessor is None:
        raise ValueError("The model has no `preprocessor`, and so no tokenizer to write.")
    tokenizer = model.preprocessor.tokenizer
    if not tokenizer.is_plain():
        options = ("sequence_length", "add_bos", "add_eos")
        given = [f"{name}={getattr(tokenizer, name)}" for name in options]
        raise ValueError(
            "An export holds only the SentencePiece model of a tokenizer, and not what a class of "
            "your own, `sequence_length`, `add_bos` or `add_eos` add to it: texts would be split "
            "differently there. If a plain tokenizer splits them correctly, give the preprocessor "
            "`TransformerTokenizer(tokenizer.proto)`. "
            f"Received: {type(tokenizer).__name__}({', '.join(given)})."
        )


def check_weights(model, number_format="float32"):
    """Raises a `ValueError` for a weight that is not finite, or not in a number format's range.

    `translate` refuses such a model; other programs would answer with meaningless texts.

    Args:
        model: A `TransformerSeq2SeqLM`.
        number_format: Only `"float16"` makes a difference: all other formats have float32's range,
            or a scale.
    """
    for variable in model.backbone.weights:
        array = float32_array(variable)
        if not np.isfinite(array).all():
            raise ValueError(
                f"The weights of {variable.path} are not all finite, so the model cannot "
                "translate: its training has diverged. Export an earlier checkpoint."
            )
        if number_format == "float16":
            as_float16(variable.path, array)


def float32_array(tensor):
    """A float32 copy of a variable or tensor, which the caller may change in place."""
    return np.array(ops.convert_to_numpy(tensor), dtype="float32")


def float32_kernel(layer):
    """The matrix of a Dense layer; a quantized one is recovered by applying it to the identity."""
    if layer.quantization_mode is None:
        return float32_array(layer.kernel)
    kernel = float32_array(layer(ops.eye(layer.input_spec.axes[-1])))
    return kernel - float32_array(layer.bias) if layer.use_bias else kernel


def render(file_name, /, **values):
    """Fills in a template.

    Args:
        file_name: Name of a file in the folder `templates`, with placeholders of
            `string.Template`.
        **values: A value for each placeholder.

    Returns:
        The text.
    """
    file = importlib.resources.files("aiayn_keras.export") / "templates" / file_name
    return string.Template(file.read_text(encoding="utf-8")).substitute(values)
