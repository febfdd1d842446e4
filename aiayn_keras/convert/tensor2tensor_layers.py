"""The variables of tensor2tensor's layers by the names of our weights."""

import re

PARTS = {"self_attention": "self_attention", "encdec_attention": "cross_attention"}
LINEARS = {"q": "query", "k": "key", "v": "value", "output_transform": "output"}
NORM = re.compile(
    r"layer_(prepostprocess|preprocess|postprocess)(_\d+)?/layer_norm/layer_norm_scale"
)
"""The normalization of a sublayer; the names of its scopes depend on the version and the place."""


def layer_weights(arrays, root, num_layers):
    """The weights of all layers.

    Args:
        arrays: The variables, as `TakenArrays`.
        root: What their names begin with.
        num_layers: Number of layers of encoder and decoder.

    Returns:
        Dictionary from the paths of our weights to arrays.
    """
    weights = {}
    for i in range(num_layers):
        for side in ("encoder", "decoder"):
            theirs, ours = f"{root}{side}/layer_{i}", f"{side}_block_{i}"
            for name, part in list(PARTS.items())[: 1 + (side == "decoder")]:
                for linear, projection in LINEARS.items():
                    kernel = arrays.take(f"{theirs}/{name}/multihead_attention/{linear}/kernel", 2)
                    weights[f"{ours}/{part}/{projection}/kernel"] = kernel
                weights |= norm_weights(
                    arrays, f"{theirs}/{name}", f"{ours}/{part}_add_norm/layer_norm"
                )
            for name, part in (("conv1", "hidden"), ("conv2", "output")):
                for kind, axes in (("kernel", 2), ("bias", 1)):
                    path = f"{ours}/feed_forward/{part}/{kind}"
                    weights[path] = arrays.take(f"{theirs}/ffn/{name}/{kind}", axes)
            weights |= norm_weights(
                arrays, f"{theirs}/ffn", f"{ours}/feed_forward_add_norm/layer_norm"
            )
    return weights


def norm_weights(arrays, scope, ours):
    """The two weights of the layer normalization in a scope."""
    found = [
        name
        for name in arrays.left()
        if name.startswith(f"{scope}/") and NORM.fullmatch(name.removeprefix(f"{scope}/"))
    ]
    if len(found) != 1:
        raise ValueError(
            f"{arrays.path}: `{scope}` has {len(found)} layer normalizations, expected one."
        )
    return {
        f"{ours}/gamma": arrays.take(found[0], 1),
        f"{ours}/beta": arrays.take(found[0].removesuffix("scale") + "bias", 1),
    }
