"""A Matplotlib figure that a notebook shows, whether or not pyplot is loaded."""

import io
import unicodedata
from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from aiayn_keras.common.files import atomic_path


class NotebookFigure(Figure):
    """A figure that needs no display; as the last line of a cell it shows itself."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        FigureCanvasAgg(self)

    def _repr_png_(self):
        """The picture for IPython, which draws plain figures only after pyplot is loaded."""
        picture = io.BytesIO()
        self.savefig(picture, format="png")
        return picture.getvalue()


# Okabe and Ito's colours, which colour-blind readers tell apart.
COLORS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"]
"""Colours of lines that colour-blind readers can tell apart (Okabe and Ito), in their order."""
DASHES = ["-", "--", "-.", ":", (0, (6, 1)), (0, (1, 1))]


def new_figure(width, height):
    """Returns an empty figure of so many inches that draws without a display."""
    return NotebookFigure(figsize=(width, height), dpi=120, layout="constrained")


def finish(figure, path):
    """Writes the figure as a PNG, atomically, if a path is given."""
    if path is not None:
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_path(path) as temporary:
            figure.savefig(temporary, format="png")
    return figure


def plain(text):
    r"""Keeps Matplotlib from reading `$...$` in a text as mathematics."""
    return text.replace("$", r"\$")


SIGNS = {" ": "␣", "\n": "⏎", "\t": "⇥"}
JOINERS = "\u200c\u200d"  # shape the letters of Persian or Hindi, and emoji
BLANK_LETTERS = "\u115f\u1160\u2800\u3164\uffa0"


def visible(token):
    r"""A token with a sign for every character that has no ink.

    Spaces, line ends and tabs get signs. Other white space, control characters, marks that turn the
    direction of writing and zero-width characters get their code point. Joiners between visible
    characters stay, since they shape them.

    Args:
        token: A string, or anything that becomes one.

    Returns:
        A string that is never empty.

    Example:
        >>> visible("a b"), visible("\u200b"), visible("")
        ('a␣b', '⟨U+200B⟩', '⟨empty⟩')
    """
    text = str(token)
    if not text:
        return "⟨empty⟩"
    has_ink = not all(_is_inkless(character) for character in text)
    shown = "".join(_visible(character, has_ink) for character in text)
    # A mark above or below a letter needs something to stand on.
    return f"◌{shown}" if unicodedata.category(shown[0])[0] == "M" else shown


def _visible(character, among_ink):
    if character in SIGNS:
        return SIGNS[character]
    if not _is_inkless(character) or (among_ink and _shapes_its_neighbour(character)):
        return character
    return f"⟨U+{ord(character):04X}⟩"


def _is_inkless(character):
    return (
        # Cc, Cf, Cn, Co, Cs: control, format, unassigned, private, surrogate; Zs, Zl, Zp: white.
        unicodedata.category(character)[0] in "CZ"
        or character in BLANK_LETTERS
        or _is_variation_selector(character)
    )


def _shapes_its_neighbour(character):
    return character in JOINERS or _is_variation_selector(character)


def _is_variation_selector(character):
    return unicodedata.name(character, "").startswith("VARIATION SELECTOR")
