"""Parts that all figures share: colours, a canvas without a display, plain text, atomic files."""

from pathlib import Path

from aiayn_keras.files import atomic_path

# Okabe and Ito's colours, which colour-blind readers tell apart.
COLORS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"]
"""Colours of lines that colour-blind readers can tell apart (Okabe and Ito), in their order."""
DASHES = ["-", "--", "-.", ":", (0, (6, 1)), (0, (1, 1))]


def new_figure(width, height):
    """Returns an empty figure of so many inches that draws without a display."""
    from aiayn_keras.plotting.notebook_figure import NotebookFigure  # imports Matplotlib

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
