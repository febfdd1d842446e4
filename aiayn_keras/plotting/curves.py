"""Line plots over updates: learning curves and learning-rate schedules."""

import numpy as np

from aiayn_keras.plotting.figures import COLORS, DASHES, finish, new_figure

_CURVES = {"loss": "training", "val_loss": "validation"}
_PANEL_COLORS = {"BLEU": COLORS[2:], "learning rate": ["#555555"]}


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
    axes.xaxis.get_major_locator().set_params(integer=True, nbins=6)
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
