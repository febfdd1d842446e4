"""A decision tree that shows the mask for each attention, in training and in search."""

from drawings.svg import (
    CARD,
    INK,
    LINE,
    LINE_HEIGHT,
    LIT,
    SOFT_INK,
    Canvas,
    text_width,
)

CELL, MARGIN = 11, 14
QUESTION, ANSWER = "#FDE3C0", "#CBE5F4"

# Rows of a batch as their padding masks: 0 is padding, other numbers are sentences.
SOURCE, TARGET = (1, 1, 1, 1, 0), (1, 1, 1, 0, 0)
PACKED_SOURCE, PACKED_TARGET = (1, 1, 2, 2, 2), (1, 1, 1, 2, 2)
# Slots of the ancestors of W = 2 hypotheses in L = 4 positions: both began in the first slot.
SLOTS = ((0, 0, 0, 0), (0, 0, 1, 1))


def _attention_mask(queries, keys):
    return [[query == key != 0 for key in keys] for query in queries]


def _decoder_mask(positions):
    mask = _attention_mask(positions, positions)
    return [[allowed and s <= t for s, allowed in enumerate(row)] for t, row in enumerate(mask)]


def _slot_mask(slots):
    return [[slot == own for slot in row for own in range(len(slots))] for row in slots]


# Each answer has a text, the shape of the mask, and pictures `(name, lines beside it, mask)`.
ENCODER = (
    "Encoder self-attention",
    "(B, S, S)",
    (
        ("encoder", ("one sentence", "a row: hide", "padding"), _attention_mask(SOURCE, SOURCE)),
        (
            "encoder_packed",
            ("packed row:", "hide other", "sentences"),
            _attention_mask(PACKED_SOURCE, PACKED_SOURCE),
        ),
    ),
)
DECODER_AT_ONCE = (
    "all T, in training",
    "(B, T, T)",
    (
        ("decoder", ("hide padding", "and the future"), _decoder_mask(TARGET)),
        (
            "decoder_packed",
            ("packed row:", "hide other", "sentences"),
            _decoder_mask(PACKED_TARGET),
        ),
    ),
)
DECODER_STEP = (
    "one, with the cache",
    "(B, W, L·W)",
    (
        ("decoder_step", ("W = 1: only the", "past is there"), _slot_mask(SLOTS[:1])),
        ("decoder_beams", ("W = 2: each", "its own past"), _slot_mask(SLOTS)),
    ),
)
CROSS_AT_ONCE = (
    "all T, in training",
    "(B, T, S)",
    (
        ("cross", ("hide padding", "of both sides"), _attention_mask(TARGET, SOURCE)),
        (
            "cross_packed",
            ("packed row:", "hide other", "sentences"),
            _attention_mask(PACKED_TARGET, PACKED_SOURCE),
        ),
    ),
)
CROSS_STEP = (
    "one, with the cache",
    "(B, 1, S)",
    (("cross_step", ("hide padding", "of the source"), _attention_mask((1,), SOURCE)),),
)
LEGEND = (
    "Rows of a mask are queries, columns are keys.",
    "L positions are in the cache, of each of W beams.",
)
DESCRIPTION = (
    "Encoder self-attention hides padding, in packed rows other sentences. Decoder self-attention "
    "in training hides padding, other sentences and the future; step by step with a cache only the "
    "past is there, and a beam sees its own. Cross-attention hides padding, in packed rows other "
    "sentences."
)


def draw_mask_choice():
    """Draws a decision tree with the mask for each attention, in training and in search.

    Small pictures show the masks for one row of a batch, next to the shapes of the masks. A filled
    square is True: the query may attend to the key.

    Returns:
        An `SvgDrawing`, which notebooks display.

    Example:
        >>> draw_mask_choice().title
        'Masks: which one for which attention'
    """
    canvas = Canvas("Masks: which one for which attention", DESCRIPTION)
    root = _box(canvas, MARGIN, MARGIN, ["Which attention?"], QUESTION)
    branches = [root + 12 + 15]
    y = _answer(canvas, 40, root + 12, ENCODER)
    for name, answers in (
        ("Decoder self-attention:", (DECODER_AT_ONCE, DECODER_STEP)),
        ("Cross-attention:", (CROSS_AT_ONCE, CROSS_STEP)),
    ):
        branches.append(y + 24)
        bottom = _box(canvas, 40, y, [name, "how many positions at once?"], QUESTION)
        y, inner = bottom + 12, []
        for answer in answers:
            inner.append(y + 15)
            y = _answer(canvas, 66, y, answer)
        _branch(canvas, 52, bottom, inner, 66)
    _branch(canvas, 26, root, branches, 40)
    return canvas.finish(_legend(canvas, y))


def _box(canvas, x, y, lines, fill):
    """Draws a box with the width of its text; returns the height of its lower edge."""
    width = max(map(text_width, lines)) + 20
    height = 12 + LINE_HEIGHT * len(lines)
    canvas.box(x, y, width, height, lines, fill)
    return y + height


def _branch(canvas, x, top, heights, end):
    """Draws a trunk at `x` and an arrow from it to a box at each of `heights`."""
    canvas.arrow((x, top), (x, heights[-1]), head=False)
    for height in heights:
        canvas.arrow((x, height), (end, height))


def _answer(canvas, x, y, answer):
    """Draws an answer, the shape of its mask and its pictures; returns the height below them."""
    text, shape, pictures = answer
    bottom = _box(canvas, x, y, [text], ANSWER)
    canvas.text(x + text_width(text) + 32, y + 15, shape, INK, anchor="start", bold=True)
    for place, (name, lines, mask) in zip((78, 272), pictures, strict=False):
        _grid(canvas, place, bottom + 10, name, mask)
        for i, line in enumerate(lines):
            left = place + CELL * len(mask[0]) + 9
            canvas.text(left, bottom + 18 + i * LINE_HEIGHT, line, SOFT_INK, anchor="start")
    heights = (max(CELL * len(mask), LINE_HEIGHT * len(lines)) for _, lines, mask in pictures)
    return bottom + 10 + max(heights) + 14


def _grid(canvas, x, y, name, mask):
    """Draws a mask, with filled squares for True."""
    group = canvas.group(name)
    for row, values in enumerate(mask):
        for column, value in enumerate(values):
            place = x + column * CELL, y + row * CELL
            canvas.rectangle(*place, CELL, CELL, LIT if value else CARD, LINE, parent=group)


def _legend(canvas, y):
    """Draws an explanation of the squares; returns the height of the card."""
    for x, fill, text in ((MARGIN, LIT, "True: may look"), (170, CARD, "False: hidden")):
        canvas.rectangle(x, y + 8, CELL, CELL, fill, LINE)
        canvas.text(x + CELL + 8, y + 14, text, SOFT_INK, anchor="start")
    for i, line in enumerate(LEGEND):
        canvas.text(MARGIN, y + 36 + 20 * i, line, SOFT_INK, anchor="start")
    return y + 40 + 20 * len(LEGEND)
