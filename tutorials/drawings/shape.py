"""Strips of shapes: a tensor before and after each operation that changes its shape."""

import math

from drawings.svg import INK, SOFT_INK, WIDTH, Canvas, text_width

STATE, MARGIN = "#CBE5F4", 14
BOX_HEIGHT, ROW_HEIGHT, PADDING = 32, 62, 10


def draw_shapes(*steps):
    """Draws shapes in boxes, connected by arrows with the operations that change them.

    The strip runs from left to right, in rows that fit the width of a phone; a row begins with the
    shape that ended the row before.

    Args:
        *steps: Strings: a shape, an operation, a shape, and so on, ending with a shape. A shape may
            follow a name.

    Returns:
        An `SvgDrawing`, which notebooks display.

    Raises:
        ValueError: If the number of strings is even or less than three, or a string is empty or too
            long for a row.

    Example:
        >>> strip = draw_shapes("x (B, T, D)", "reshape", "(B, T, H, K)", "transpose",
        ...                     "(B, H, T, K)")
        >>> strip.title
        'x (B, T, D), reshape: (B, T, H, K), transpose: (B, H, T, K)'
    """
    if len(steps) < 3 or len(steps) % 2 == 0:
        raise ValueError(
            "`steps` must be a shape, an operation, a shape, and so on, at least 3 strings that "
            f"end with a shape. Received: {len(steps)} strings."
        )
    rows = _rows(steps)
    pairs = zip(steps[1::2], steps[2::2], strict=True)
    title = ", ".join([steps[0], *(f"{operation}: {shape}" for operation, shape in pairs)])
    width = math.ceil(max(row[-1][-1] for row in rows) + MARGIN)
    canvas = Canvas(title, "Boxes are shapes, arrows are operations.", width)
    for number, row in enumerate(rows):
        y = MARGIN + 12 + number * ROW_HEIGHT
        for operation, shape, start, box, end in row:
            if operation is not None:
                canvas.text((start + box) / 2, y, operation, SOFT_INK)
                canvas.arrow((start + 2, y + 18), (box - 2, y + 18))
            canvas.box(box, y + 2, end - box, BOX_HEIGHT, [shape], STATE, INK, part="shape")
    return canvas.finish(len(rows) * ROW_HEIGHT + MARGIN)


def _rows(steps):
    """Arranges tuples `(operation, shape, start, left of the box, right of the box)` in rows."""
    place, rows = MARGIN, [[]]
    for operation, shape in zip([None, *steps[1::2]], steps[::2], strict=True):
        arrow = 0 if operation is None else _width(operation)
        room = arrow + _width(shape)
        if MARGIN + room > WIDTH - MARGIN:
            raise ValueError(
                f"Each of `steps` must fit into a row. Received: {operation!r}, {shape!r}."
            )
        if place + room > WIDTH - MARGIN:
            # The shape that ends a row begins the next one, so that no arrow comes from nothing.
            again = rows[-1][-1][1]
            place = MARGIN + _width(again)
            rows.append([(None, again, MARGIN, MARGIN, place)])
            if place + room > WIDTH - MARGIN:
                raise ValueError(
                    "Each of `steps` must fit into a row beside the shape before it. Received: "
                    f"{again!r}, {operation!r}, {shape!r}."
                )
        rows[-1].append((operation, shape, place, place + arrow, place + room))
        place += room
    return rows


def _width(text):
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"`steps` must be non-empty strings. Received: {text!r:.60}.")
    return text_width(text) + 2 * PADDING
