"""Figures: a canvas without a display, colors, PNG files, visible tokens, and line plots."""

import logging
import re
import unicodedata
import warnings
from pathlib import Path

import numpy as np

from aiayn_keras_light.files import atomic_path

logger = logging.getLogger(__name__)

_MISSING_GLYPH = re.compile(r"Glyph (\d+) .*missing from font")
_JOINERS = "\u200c\u200d"  # affect the shape of Persian and Hindi letters, and of emoji

_BLANK_LETTERS = "\u115f\u1160\u2800\u3164\uffa0"


COLORS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"]
"""Line colors that color-blind readers can distinguish, by Okabe and Ito, in order of use."""
DASHES = ["-", "--", "-.", ":", (0, (6, 1)), (0, (1, 1))]
_SIGNS = {" ": "␣", "\n": "⏎", "\t": "⇥"}
_CURVES = {"loss": "training", "val_loss": "validation"}
_PANEL_COLORS = {"BLEU": COLORS[2:], "learning rate": ["#555555"]}


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
            figure.savefig(temporary, format="png", bbox_inches="tight")
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


def plot_learning_curves(history, path=None):
    """Draws the loss, BLEU and learning rate, if they are in the history.

    Args:
        history: Dictionary of lists with equal lengths, such as `model.fit(...).history`. The
            figure shows `loss` and `val_loss` (nats per token), every name that ends in `bleu`,
            and `learning_rate`. The x axis shows `updates` (optimizer updates) if the history
            contains them, otherwise epochs. NaN values are skipped.
        path: PNG file to write, or `None`.

    Returns:
        A Figure with a panel for each of loss, BLEU and learning rate in the history.

    Raises:
        ValueError: If the history contains none of them, or lists with different lengths.

    Example:
        >>> figure = plot_learning_curves({"loss": [5.1, 3.0], "val_loss": [4.0, 2.9]})
        >>> len(figure.axes)
        1
    """
    panels = {
        "loss (nats per token)": [name for name in ("loss", "val_loss") if name in history],
        "BLEU": sorted(name for name in history if name.lower().endswith("bleu")),
        "learning rate": [name for name in ("learning_rate",) if name in history],
    }
    panels = {label: names for label, names in panels.items() if names}
    if not panels:
        raise ValueError(
            "`history` needs at least one of `loss`, `val_loss`, `bleu` and `learning_rate`. "
            f"Received the names: {sorted(history)}."
        )
    lengths = {name: len(history[name]) for names in panels.values() for name in names}
    x_label = "updates" if "updates" in history else "epoch"
    x = history.get("updates", range(1, max(lengths.values()) + 1))
    if set(lengths.values()) != {len(x)}:
        raise ValueError(
            "All lists in `history` must have the same length. "
            f"Received the lengths: {lengths}, and {len(x)} for `{x_label}`."
        )

    figure = new_figure(3.6 * len(panels), 2.9)
    for axes, (label, names) in zip(_row(figure, len(panels)), panels.items(), strict=True):
        _tell_lines_apart(axes, _PANEL_COLORS.get(label, COLORS))
        marker = "o" if len(x) <= 30 else None
        for name in names:
            measured = [(a, b) for a, b in zip(x, history[name], strict=True) if b == b]  # not NaN
            xy = np.reshape(measured, (-1, 2)).T
            axes.plot(*xy, label=_CURVES.get(name, name), marker=marker, markersize=3.5)
        _tidy(axes, x_label, label)
        if len(names) > 1:
            axes.legend(frameon=False)
        if label == "BLEU":
            _mark_best(axes, x, history[names[0]])
    return finish(figure, path)


def plot_schedule(schedule, steps, path=None):
    """Draws the learning rate for each optimizer update (paper 5.3, equation 3).

    Args:
        schedule: A `keras.optimizers.schedules.LearningRateSchedule` or any other function of the
            step, counted from 0. To compare several, pass a dictionary from names to functions.
        steps: Number of updates, at least 2.
        path: PNG file to write, or `None`.

    Returns:
        A Figure.

    Raises:
        ValueError: If `steps` is less than 2.

    Example:
        >>> figure = plot_schedule(lambda step: 1e-3 / (step + 1), steps=100)
        >>> figure.axes[0].get_xlabel()
        'updates'
    """
    if steps < 2:
        raise ValueError(f"`steps` must be at least 2. Received: steps={steps}.")
    schedules = schedule if isinstance(schedule, dict) else {None: schedule}
    points = np.unique(np.linspace(0, steps - 1, 400).astype(int))
    figure = new_figure(5.6, 3.4)
    (axes,) = _row(figure, 1)
    _tell_lines_apart(axes, COLORS)
    for name, rate in schedules.items():
        axes.plot(points + 1, [float(rate(int(step))) for step in points], label=name)
    _tidy(axes, "updates", "learning rate")
    if isinstance(schedule, dict):
        axes.legend(frameon=False)
    return finish(figure, path)


def _row(figure, panels):
    return figure.subplots(1, panels, squeeze=False)[0]


def _tell_lines_apart(axes, colors):
    """Gives each line its own color and dashes, so that overlapping lines stay visible."""
    axes.set_prop_cycle(color=colors, linestyle=DASHES[: len(colors)])


def _tidy(axes, x_label, y_label):
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.grid(color="#DDDDDD", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.xaxis.get_major_locator().set_params(integer=True, nbins=6, min_n_ticks=1)
    if y_label == "learning rate":
        axes.ticklabel_format(axis="y", style="sci", scilimits=(0, 0))


def _mark_best(axes, x, values):
    """Writes the maximum value next to its point."""
    if np.all(np.isnan(values)):
        return
    best = int(np.nanargmax(values))
    axes.annotate(
        f"{values[best]:.1f}",
        (x[best], values[best]),
        xytext=(0, 5),
        textcoords="offset points",
        ha="center",
        color=COLORS[2],
    )
    axes.margins(y=0.12)
