"""A page to explore attention: a reader chooses layer, head and word.

The page is plain DOM and SVG, about 200 lines of JavaScript: lines between two columns of words
need no drawing library, and D3, Vega or Plotly would add 0.3 to 4 MB to every page; BertViz loads
its libraries from the network, and CircuitsVis (1.3 MB) draws one sentence that looks at itself.
"""

import base64
import re

import numpy as np

from aiayn_keras.plotting.figures import visible
from aiayn_keras.plotting.interactive_page import InteractivePage, offline_page

KINDS = (
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
        "note": "To write a target word, the decoder looks at the source; it has read those above.",
    },
)
ATTRIBUTES = ("source_tokens", "target_tokens", *(kind["attribute"] for kind in KINDS))

END = "</s>"
SPECIAL = re.compile("<.+>")
LARGEST = 65535  # a weight of 1 in the page: 16 bits, more than the three digits it shows
ROW_PIXELS, LAYER_PIXELS, OTHER_PIXELS, HIGHEST_FRAME = 28, 50, 430, 960


class AttentionExplorer(InteractivePage):
    """An interactive page of attention weights; a notebook shows it as a cell's last line."""

    frame_title = "Attention explorer"


def attention_explorer(maps, title=None):
    """Makes an interactive page of a sentence pair's attention (paper, figures 3 to 5).

    The page offers the kind of attention, the layer, and the mean of the heads, one of them, or
    several in colours; a small map of every layer and head chooses it. A word that is pointed at,
    tapped or reached with the keyboard shows the words it looks at, or, on the other side, the
    words that look at it, with their weights. Lines below a weight that the reader sets are left
    out. Wordpieces can be joined to words: weights to the pieces of a word are summed, weights of
    pieces that look are averaged.

    ```python
    translation = model.translate([source])[0]
    explorer = attention_explorer(model.attention_maps(source, translation.text))
    explorer.save("attention.html")
    ```

    Args:
        maps: What `model.attention_maps(source, target)` returns, or another object with its
            attributes: `source_tokens` (S strings), `target_tokens` (T strings), and the weights
            `encoder (N, H, S, S)`, `decoder (N, H, T, T)` and `cross (N, H, T, S)`. Weights that
            are None are left out, but there must be some.
        title: Heading of the page, or `None` for the pair of texts.

    Returns:
        An `AttentionExplorer`: a notebook shows it, `save(path)` writes it.

    Raises:
        TypeError: If `maps` lacks one of these attributes.
        ValueError: If weights are not of that shape, or not from 0 to 1.

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
    missing = [name for name in ATTRIBUTES if not hasattr(maps, name)]
    if missing:
        raise TypeError(
            "`maps` must be what `model.attention_maps(source, translation.text)` returns. "
            f"Received: {type(maps).__name__}, which lacks {', '.join(missing)}."
        )
    words = {
        side: [visible(token) for token in getattr(maps, f"{side}_tokens")]
        for side in ("source", "target")
    }
    # As in `plot_attention` of a translation, the row of a word is where the decoder looks for it.
    words["written"] = [*words["target"][1:], END]
    kinds = [
        {**kind, **_packed(weights, kind, words)}
        for kind in KINDS
        if (weights := getattr(maps, kind["attribute"])) is not None
    ]
    if not kinds:
        raise ValueError("`maps` must have weights of at least one kind. Received: None of each.")
    longest = max(map(len, words.values()))
    layers = max(kind["shape"][0] for kind in kinds)
    title = str(title) if title else _pair(maps)
    return AttentionExplorer(
        page=offline_page("explorer", {"title": title, "words": words, "kinds": kinds}),
        height=min(OTHER_PIXELS + LAYER_PIXELS * layers + ROW_PIXELS * longest, HIGHEST_FRAME),
    )


def _pair(maps):
    """Source and target as texts, for a title."""
    texts = (
        "".join(token for token in map(str, tokens) if not SPECIAL.fullmatch(token))
        .replace("▁", " ")
        .strip()
        for tokens in (maps.source_tokens, maps.target_tokens)
    )
    return " → ".join(texts)


def _packed(weights, kind, words):
    """Shape and base64 of weights `(N, H, T, S)` as 16-bit whole numbers, lowest byte first."""
    weights = np.asarray(weights, dtype="float32")
    expected = (len(words[kind["queries"]]), len(words[kind["keys"]]))
    if weights.ndim != 4 or weights.shape[2:] != expected or 0 in weights.shape:
        raise ValueError(
            f"`maps.{kind['attribute']}` must have the shape (N, H, {expected[0]}, {expected[1]}) "
            f"of layers, heads and tokens, none of them 0. Received: {weights.shape}."
        )
    # Sums in half precision may pass 1 by a little; NaN passes no comparison.
    if not np.all((weights >= 0) & (weights <= 1.01)):
        raise ValueError(
            f"`maps.{kind['attribute']}` must be weights from 0 to 1. "
            f"Received: {weights.min()} to {weights.max()}."
        )
    whole = np.rint(np.minimum(weights, 1) * LARGEST).astype("<u2")
    return {"shape": weights.shape, "weights": base64.b64encode(whole.tobytes()).decode("ascii")}
