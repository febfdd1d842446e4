"""Drawings as SVG text: boxes, arrows and lines of text on a light card.

Notebook viewers remove different parts of an SVG, so a drawing uses only presentation attributes:
no style sheet, ids or script. No text color has a contrast of 4.5 on both white and near-black, so
every drawing includes its background.
"""

import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field

from aiayn_keras_light.files import write_text

WIDTH = 480  # a phone shows it at three quarters of this size
FONT_SIZE, LINE_HEIGHT = 15, 18
CARD, RIM, PANEL = "#FAFBFC", "#D0D7DE", "#F0F2F5"
INK, SOFT_INK, LINE = "#1F2933", "#4A5763", "#6B7885"
LIT, ON_LIT = "#0072B2", "#FFFFFF"

# Widths in em for DejaVu Sans, the widest font that is used in place of Arial.
NARROW = dict.fromkeys(" ,.:;'ijlI|·", 0.33) | dict.fromkeys("()[]ftr-/", 0.42)
WIDE = dict.fromkeys("mwMW√×≤≥→∞", 0.98) | dict.fromkeys("ABCDEFGHKLNOPQRSTUVXYZ+=", 0.79)


def text_width(text, size=FONT_SIZE):
    """Returns an upper estimate of the width of a text, in the units of the drawing."""
    return size * sum(NARROW.get(letter, WIDE.get(letter, 0.64)) for letter in text)


@dataclass(frozen=True)
class SvgDrawing:
    """A drawing that notebooks display.

    Attributes:
        svg: The SVG text.
        title: Name of the drawing, for screen readers.
    """

    svg: str = field(repr=False)
    title: str

    def _repr_svg_(self):
        return self.svg

    def save(self, path):
        """Writes the drawing as an SVG file, which appears complete or not at all."""
        write_text(path, self.svg)


class Canvas:
    """A card to draw on; lengths are in units of the drawing, and y grows downwards."""

    def __init__(self, title, description, width=WIDTH):
        self.title, self.width = title, width
        self.root = ElementTree.Element(
            "svg",
            {
                "xmlns": "http://www.w3.org/2000/svg",
                "role": "img",
                "aria-label": title,
                "font-family": "Arial, Helvetica, sans-serif",
                "font-size": str(FONT_SIZE),
                "style": "max-width: 100%; height: auto",
            },
        )
        ElementTree.SubElement(self.root, "title").text = title
        ElementTree.SubElement(self.root, "desc").text = description
        self._card = self.rectangle(0.5, 0.5, width - 1, 0, CARD, RIM, radius=10)

    def rectangle(self, x, y, width, height, fill, stroke="none", radius=0, parent=None):
        """Draws a rectangle and returns its element."""
        numbers = {"x": x, "y": y, "width": width, "height": height, "rx": radius}
        attributes = {name: _number(value) for name, value in numbers.items()}
        attributes |= {"fill": fill, "stroke": stroke}
        parent = self.root if parent is None else parent
        return ElementTree.SubElement(parent, "rect", attributes)

    def text(self, x, y, text, color=INK, anchor="middle", bold=False, parent=None):
        """Draws a line of text, vertically centered at `y`."""
        # Some viewers do not support `dominant-baseline`.
        attributes = {"x": _number(x), "y": _number(y + 0.35 * FONT_SIZE), "fill": color}
        if anchor != "start":
            attributes["text-anchor"] = anchor
        if bold:
            attributes["font-weight"] = "bold"
        parent = self.root if parent is None else parent
        ElementTree.SubElement(parent, "text", attributes).text = text

    def group(self, part=None):
        """Adds an empty group of elements, named `part` in the SVG."""
        return ElementTree.SubElement(self.root, "g", {"data-part": part} if part else {})

    def box(self, x, y, width, height, lines, fill, color=INK, stroke=LINE, part=None):
        """Draws a box with centered lines of text, in a group named `part`."""
        group = self.group(part)
        self.rectangle(x, y, width, height, fill, stroke, radius=5, parent=group)
        top = y + height / 2 - (len(lines) - 1) * LINE_HEIGHT / 2
        for i, line in enumerate(lines):
            self.text(x + width / 2, top + i * LINE_HEIGHT, line, color, parent=group)

    def arrow(self, *points, color=LINE, width=1.5, head=True):
        """Draws a line through `points`, with a head at its end."""
        (x, y), (before_x, before_y) = points[-1], points[-2]
        length = abs(x - before_x) + abs(y - before_y)  # lines are level or upright
        right, down = (x - before_x) / length, (y - before_y) / length
        end = (x - 5 * right, y - 5 * down) if head else (x, y)
        attributes = {"points": _points(*points[:-1], end), "fill": "none", "stroke": color}
        attributes["stroke-width"] = _number(width)
        ElementTree.SubElement(self.root, "polyline", attributes)
        if head:
            back_x, back_y = x - 8 * right, y - 8 * down
            left = (back_x - 4 * down, back_y + 4 * right)
            other = (back_x + 4 * down, back_y - 4 * right)
            head = {"points": _points((x, y), left, other), "fill": color}
            ElementTree.SubElement(self.root, "polygon", head)

    def finish(self, height):
        """Sets the height of the card and returns the `SvgDrawing`."""
        self._card.set("height", _number(height - 1))
        sizes = {"viewBox": f"0 0 {_number(self.width)} {_number(height)}"}
        sizes |= {"width": _number(self.width), "height": _number(height)}
        self.root.attrib |= sizes
        return SvgDrawing(ElementTree.tostring(self.root, encoding="unicode"), self.title)


def _points(*points):
    return " ".join(f"{_number(x)},{_number(y)}" for x, y in points)


def _number(value):
    return f"{value:.1f}".removesuffix(".0")
