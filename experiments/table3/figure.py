"""The figure for Table 3 on a small scale: differences from the base, the paper's and ours."""

import numpy as np

from aiayn_keras.plotting import COLORS
from aiayn_keras.plotting.figures import finish, new_figure

OURS, PAPERS = COLORS[:2]
ROW_INCHES = 0.3
SPREAD = 0.16
"""Distance of a row's two points from its middle."""
WIDEST = 6.0
"""Maximum difference drawn to scale, in BLEU, so that a broken model does not hide the others."""


def plot_differences(compared, path=None):
    """Draws the difference in BLEU of every row from the base model.

    Args:
        compared: List of `ComparedRow`, the base among them or not.
        path: PNG file to write, or `None`.

    Returns:
        A Figure.
    """
    rows = [each for each in compared if each.row.group != "base"]
    places = np.arange(len(rows))[::-1]
    figure = new_figure(7.2, 1.1 + ROW_INCHES * len(rows))
    axes = figure.subplots()
    axes.axvline(0, color="#555555", linewidth=1)
    for place, each in zip(places, rows, strict=True):
        _draw_ours(axes, place, each)
    theirs = [
        (each.paper_difference, place - SPREAD)
        for place, each in zip(places, rows, strict=True)
        if each.paper_difference is not None
    ]
    axes.plot(*np.reshape(theirs, (-1, 2)).T, "D", color=PAPERS, markersize=5)
    axes.plot([], [], "o", color=OURS, label="ours, ± standard error")
    axes.plot([], [], "D", color=PAPERS, label="the paper's one figure")
    axes.set_yticks(places, [_label(each.row) for each in rows])
    axes.set_xlim(-WIDEST - 0.4, WIDEST / 2)
    axes.set_xlabel("BLEU less the base model's, on the validation text")
    axes.grid(axis="x", color="#DDDDDD", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    figure.legend(frameon=False, loc="outside upper center", ncols=2)
    return finish(figure, path)


def _label(row):
    return row.label if row.paper is None else f"({row.group})  {row.label}"


def _draw_ours(axes, place, each):
    """Draws a row's point and error bar, or an arrow where it lies beyond the axis."""
    height = place + SPREAD if each.paper_difference is not None else place
    if each.difference >= -WIDEST:
        axes.errorbar(
            each.difference, height, xerr=each.error, fmt="o", color=OURS, markersize=5, capsize=2
        )
        return
    axes.plot(-WIDEST, height, "<", color=OURS, markersize=6)
    axes.annotate(
        f"{each.difference:.1f}",
        (-WIDEST, height),
        xytext=(6, 0),
        textcoords="offset points",
        va="center",
        color=OURS,
    )
