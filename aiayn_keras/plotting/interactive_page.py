"""Interactive pages: self-contained HTML with style, script and data, for notebooks and files.

One explores attention by layer, head and word; one replays a recorded beam search step by step.
They consist of plain DOM and SVG with some hundred lines of JavaScript. Lines between two columns
of words do not need a drawing library: D3, Vega or Plotly would add 0.3 to 4 MB to every page,
BertViz loads its libraries from the network, and CircuitsVis (1.3 MB) only draws self-attention.
"""

import base64
import hashlib
import html
import json
import math
import re
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from string import Template
from typing import ClassVar, NamedTuple

import numpy as np

from aiayn_keras.plotting.figures import visible
from aiayn_keras_light.files import write_text

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
_MAP_ATTRIBUTES = ("source_tokens", "target_tokens", *(kind["attribute"] for kind in _KINDS))
_END = "</s>"
_SPECIAL = re.compile("<.+>")
_FULL_WEIGHT = 65535  # represents a weight of 1, in 16 bits; the page shows three digits
_ROW_PIXELS, _LAYER_PIXELS, _OTHER_PIXELS, _MAX_FRAME_PIXELS = 28, 50, 430, 960
_RECORD_ATTRIBUTES = (
    "source",
    "source_tokens",
    "searches",
    "longest",
    "length_penalty_offset",
    "key_dim",
    "cache_width",
)
_FATES = ("lives", "finishes", "is dropped")
_LEVELS = 65535  # 16 bits between the smallest and the largest score
_DIGITS = 5  # decimal places of log-probabilities
_HEIGHT = 860


class InlinePage(NamedTuple):
    """The parts of a page.

    Attributes:
        markup: HTML with the placeholders `$style`, `$script` and `$data`.
        style: CSS.
        script: JavaScript.
    """

    markup: str
    style: str
    script: str

    @classmethod
    def read(cls, folder, *names):
        """Reads `name.css` and `name.js` for all names, and `name.html` for the last one."""

        def joined(kind):
            return "".join((folder / f"{name}.{kind}").read_text("utf-8") for name in names)

        markup = (folder / f"{names[-1]}.html").read_text("utf-8")
        return cls(markup, joined("css"), joined("js"))

    @property
    def script_source(self):
        """Source expression for a Content-Security-Policy that allows only this script."""
        return _digest(self.script)

    @property
    def style_source(self):
        """Source expression for a Content-Security-Policy that allows only this style."""
        return _digest(self.style)

    def filled(self, data, **values):
        """Fills in the placeholders and returns the HTML text.

        Args:
            data: Data for the script, any JSON value.
            **values: Strings for further placeholders in the markup.
        """
        # Only "<" could begin a comment or a tag that ends the script element.
        data = json.dumps(data).replace("<", r"\u003c")
        return Template(self.markup).substitute(
            values, style=self.style, script=self.script, data=data
        )


def _digest(text):
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


@dataclass(frozen=True)
class InteractivePage:
    """An interactive page, displayed by notebooks.

    Attributes:
        page: Self-contained HTML text.
        height: Height in a notebook, in pixels.
    """

    page: str
    height: int
    frame_title: ClassVar[str]

    def save(self, path):
        """Writes the page to a file, which any browser can open without a network.

        Args:
            path: HTML file to write; it appears complete or not at all.
        """
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, self.page)

    def _repr_html_(self):
        """Embeds the page in a frame, isolated from the styles of the notebook."""
        return (
            f'<iframe title="{self.frame_title}" sandbox="allow-scripts" '
            f'style="width: 100%; height: {self.height}px; border: 0" '
            f'srcdoc="{html.escape(self.page)}"></iframe>'
        )

    def __repr__(self):
        size = f"{len(self.page) / 1000:.0f} kB"
        return f"{type(self).__name__}({size}): notebooks show it, save(path) writes it"


def read_page(name):
    """Reads the `InlinePage` with this name in `plotting/pages`."""
    return InlinePage.read(resources.files("aiayn_keras.plotting") / "pages", "shared", name)


def read_style():
    """Reads the CSS that all pages share."""
    return (resources.files("aiayn_keras.plotting") / "pages" / "shared.css").read_text("utf-8")


def _offline_page(name, data):
    """Returns the HTML text of a page; its policy allows only our script, and no network access.

    Args:
        name: Name of the files in `plotting/pages`.
        data: Data for the script, any JSON value.
    """
    page = read_page(name)
    policy = (
        f"default-src 'none'; img-src data:; script-src {page.script_source}; "
        f"style-src {page.style_source}; base-uri 'none'; form-action 'none'"
    )
    return page.filled(data, policy=policy)


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
        page=_offline_page("explorer", data),
        height=min(
            _OTHER_PIXELS + _LAYER_PIXELS * layers + _ROW_PIXELS * longest, _MAX_FRAME_PIXELS
        ),
    )


def explorer_data(maps, title=None):
    """Data of the page, any JSON value; arguments and errors are those of `attention_explorer`."""
    missing = [name for name in _MAP_ATTRIBUTES if not hasattr(maps, name)]
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


class DecodingSteps(InteractivePage):
    """An interactive page of a beam search, displayed by notebooks."""

    frame_title = "Beam search, step by step"


def decoding_steps(record, title=None):
    """Creates an interactive page that replays a translation step by step (paper 3.2, 6.1).

    Every step shows the live hypotheses, their extensions, the hypotheses that finish and those
    that are dropped, the cross-attention of a selected hypothesis, and the keys and values in the
    cache. One slider selects the number of beams from the recorded searches. A second changes α: it
    ranks the finished hypotheses again and selects the recorded search with the closest α. A third
    changes the divisor of the scores, √d_k in the paper, and recomputes the attention weights.

    ```python
    steps = decoding_steps(model.record_search(source))
    steps.save("steps.html")
    ```

    Args:
        record: The `SearchRecord` returned by `model.record_search(source)`, or any object with the
            same attributes.
        title: Heading of the page; `None` for the source.

    Returns:
        A `DecodingSteps`, which notebooks display and `save(path)` writes to a file.

    Raises:
        TypeError: If an attribute is missing from `record`.
        ValueError: If `record` contains no searches, or scores that are not finite.
    """
    return DecodingSteps(_offline_page("decoding_steps", steps_data(record, title)), _HEIGHT)


def steps_data(record, title=None):
    """Data of the page, any JSON value; arguments and errors are those of `decoding_steps`."""
    missing = [name for name in _RECORD_ATTRIBUTES if not hasattr(record, name)]
    if missing:
        raise TypeError(
            "`record` must be the result of `model.record_search(source)`. "
            f"Received: {type(record).__name__}, which lacks {', '.join(missing)}."
        )
    if not record.searches:
        raise ValueError("`record` must contain at least one search. Received: none.")
    pieces, scores = _Numbering(), _Numbering()
    searches = [_packed_search(search, pieces, scores) for search in record.searches]
    return {
        "title": str(title) if title else str(record.source),
        "source": [visible(token) for token in record.source_tokens],
        "longest": record.longest,
        "offset": record.length_penalty_offset,
        "keyDim": record.key_dim,
        "cacheWidth": record.cache_width,
        "pieces": [visible(piece) for piece in pieces.values],
        "scores": _packed_scores(np.stack(scores.values)),
        "searches": searches,
    }


class _Numbering:
    """Assigns consecutive numbers to values, with the same number for the same key."""

    def __init__(self):
        self.values, self._numbers = [], {}

    def of(self, key, value):
        """Returns the number of a key, and stores the value if the key is new."""
        if key not in self._numbers:
            self._numbers[key] = len(self.values)
            self.values.append(value)
        return self._numbers[key]


def _packed_search(search, pieces, scores):
    """Converts a `RecordedSearch` for JSON; equal hypotheses share their scores."""
    steps = [
        {
            "scores": [
                scores.of(hypothesis, row)
                for hypothesis, row in zip(step.hypotheses, step.scores, strict=True)
            ],
            "candidates": [
                [beam, pieces.of(token, token), round(log_prob, _DIGITS), _FATES.index(fate)]
                for beam, token, log_prob, fate in step.candidates
            ],
        }
        for step in search.steps
    ]
    finished = [
        [each.step, each.text, len(each.tokens) + 1, round(each.log_prob, _DIGITS)]
        for each in search.finished
    ]
    recorded = [
        {"alpha": alpha, "steps": count, "best": search.best[alpha]}
        for alpha, count in sorted(search.num_steps.items())
    ]
    return {
        "beams": search.num_beams,
        "steps": steps,
        "finished": finished,
        "recorded": recorded,
    }


def _packed_scores(scores):
    """Quantizes scores `(M, N, H, S)` to 16-bit integers between their minimum and maximum."""
    low, high = float(scores.min()), float(scores.max())
    if not math.isfinite(low) or not math.isfinite(high):
        raise ValueError(f"The scores of `record` must be finite. Received: {low} to {high}.")
    span = (high - low) or 1.0
    whole = np.rint((scores.astype("float64") - low) * (_LEVELS / span)).astype("<u2")
    values = base64.b64encode(whole.tobytes()).decode("ascii")
    return {"shape": scores.shape, "low": low, "span": span, "values": values}
