"""Figures: learning curves, attention, the learning-rate schedule and masks.

Every function returns a `matplotlib.figure.Figure` and, given a `path`, also writes it there as a
PNG. Nothing touches pyplot: no display is needed and no figure stays open behind the caller's back.
In a notebook the returned figure shows itself. Matplotlib is imported on the first plot.
"""

import math
import os
import tempfile
import textwrap
from pathlib import Path

import numpy as np

# Okabe and Ito's colours, which colour-blind readers tell apart.
COLORS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"]
CURVES = {"loss": "training", "val_loss": "validation"}
PANEL_COLORS = {"BLEU": COLORS[2:], "learning rate": ["#555555"]}

LONGEST_TOKEN = 16  # characters shown; a longer token ends in an ellipsis
CELL, WIDEST = 0.25, 14.0  # inches: one weight of a heat map; a row of heat maps


def plot_learning_curves(history, path=None):
    """Draw loss, BLEU and learning rate, as far as the history has them.

    Args:
        history: Dictionary of equally long lists, such as `model.fit(...).history`. Drawn are
            `loss` and `val_loss` (nats per token), every name that ends in `bleu`, and
            `learning_rate`; they share an x axis: `updates` if the history has it (optimizer
            updates), else the number of the epoch. NaN is not drawn.
        path: PNG file to write, or `None`.

    Returns:
        A Figure with one panel for each of the three that the history has.

    Raises:
        ValueError: If the history has nothing to draw, or lists of different lengths.

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
            "`history` needs lists of one length. "
            f"Received the lengths: {lengths}, and {len(x)} for `{x_label}`."
        )

    figure = _figure(4.6 * len(panels), 3.4)
    for axes, (label, names) in zip(_row(figure, len(panels)), panels.items(), strict=True):
        axes.set_prop_cycle(color=PANEL_COLORS.get(label, COLORS))
        marker = "o" if len(x) <= 30 else None
        for name in names:
            measured = [(a, b) for a, b in zip(x, history[name], strict=True) if b == b]  # not NaN
            xy = np.reshape(measured, (-1, 2)).T
            axes.plot(*xy, label=CURVES.get(name, name), marker=marker, markersize=3.5)
        _tidy(axes, x_label, label)
        if len(names) > 1:
            axes.legend(frameon=False)
        if label == "BLEU":
            _mark_best(axes, x, history[names[0]])
    return _finish(figure, path)


def plot_attention(weights, source_tokens, target_tokens, path=None, title=None):
    """Draw attention weights as heat maps, one for each head.

    Args:
        weights: Array `(T, S)`, or `(H, T, S)` for several heads; row t is how target position t
            spreads its attention over the source.
        source_tokens: The S tokens that are looked at.
        target_tokens: The T tokens that look.
        path: PNG file to write, or `None`.
        title: Line above the figure, or `None`.

    Returns:
        A Figure with H heat maps on one colour scale.

    Raises:
        ValueError: If the shape of `weights` does not fit the tokens.

    Example:
        >>> figure = plot_attention([[0.9, 0.1]], ["▁a", "▁house"], ["▁Haus"])
        >>> figure.axes[0].get_xlabel()
        'keys'
    """
    weights = np.asarray(weights, dtype="float32")
    single = weights.ndim == 2
    heads = weights[None] if single else weights
    if heads.shape[1:] != (len(target_tokens), len(source_tokens)) or 0 in heads.shape:
        raise ValueError(
            "`weights` must have the shape (T, S) or (H, T, S) of the tokens, none of them 0. "
            f"Received: {weights.shape}, T={len(target_tokens)}, S={len(source_tokens)}."
        )
    names = [""] if single else [f"head {head + 1}" for head in range(len(heads))]
    return _heat_maps(
        heads, source_tokens, target_tokens, names, title, path, scale="attention weight"
    )


def plot_masks(masks, path=None, title=None, source_tokens=None, target_tokens=None):
    """Draw masks as grids: a filled square is a position that may be looked at.

    Args:
        masks: Dictionary from a name to a boolean array `(T, S)`; all of one shape.
        path: PNG file to write, or `None`.
        title: Line above the figure, or `None`.
        source_tokens: The S tokens that are looked at; by default their positions.
        target_tokens: The T tokens that look; by default their positions.

    Returns:
        A Figure with one grid for each mask.

    Raises:
        ValueError: If there is no mask, or one is not a matrix, or their shapes differ.

    Example:
        >>> figure = plot_masks({"causal": [[True, False], [True, True]]})
        >>> len(figure.axes)
        1
    """
    grids = [np.asarray(mask).astype("float32") for mask in masks.values()]
    shapes = {name: grid.shape for name, grid in zip(masks, grids, strict=True)}
    if len(set(shapes.values())) != 1 or grids[0].ndim != 2 or not grids[0].size:
        raise ValueError(f"`masks` must be matrices (T, S) of one shape. Received: {shapes}.")
    length, source_length = grids[0].shape
    return _heat_maps(
        np.stack(grids),
        range(source_length) if source_tokens is None else source_tokens,
        range(length) if target_tokens is None else target_tokens,
        list(masks),
        title,
        path,
    )


def plot_schedule(schedule, steps, path=None):
    """Draw the learning rate of each optimizer update (paper 5.3, equation 3).

    Args:
        schedule: A `keras.optimizers.schedules.LearningRateSchedule`, or another function of the
            0-based step; or a dictionary from names to such functions, to compare them.
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
    figure = _figure(5.6, 3.4)
    (axes,) = _row(figure, 1)
    axes.set_prop_cycle(color=COLORS)
    for name, rate in schedules.items():
        axes.plot(points + 1, [float(rate(int(step))) for step in points], label=name)
    _tidy(axes, "updates", "learning rate")
    if isinstance(schedule, dict):
        axes.legend(frameon=False)
    return _finish(figure, path)


def _heat_maps(maps, key_tokens, query_tokens, names, title, path, scale=None):
    """Draw `maps (N, T, S)` side by side; `scale` names the colour bar, `None` leaves it out."""
    keys, queries = _labels(key_tokens), _labels(query_tokens)
    longest_key, longest_query = max(map(len, keys)), max(map(len, queries))
    width = max(1.6, CELL * len(keys))
    height = max(1.6, CELL * len(queries)) + 0.085 * longest_key + 0.5
    rows = math.ceil(len(maps) / max(1, int(WIDEST / width)))
    columns = math.ceil(len(maps) / rows)
    total_width = columns * (width + 0.15) + 0.085 * longest_query + 0.4 + (0.9 if scale else 0.0)
    title_lines = textwrap.wrap(title or "", int(13 * total_width))
    figure = _figure(total_width, rows * height + 0.2 * len(title_lines) + 0.2)
    grid = figure.subplots(rows, columns, squeeze=False)
    top = max(1e-6, float(np.nanmax(maps))) if scale else 1.0
    for index, axes in enumerate(grid.flat):
        if index >= len(maps):
            axes.remove()
            continue
        image = axes.imshow(maps[index], cmap="Blues", vmin=0.0, vmax=top)
        axes.xaxis.set(ticks_position="top", label_position="top")
        axes.set_xticks(range(len(keys)), keys, rotation=90 if longest_key > 2 else 0)
        axes.set_yticks(
            range(len(queries)), queries if index % columns == 0 else [""] * len(queries)
        )
        axes.set(xlabel="keys", ylabel="queries" if index % columns == 0 else "")
        axes.set_xticks(np.arange(len(keys) + 1) - 0.5, minor=True)
        axes.set_yticks(np.arange(len(queries) + 1) - 0.5, minor=True)
        axes.grid(which="minor", color="#E4E4E4", linewidth=0.5)
        axes.tick_params(which="both", length=0, labelsize=9)
        axes.spines[:].set_color("#AAAAAA")
        below = {"xytext": (0, -5), "textcoords": "offset points", "ha": "center", "va": "top"}
        axes.annotate(names[index], (0.5, 0), xycoords="axes fraction", **below)
    if scale:
        drawn = list(grid.flat)[: len(maps)]
        figure.colorbar(image, ax=drawn, label=scale, shrink=0.8, aspect=30, pad=0.02)
    if title_lines:
        figure.suptitle(_plain("\n".join(title_lines)), fontsize=11)
    return _finish(figure, path)


def _labels(tokens):
    """Tokens as they can be shown: white space made visible, long ones cut."""
    visible = str.maketrans({"\n": "⏎", " ": "␣", "▁": "_"})
    labels = [str(token).translate(visible) for token in tokens]
    cut = LONGEST_TOKEN - 1
    return [_plain(f"{label[:cut]}…" if len(label) > LONGEST_TOKEN else label) for label in labels]


def _plain(text):
    r"""Keep Matplotlib from reading `$...$` as mathematics."""
    return text.replace("$", r"\$")


def _figure(width, height):
    """Return an empty figure of so many inches that draws without a display."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _row(figure, panels):
    return figure.subplots(1, panels, squeeze=False)[0]


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
    """Write the highest value beside its point."""
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


def _finish(figure, path):
    """Write the figure if a path is given: in full, or not at all."""
    if path is None:
        return figure
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            figure.savefig(file, format="png")
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return figure
