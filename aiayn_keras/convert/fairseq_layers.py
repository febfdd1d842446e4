"""The tensors of fairseq's layers, whose names Hugging Face's Marian has too, by our names.

A matrix there is the transpose of ours. Checkpoints of before 2019 hold queries, keys and values as
one matrix `in_proj_weight`, and number the normalizations of a layer.
"""

import numpy as np

OLD_NORMS = {
    "self_attn_layer_norm": ("layer_norms.0",) * 2,
    "encoder_attn_layer_norm": (None, "layer_norms.1"),
    "final_layer_norm": ("layer_norms.1", "layer_norms.2"),
}
"""Old names of normalizations in the encoder and in the decoder."""


def layer_weights(arrays, num_layers, prefix=""):
    """The weights of all layers.

    Args:
        arrays: The tensors, as `TakenArrays`.
        num_layers: Number of layers of encoder and decoder.
        prefix: What their names begin with.

    Returns:
        Dictionary from the paths of our weights to arrays.
    """
    weights = {}
    for i in range(num_layers):
        for is_decoder, side in enumerate(("encoder", "decoder")):
            theirs, ours = f"{prefix}{side}.layers.{i}", f"{side}_block_{i}"
            parts = {"self_attn": "self_attention"}
            if is_decoder:
                parts["encoder_attn"] = "cross_attention"
            norms = {f"{name}_layer_norm": part for name, part in parts.items()}
            for name, part in parts.items():
                weights |= _attention(arrays, f"{theirs}.{name}", f"{ours}/{part}")
            for name, part in {**norms, "final_layer_norm": "feed_forward"}.items():
                old = OLD_NORMS[name][is_decoder]
                if f"{theirs}.{name}.weight" not in arrays and f"{theirs}.{old}.weight" in arrays:
                    name = old
                path = f"{ours}/{part}_add_norm/layer_norm"
                weights |= norm_weights(arrays, f"{theirs}.{name}", path)
            for name, part in (("fc1", "hidden"), ("fc2", "output")):
                weights |= _dense(arrays, f"{theirs}.{name}", f"{ours}/feed_forward/{part}")
    return weights


def norm_weights(arrays, theirs, ours):
    """The two weights of a layer normalization."""
    return {
        f"{ours}/gamma": arrays.take(f"{theirs}.weight", 1),
        f"{ours}/beta": arrays.take(f"{theirs}.bias", 1),
    }


def _attention(arrays, theirs, ours):
    weights = _dense(arrays, f"{theirs}.out_proj", f"{ours}/output")
    names = {"q": "query", "k": "key", "v": "value"}
    if f"{theirs}.in_proj_weight" not in arrays:
        for letter, name in names.items():
            weights |= _dense(arrays, f"{theirs}.{letter}_proj", f"{ours}/{name}")
        return weights
    matrix = arrays.take(f"{theirs}.in_proj_weight", 2)
    bias = arrays.take(f"{theirs}.in_proj_bias", 1)
    if len(matrix) % 3 or len(bias) != len(matrix):
        raise ValueError(
            f"{arrays.path}: `{theirs}.in_proj_weight` of {len(matrix)} rows and `in_proj_bias` of "
            f"{len(bias)} are not those of queries, keys and values."
        )
    for name, part, bias_part in zip(
        names.values(), np.split(matrix, 3), np.split(bias, 3), strict=True
    ):
        weights |= {f"{ours}/{name}/kernel": part.T, f"{ours}/{name}/bias": bias_part}
    return weights


def _dense(arrays, theirs, ours):
    return {
        f"{ours}/kernel": arrays.take(f"{theirs}.weight", 2).T,
        f"{ours}/bias": arrays.take(f"{theirs}.bias", 1),
    }
