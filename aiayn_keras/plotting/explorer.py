"""An interactive page to explore attention by layer, head and word.

The page consists of plain DOM and SVG with about 200 lines of JavaScript. Lines between two columns
of words do not need a drawing library: D3, Vega or Plotly would add 0.3 to 4 MB to every page,
BertViz loads its libraries from the network, and CircuitsVis (1.3 MB) only draws self-attention.
"""

import base64
import re

import numpy as np

from aiayn_keras.plotting.figures import visible
from aiayn_keras.plotting.interactive_page import InteractivePage, offline_page

_KINDS = (
    {
        "attribute": "encoder",
        "name": "Encoder self-attention",
        "queries": "source",
        "keys": "source",
        "titles": {"queries": "Source word looks", "keys": "at source word"},
        "note": "Every source word looks at all source words.",
    },
    {
        "attribute": "decoder",
        "name": "Decoder self-attention",
        "queries": "target",
        "keys": "target",
        "titles": {"queries": "Target word looks", "keys": "at target word"},
        "note": "Every target word looks at itself and at those before it.",
    },
    {
        "attribute": "cross",
        "name": "Cross-attention",
        "queries": "written",
        "keys": "source",
        "titles": {"queries": "To write this, look", "keys": "at source word"},
        "note": "To write a target word, the decoder looks at the source; "
        "it has already read the target words above.",
    },
)
_ATTRIBUTES = ("source_tokens", "target_tokens", *(kind["attribute"] for kind in _KINDS))

_END = "</s>"
_SPECIAL = re.compile("<.+>")
_FULL_WEIGHT = 65535  # represents a weight of 1, in 16 bits; the page shows three digits
_ROW_PIXELS, _LAYER_PIXELS, _OTHER_PIXELS, _MAX_FRAME_PIXELS = 28, 50, 430, 960


class AttentionExplorer(InteractivePage):
    """An interactive page of attention weights, displayed by notebooks."""

    frame_title = "Attention explorer"


def attention_explorer(maps, title=None):
    """Creates an interactive page of the attention in a sentence pair (paper, figures 3 to 5).

    The reader selects the kind of attention and the layer, and either one head, several heads in
    different colors, or the mean of all heads. A small map for each layer and head can also be
    selected. Pointing at a word, tapping it or reaching it with the keyboard shows the words it
    attends to or, on the other side, the words that attend to it, with their weights. Lines below
    an adjustable weight are hidden. Wordpieces can be merged into words: the weights of attended
    pieces are added, and the weights of attending pieces are averaged.

    ```python
    translation = model.translate([source])[0]
    explorer = attention_explorer(model.attention_maps(source, translation.text))
    explorer.save("attention.html")
    ```

    Args:
        maps: The result of `model.attention_maps(source, target)`, or any object with the same
            attributes: `source_tokens` (S strings), `target_tokens` (T strings), and the weights
            `encoder (N, H, S, S)`, `decoder (N, H, T, T)` and `cross (N, H, T, S)`. Weights may be
            `None`, but not all of them.
        title: Heading of the page; `None` for the two texts.

    Returns:
        An `AttentionExplorer`, which notebooks display and `save(path)` writes to a file.

    Raises:
        TypeError: If an attribute is missing from `maps`.
        ValueError: If weights have a different shape or are not between 0 and 1.

    Example:
        >>> from types import SimpleNamespace
        >>> maps = SimpleNamespace(
        ...     source_tokens=["▁house", "</s>"],
        ...     target_tokens=["<s>"],
        ...     encoder=[[[[0.9, 0.1], [0.5, 0.5]]]],
        ...     decoder=[[[[1.0]]]],
        ...     cross=[[[[0.7, 0.3]]]],
        ... )
        >>> attention_explorer(maps).save("attention.html")
    """
    data = explorer_data(maps, title)
    longest = max(map(len, data["words"].values()))
    layers = max(kind["shape"][0] for kind in data["kinds"])
    return AttentionExplorer(
        page=offline_page("explorer", data),
        height=min(
            _OTHER_PIXELS + _LAYER_PIXELS * layers + _ROW_PIXELS * longest, _MAX_FRAME_PIXELS
        ),
    )


def explorer_data(maps, title=None):
    """Data of the page, any JSON value; arguments and errors are those of `attention_explorer`."""
    missing = [name for name in _ATTRIBUTES if not hasattr(maps, name)]
    if missing:
        raise TypeError(
            "`maps` must be the result of `model.attention_maps(source, translation.text)`. "
            f"Received: {type(maps).__name__}, which lacks {', '.join(missing)}."
        )
    words = {
        side: [visible(token) for token in getattr(maps, f"{side}_tokens")]
        for side in ("source", "target")
    }
    # As in `plot_attention`, the row for a word shows the attention while the decoder writes it.
    words["written"] = [*words["target"][1:], _END]
    kinds = [
        {**kind, **_packed(weights, kind, words)}
        for kind in _KINDS
        if (weights := getattr(maps, kind["attribute"])) is not None
    ]
    if not kinds:
        raise ValueError(
            "`maps` must contain at least one kind of weights. Received: None for each."
        )
    return {"title": str(title) if title else _pair(maps), "words": words, "kinds": kinds}


def _pair(maps):
    """Joins the source and target texts as a title."""
    texts = (
        "".join(token for token in map(str, tokens) if not _SPECIAL.fullmatch(token))
        .replace("▁", " ")
        .strip()
        for tokens in (maps.source_tokens, maps.target_tokens)
    )
    return " → ".join(texts)


def _packed(weights, kind, words):
    """Quantizes weights `(N, H, T, S)` to little-endian 16-bit integers, in base64."""
    weights = np.asarray(weights, dtype="float32")
    expected = (len(words[kind["queries"]]), len(words[kind["keys"]]))
    if weights.ndim != 4 or weights.shape[2:] != expected or 0 in weights.shape:
        raise ValueError(
            f"`maps.{kind['attribute']}` must have the shape (N, H, {expected[0]}, {expected[1]}) "
            f"of layers, heads and tokens, all at least 1. Received: {weights.shape}."
        )
    # Sums in half precision may exceed 1 slightly. NaN fails every comparison.
    if not np.all((weights >= 0) & (weights <= 1.01)):
        raise ValueError(
            f"`maps.{kind['attribute']}` must be weights between 0 and 1. "
            f"Received: {weights.min()} to {weights.max()}."
        )
    whole = np.rint(np.minimum(weights, 1) * _FULL_WEIGHT).astype("<u2")
    return {"shape": weights.shape, "weights": base64.b64encode(whole.tobytes()).decode("ascii")}
