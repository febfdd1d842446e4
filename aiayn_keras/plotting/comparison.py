"""Several trainings in one figure, from their histories."""

import math

from aiayn_keras.plotting.figures import COLORS, DASHES, finish, new_figure, plain

_PANELS = {
    "loss (nats per token)": ("val_loss", "loss"),
    "BLEU": ("val_bleu",),
    "chrF2": ("val_chrf",),
    "own figure": ("val_figure",),
    "learning rate": ("learning_rate",),
    "gradient norm": ("gradient_norm",),
    "target tokens per second": ("tokens_per_second",),
}
"""Columns of a history in each panel, the first of which is drawn boldly."""
_MAX_COLUMNS = 3
_MAX_MARKED = 30
"""Maximum number of points of a curve that are marked."""


def plot_trainings(histories, path=None):
    """Draws losses, scores, learning rate, gradient norm and speed of trainings over updates.

    Args:
        histories: Dictionary from the name of each training to its history: a dictionary of lists
            with equal lengths, `updates` among them, as in `history.json`. Missing columns and NaN
            values are skipped.
        path: PNG file to write, or `None`.

    Returns:
        A Figure with a panel for each of loss, BLEU, chrF2, own figure, learning rate, gradient
        norm and target tokens per second that at least one training has measured. The validation
        loss is a bold line, the training loss a thin one of the same color.

    Raises:
        ValueError: If there are no trainings, a history lacks `updates`, its lists have different
            lengths, or none has measured anything.

    Example:
        >>> a = {"updates": [10, 20], "val_loss": [5.0, 4.0], "val_bleu": [float("nan"), 1.5]}
        >>> figure = plot_trainings({"a": a, "b": {"updates": [10], "val_loss": [4.5]}})
        >>> [axes.get_ylabel() for axes in figure.axes]
        ['loss (nats per token)', 'BLEU']
    """
    for name, history in histories.items():
        _check(name, history)
    panels = {
        label: columns
        for label, columns in _PANELS.items()
        if any(_points(history, column) for history in histories.values() for column in columns)
    }
    if not panels:
        raise ValueError(
            "`histories` must have measured at least one of "
            f"{', '.join(name for names in _PANELS.values() for name in names)}. "
            f"Received: {', '.join(histories) or 'no histories'}."
        )
    width = min(len(panels), _MAX_COLUMNS)
    height = -(-len(panels) // width)
    figure = new_figure(4.0 * width, 2.9 * height + 0.3 * min(len(histories), 6))
    grid = list(figure.subplots(height, width, squeeze=False, sharex=True).flat)
    for axes, (label, columns) in zip(grid, panels.items(), strict=False):
        _draw(axes, label, columns, histories)
    for axes in grid[len(panels) :]:
        axes.remove()
    handles = [_handle(number) for number in range(len(histories))]
    figure.legend(
        handles, list(map(plain, histories)), loc="outside lower left", frameon=False, ncols=1
    )
    return finish(figure, path)


def _check(name, history):
    if "updates" not in history:
        raise ValueError(f"The history of {name} needs `updates`. Received: {sorted(history)}.")
    lengths = {column: len(values) for column, values in history.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(
            f"All lists in the history of {name} must have the same length. Received: {lengths}."
        )


def _points(history, column):
    """The updates and values of a column that was measured."""
    values = history.get(column, [math.nan] * len(history["updates"]))
    pairs = zip(history["updates"], values, strict=True)
    return [(update, value) for update, value in pairs if math.isfinite(value)]


def _draw(axes, label, columns, histories):
    for number, history in enumerate(histories.values()):
        for place, column in enumerate(columns):
            points = _points(history, column)
            if not points:
                continue
            is_marked = place == 0 and len(points) <= _MAX_MARKED
            axes.plot(
                *zip(*points, strict=True),
                marker="o" if is_marked else None,
                markersize=3,
                **_style(number, is_bold=place == 0),
            )
    axes.set_xlabel("updates")
    axes.tick_params(labelbottom=True)
    axes.set_ylabel(label)
    if label.startswith("loss"):
        axes.set_title("bold: validation, thin: training", fontsize=8, loc="left")
    axes.grid(color="#DDDDDD", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.xaxis.get_major_locator().set_params(integer=True, nbins=6)
    if label == "learning rate":
        axes.ticklabel_format(axis="y", style="sci", scilimits=(0, 0))
    if label == "target tokens per second":
        axes.set_ylim(bottom=0)
        axes.yaxis.set_major_formatter("{x:,.0f}")


def _style(number, is_bold=True):
    """Color and dashes of a training, which differ for the first 36.

    Neighbors differ in both, so that both are seen where one lies on the other.
    """
    dash = DASHES[(number + number // len(COLORS)) % len(DASHES)]
    weight = {"linewidth": 1.6} if is_bold else {"linewidth": 0.8, "alpha": 0.6}
    return {"color": COLORS[number % len(COLORS)], "linestyle": dash, **weight}


def _handle(number):
    from matplotlib.lines import Line2D

    return Line2D([], [], **_style(number))
