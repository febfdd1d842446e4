"""The variables of a CTranslate2 model by the names of our weights.

The names are those of CTranslate2's `ctranslate2/specs/transformer_spec.py` and its neighbours. A
matrix there is the transpose of ours, and those of queries, keys and values are joined.
"""

import numpy as np

NO_WEIGHTS = ("alignment_layer", "alignment_heads", "embeddings_merge")
"""Numbers that say nothing of the model's answers."""


def check_all_taken(variables):
    """Raises a `ValueError` for a variable that our model has no place for."""
    for name, array in variables.left().items():
        is_switched_off = array.ndim == 0 and not array
        if not is_switched_off and name.split("/")[-1] not in NO_WEIGHTS:
            raise ValueError(
                f"{variables.path}: `{name:.200}` belongs to no part of the Transformer that can "
                "be converted: an encoder and a decoder with sinusoidal or learned positions."
            )


def layer_weights(variables, num_layers, has_bias):
    """The weights of all layers.

    Args:
        variables: The file's variables, as `TakenArrays`.
        num_layers: Number of layers of encoder and decoder.
        has_bias: Whether our attention projections have biases; missing ones are 0.

    Returns:
        Dictionary from the paths of our weights to arrays.
    """
    weights = {}
    for i in range(num_layers):
        for side in ("encoder", "decoder"):
            theirs, ours = f"{side}/layer_{i}", f"{side}_block_{i}"
            weights |= _attention(variables, theirs, ours, "self_attention", has_bias)
            weights |= _feed_forward(variables, theirs, ours)
        weights |= _attention(variables, theirs, ours, "cross_attention", has_bias)
    return weights


def norm_weights(variables, theirs, ours):
    """The two weights of a layer normalization."""
    return {f"{ours}/{name}": variables.take(f"{theirs}/{name}", 1) for name in ("gamma", "beta")}


def _attention(variables, theirs, ours, kind, has_bias):
    """The weights of one attention and its normalization."""
    joined = [("query", "key", "value"), ("output",)]
    if kind == "cross_attention":
        joined = [("query",), ("key", "value"), ("output",)]
    theirs = f"{theirs}/{'self_attention' if kind == 'self_attention' else 'attention'}"
    weights = norm_weights(variables, f"{theirs}/layer_norm", f"{ours}/{kind}_add_norm/layer_norm")
    for i, names in enumerate(joined):
        kernel, bias = _linear(variables, f"{theirs}/linear_{i}", len(names))
        for name, part, bias_part in zip(names, kernel, bias, strict=True):
            weights[f"{ours}/{kind}/{name}/kernel"] = part.T
            if has_bias:
                weights[f"{ours}/{kind}/{name}/bias"] = bias_part
    return weights


def _feed_forward(variables, theirs, ours):
    theirs, ours = f"{theirs}/ffn", f"{ours}/feed_forward"
    weights = norm_weights(variables, f"{theirs}/layer_norm", f"{ours}_add_norm/layer_norm")
    for i, name in enumerate(("hidden", "output")):
        (kernel,), (bias,) = _linear(variables, f"{theirs}/linear_{i}", 1)
        weights |= {f"{ours}/{name}/kernel": kernel.T, f"{ours}/{name}/bias": bias}
    return weights


def _linear(variables, name, num_parts):
    """The matrix and the bias of a linear layer, each cut into parts of equal height."""
    matrix = variables.take(f"{name}/weight", 2)
    bias = variables.find([f"{name}/bias"], 1, np.zeros(len(matrix), "float32"))
    if len(matrix) % num_parts or len(bias) != len(matrix):
        raise ValueError(
            f"{variables.path}: `{name}/weight` has {len(matrix)} rows and `{name}/bias` "
            f"{len(bias)}, expected equal numbers and a multiple of {num_parts}."
        )
    return np.split(matrix, num_parts), np.split(bias, num_parts)
