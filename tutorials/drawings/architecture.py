"""A drawing of the paper's Figure 1 with shapes on its arrows, and of Figure 2 in one corner."""

from drawings.svg import (
    INK,
    LINE_HEIGHT,
    LIT,
    ON_LIT,
    PANEL,
    SOFT_INK,
    WIDTH,
    Canvas,
)

# Pale versions of the paper's colors; if parts are highlighted, all others are gray.
EMBEDDING, ATTENTION, NORM, DENSE = "#F9DBDF", "#FDE3C0", "#F2F0B8", "#CBE5F4"
PROJECTION, SOFTMAX, PLAIN, FRAME = "#DEDBF1", "#CFEAD3", "#FFFFFF", "#A9B4BF"

GROUPS = {
    "encoder": ("encoder_self_attention", "encoder_add_norm", "encoder_feed_forward"),
    "decoder": (
        "decoder_self_attention", "cross_attention", "decoder_add_norm", "decoder_feed_forward",
    ),
    "token_ids": ("source_ids", "target_ids"),
    "embedding": ("source_embedding", "target_embedding"),
    "positions": ("source_positions", "target_positions"),
    "feed_forward": ("encoder_feed_forward", "decoder_feed_forward"),
    "add_norm": ("encoder_add_norm", "decoder_add_norm"),
    "attention": ("heads", "scores", "mask", "weights", "weighted_values", "joined_heads"),
}  # fmt: skip
PARTS = (
    *dict.fromkeys(part for parts in GROUPS.values() for part in parts),
    "memory",
    "output_projection",
    "softmax",
    "search",
    "labels",
)

LETTERS = (
    ("B", "sentences"),
    ("S, T", "source, target pieces"),
    ("V", "pieces in the vocabulary"),
    ("N", "layers"),
    ("D", "width, d_model"),
    ("H", "heads"),
    ("K", "width of a head, d_k"),
    ("F", "feed-forward width, d_ff"),
    ("W", "beams"),
)
DESCRIPTION = (
    "Encoder, left: token ids, embedding, positions, then N layers of self-attention and a "
    "feed-forward network, each followed by Add & Norm with a residual connection around it. Its "
    "output, the memory, goes to the cross-attention of every decoder layer. Decoder, right: token "
    "ids shifted right, embedding, positions, then N layers of masked self-attention, "
    "cross-attention and a feed-forward network; output projection, softmax, search. Upper left: "
    "the steps inside each attention."
)

BOX, GAP = 184, 26  # width of a box, height of an arrow
BOTTOM = 964  # of both stacks


def draw_architecture(*lit):
    """Draws the encoder and decoder of the paper's Figure 1, with shapes on the arrows.

    Data flows upwards, as in the paper. The upper left corner shows the steps of Figure 2.

    Args:
        *lit: Names of parts to highlight; the others are gray: `"source_ids"`, `"target_ids"`,
            `"source_embedding"`, `"target_embedding"`, `"source_positions"`,
            `"target_positions"`, `"encoder_self_attention"`, `"encoder_add_norm"`,
            `"encoder_feed_forward"`, `"decoder_self_attention"`, `"cross_attention"`,
            `"decoder_add_norm"`, `"decoder_feed_forward"`, `"memory"`, `"output_projection"`,
            `"softmax"`, `"search"`; `"labels"`, which stands in place of the search, as in
            training; inside each attention `"heads"`, `"scores"`, `"mask"`,
            `"weights"`, `"weighted_values"`, `"joined_heads"`. Several at once: `"encoder"`,
            `"decoder"`, `"token_ids"`, `"embedding"`, `"positions"`, `"feed_forward"`,
            `"add_norm"`, `"attention"`. Without names, all parts are colored.

    Returns:
        An `SvgDrawing`, which notebooks display.

    Raises:
        ValueError: If a name is unknown.

    Example:
        >>> draw_architecture("encoder_self_attention", "cross_attention").title
        'The Transformer; lit: encoder_self_attention, cross_attention'
    """
    unknown = [name for name in lit if name not in GROUPS and name not in PARTS]
    if unknown:
        raise ValueError(
            f"`lit` must name parts of the drawing: {', '.join(sorted({*PARTS, *GROUPS}))}. "
            f"Received: {', '.join(map(repr, unknown))}."
        )
    title = f"The Transformer; lit: {', '.join(lit)}" if lit else "The Transformer"
    canvas = Canvas(title, DESCRIPTION)
    parts = {part for name in lit for part in GROUPS.get(name, (name,))}
    colors = _Colors(parts)
    decoder = _Stack(canvas, colors, "T", 348, 1)
    encoder = _Stack(canvas, colors, "S", 132, -1)
    _draw_encoder(encoder)
    cross_attention = _draw_decoder(decoder)
    _draw_memory(canvas, colors, encoder, cross_attention)
    _draw_attention(canvas, colors)
    for i, (letter, meaning) in enumerate(LETTERS):
        canvas.text(284, 26 + 19 * i, letter, INK, anchor="end", bold=True)
        canvas.text(292, 26 + 19 * i, meaning, SOFT_INK, anchor="start")
    return canvas.finish(BOTTOM + 16)


class _Colors:
    """Colors of parts: highlighted, gray, or their own if no part is highlighted."""

    def __init__(self, lit):
        self.lit = lit

    def box(self, part, own):
        """Returns the fill and text color of a box."""
        if part in self.lit:
            return LIT, ON_LIT
        return (PANEL, SOFT_INK) if self.lit else (own, INK)

    def arrow(self, part):
        """Returns the color and width of an arrow."""
        return {"color": LIT, "width": 3} if part in self.lit else {}


class _Stack:
    """A stack of boxes that grows upwards: the encoder or the decoder.

    Attributes:
        y: Height of the top so far.
        outwards: Side of the residual connections: -1 for left, 1 for right.
    """

    def __init__(self, canvas, colors, length, centre, outwards):
        self.canvas, self.colors, self.length = canvas, colors, length
        self.centre, self.outwards, self.y = centre, outwards, BOTTOM
        self.edge = centre + outwards * BOX / 2

    def box(self, part, lines, own):
        """Adds a box at the top; returns the height of its middle."""
        height = 12 + LINE_HEIGHT * len(lines)
        self.y -= height
        fill, color = self.colors.box(part, own)
        x = self.centre - BOX / 2
        self.canvas.box(x, self.y, BOX, height, lines, fill, color, part=part)
        return self.y + height / 2

    def arrow(self, shape=None, gap=GAP, label_at=GAP / 2):
        """Adds an arrow at the top, with the shape of the data on its inner side."""
        below, self.y = self.y, self.y - gap
        self.canvas.arrow((self.centre, below), (self.centre, self.y))
        if shape is not None:
            anchor = "start" if self.outwards < 0 else "end"
            x = self.centre - 9 * self.outwards
            self.canvas.text(x, below - label_at, shape, SOFT_INK, anchor)

    def sublayer(self, side, part, lines, own, is_first=False):
        """Adds a sublayer and its Add & Norm at the top, with the residual connection around it.

        Below the first sublayer are the edge of the frame and the fork into queries, keys, values.
        """
        branch = self.y - (38 if is_first else 4)
        self.arrow(f"(B, {self.length}, D)", 64 if is_first else GAP)
        if is_first:
            for x in (self.centre - 50, self.centre + 50):
                fork = self.y + 14
                self.canvas.arrow((self.centre, fork), (x, fork), (x, self.y))
        middle = self.box(part, lines, own)
        self.arrow(gap=14)
        norm = self.box(f"{side}_add_norm", ["Add & Norm"], NORM)
        lane = self.edge + 16 * self.outwards
        residual = ((self.centre, branch), (lane, branch), (lane, norm), (self.edge, norm))
        self.canvas.arrow(*residual, **self.colors.arrow(f"{side}_add_norm"))
        return middle

    def inputs(self, side, name):
        """Adds token ids, embedding and positions at the bottom."""
        self.box(f"{side}_ids", [name], PLAIN)
        self.arrow(f"(B, {self.length})")
        self.box(f"{side}_embedding", ["Embedding × √D"], EMBEDDING)
        self.arrow(f"(B, {self.length}, D)")
        self.box(f"{side}_positions", ["+ Positions"], PLAIN)

    def frame(self, bottom, name):
        """Draws a frame around everything between `bottom` and the top: N layers."""
        x, y = self.centre - 112 + 12 * self.outwards, self.y - 10
        self.canvas.rectangle(x, y, 224, bottom - y, "none", FRAME, radius=12)
        anchor = "start" if self.outwards < 0 else "end"
        x = self.centre + self.outwards * 122
        self.canvas.text(x, y - 13, f"{name} ×N", INK, anchor, bold=True)


def _draw_encoder(stack):
    stack.inputs("source", "Source ids")
    bottom = stack.y - 30
    lines = ["Multi-head", "self-attention"]
    stack.sublayer("encoder", "encoder_self_attention", lines, ATTENTION, is_first=True)
    stack.sublayer("encoder", "encoder_feed_forward", ["Feed-forward", "D → F → D"], DENSE)
    stack.frame(bottom, "Encoder")


def _draw_decoder(stack):
    """Draws the decoder; returns the height of its cross-attention."""
    stack.inputs("target", "Target ids, shifted right")
    bottom = stack.y - 30
    lines = ["Masked multi-head", "self-attention"]
    stack.sublayer("decoder", "decoder_self_attention", lines, ATTENTION, is_first=True)
    lines = ["Multi-head", "cross-attention"]
    middle = stack.sublayer("decoder", "cross_attention", lines, ATTENTION)
    stack.sublayer("decoder", "decoder_feed_forward", ["Feed-forward", "D → F → D"], DENSE)
    stack.frame(bottom, "Decoder")
    stack.arrow("(B, T, D)", gap=36, label_at=23)
    stack.box("output_projection", ["Output projection", "× embedding matrixᵀ"], PROJECTION)
    stack.arrow("(B, T, V)")
    stack.box("softmax", ["Softmax"], SOFTMAX)
    stack.arrow("(B, T, V)")
    if "labels" in stack.colors.lit:  # in training nothing is searched
        stack.box("labels", ["Loss against labels,", "not shifted (B, T)"], PLAIN)
        stack.arrow()
        stack.canvas.text(stack.centre + 9, stack.y + GAP / 2, "one loss", SOFT_INK, "start")
        return middle
    stack.box("search", ["Search with W beams"], PLAIN)
    stack.arrow("(B, T)")
    stack.canvas.text(stack.centre + 9, stack.y + GAP / 2, "translation", SOFT_INK, "start")
    return middle


def _draw_memory(canvas, colors, encoder, cross_attention):
    """Draws two arrows from the encoder's output to the decoder's keys and values."""
    style = colors.arrow("memory")
    top, lane, box = encoder.y - 36, WIDTH / 2, 348 - BOX / 2
    keys, values = cross_attention - 10, cross_attention + 10
    x = encoder.centre
    canvas.arrow((x, encoder.y), (x, top), (lane, top), (lane, values), (box, values), **style)
    canvas.arrow((lane, keys), (box, keys), **style)
    canvas.text(x, top - 13, "Memory (B, S, D)", LIT if style else SOFT_INK, bold=bool(style))


STEPS = (
    ("scores", "Q Kᵀ / √d_k", PROJECTION, "(B, H, T, S)"),
    ("mask", "Mask", EMBEDDING, "(B, H, T, S)"),
    ("weights", "Softmax", SOFTMAX, "(B, H, T, S)"),
    ("weighted_values", "Weights × V", PROJECTION, "(B, H, T, K)"),
    ("joined_heads", "Join heads, project", DENSE, "(B, T, D)"),
)


def _draw_attention(canvas, colors):
    """Draws the steps of attention, from bottom to top (the paper's Figure 2)."""
    x, centre, width, y = 40, 132, BOX, 410
    canvas.text(centre, 26, "Inside each attention", INK, bold=True)
    lines = ["Project, split:", "Q (B, H, T, K)", "K, V (B, H, S, K)"]
    fill, color = colors.box("heads", DENSE)
    canvas.box(x, y - 66, width, 66, lines, fill, color, part="heads")
    for place, shape in ((70, "(B, T, D)"), (160, "(B, S, D)")):
        canvas.arrow((place, y + GAP), (place, y))
        canvas.text(place + 9, y + GAP / 2, shape, SOFT_INK, anchor="start")
    heads, y, below = y - 33, y - 66, 14
    for part, line, own, shape in STEPS:
        canvas.arrow((centre, y), (centre, y - below))
        y -= below + 30
        fill, color = colors.box(part, own)
        canvas.box(x, y, width, 30, [line], fill, color, part=part)
        canvas.text(centre + 9, y - GAP / 2, shape, SOFT_INK, anchor="start")
        if part == "weighted_values":
            canvas.arrow((x, heads), (x - 16, heads), (x - 16, y + 15), (x, y + 15))
        below = GAP
    canvas.text(x - 8, (heads + y) / 2, "V", SOFT_INK)
    canvas.arrow((centre, y), (centre, y - GAP))
