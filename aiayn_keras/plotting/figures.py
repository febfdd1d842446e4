"""Tools for all figures: a canvas without a display, colors, PNG files, and visible tokens."""

import logging
import re
import unicodedata
import warnings
from pathlib import Path

from aiayn_keras_light.files import atomic_path

logger = logging.getLogger(__name__)

_MISSING_GLYPH = re.compile(r"Glyph (\d+) .*missing from font")
_JOINERS = "\u200c\u200d"  # affect the shape of Persian and Hindi letters, and of emoji

_BLANK_LETTERS = "\u115f\u1160\u2800\u3164\uffa0"


COLORS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"]
"""Line colors that color-blind readers can distinguish, by Okabe and Ito, in order of use."""
DASHES = ["-", "--", "-.", ":", (0, (6, 1)), (0, (1, 1))]


def new_figure(width, height):
    """Returns an empty figure of the given size in inches, which needs no display."""
    from aiayn_keras.plotting.notebook_figure import NotebookFigure

    return NotebookFigure(figsize=(width, height), dpi=120, layout="constrained")


def finish(figure, path):
    """Writes the figure as a PNG file if a path is given, and returns it."""
    if path is not None:
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_path(path) as temporary, warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            figure.savefig(temporary, format="png")
        _report(found, path)
    return figure


def _report(found, path):
    """Says in one line which characters the font lacks, and repeats other warnings."""
    missing = set()
    for each in found:
        if match := _MISSING_GLYPH.match(str(each.message)):
            missing.add(chr(int(match[1])))
        else:
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
    letters = sorted(filter(str.isalpha, missing)) or sorted(missing)
    if letters:
        logger.warning(
            "%s has boxes instead of %d characters that Matplotlib's font lacks, such as %s.",
            path,
            len(missing),
            letters[0],
        )


def plain(text):
    r"""Escapes a text so that Matplotlib does not interpret `$...$` as a formula."""
    return text.replace("$", r"\$")


_SIGNS = {" ": "␣", "\n": "⏎", "\t": "⇥"}


def visible(token):
    r"""Replaces the invisible characters of a token with visible ones.

    Spaces, line ends and tabs become symbols. Other white space, control characters, marks that
    change the direction of writing, and zero-width characters become their code points. Joiners
    next to visible characters stay, since they affect the shape of these characters.

    Args:
        token: A string, or any value that can be converted to one.

    Returns:
        A non-empty string.

    Example:
        >>> visible("a b"), visible("\u200b"), visible("")
        ('a␣b', '⟨U+200B⟩', '⟨empty⟩')
    """
    text = str(token)
    if not text:
        return "⟨empty⟩"
    has_ink = not all(_is_inkless(character) for character in text)
    shown = "".join(_visible(character, has_ink) for character in text)
    # A combining mark needs a base character.
    return f"◌{shown}" if unicodedata.category(shown[0])[0] == "M" else shown


def _visible(character, among_ink):
    if character in _SIGNS:
        return _SIGNS[character]
    if not _is_inkless(character) or (among_ink and _shapes_its_neighbour(character)):
        return character
    return f"⟨U+{ord(character):04X}⟩"


def _is_inkless(character):
    return (
        # Cc, Cf, Cn, Co, Cs: control, format, unassigned, private, surrogate; Zs, Zl, Zp: white.
        unicodedata.category(character)[0] in "CZ"
        or character in _BLANK_LETTERS
        or _is_variation_selector(character)
    )


def _shapes_its_neighbour(character):
    return character in _JOINERS or _is_variation_selector(character)


def _is_variation_selector(character):
    return unicodedata.name(character, "").startswith("VARIATION SELECTOR")
