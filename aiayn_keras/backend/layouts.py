"""The layout of weights over devices that share one model."""

import keras

BATCH, MODEL = "batch", "model"
"""Names of the axes of a mesh of devices: copies of the model, and parts of each copy."""


def model_layout(device_mesh):
    """Splits the Transformer's weights by heads, hidden units and tokens (arXiv:1909.08053).

    | weight | split over the devices of a copy |
    |---|---|
    | `query`, `key`, `value` kernel `(D, H·K)` and bias | columns: each has some heads |
    | attention `output` kernel `(H·K_v, D)` | rows, of its heads; the products are summed |
    | `hidden` kernel `(D, F)` and bias | columns: each has some hidden units |
    | feed-forward `output` kernel `(F, D)` | rows, of its units; the products are summed |
    | `token_embedding` `(V, D)` | rows: each looks up, and gives the logits of, some tokens |
    | `reverse_embeddings` `(D, V)`, `logits_bias` `(V,)` | columns: logits of the same tokens |
    | biases of outputs, layer normalization, learned positions | whole on every device |

    So a block sums over the devices after each attention and each feed-forward network, and
    nowhere else. The optimizer's moments lie as their weights do.

    Args:
        device_mesh: A `keras.distribution.DeviceMesh` with the axes `BATCH` and `MODEL`.

    Returns:
        A `keras.distribution.LayoutMap`, by the paths of `TransformerBackbone`'s variables.
    """
    layout = keras.distribution.LayoutMap(device_mesh)
    layout[r".*attention/(query|key|value)/kernel"] = (None, MODEL)
    layout[r".*attention/(query|key|value)/bias"] = (MODEL,)
    layout[r".*attention/output/kernel"] = (MODEL, None)
    layout[r".*feed_forward/hidden/kernel"] = (None, MODEL)
    layout[r".*feed_forward/hidden/bias"] = (MODEL,)
    layout[r".*feed_forward/output/kernel"] = (MODEL, None)
    layout[r"token_embedding/embeddings"] = (MODEL, None)
    layout[r"token_embedding/reverse_embeddings"] = (None, MODEL)
    layout[r"token_embedding/logits_bias"] = (MODEL,)
    return layout
