"""Heat maps of attention weights and masks."""

import math
import textwrap

import numpy as np

from aiayn_keras.plotting.figures import finish, new_figure, plain, visible

_MAX_TOKEN = 16  # characters shown; a longer token ends in an ellipsis
_CELL, _MAX_WIDTH = (
    0.22,
    8.0,
)  # inches: a cell of a heat map; a row of maps that is legible in a notebook


def plot_attention(
    weights,
    source_tokens,
    target_tokens,
    path=None,
    title=None,
    x_label="keys",
    y_label="queries",
):
    """Draws attention weights as heat maps, one for each head.

    Args:
        weights: Array `(T, S)`, or `(H, T, S)` for several heads; row t contains the attention
            weights of target position t over the source.
        source_tokens: The S tokens that are attended to.
        target_tokens: The T tokens that attend.
        path: PNG file to write, or `None`.
        title: Title of the figure, or `None`.
        x_label: Label of the columns.
        y_label: Label of the rows, for example `"written piece"` if rows are named after the pieces
            that the decoder writes next instead of the pieces it has read.

    Returns:
        A Figure with H heat maps and a common color scale.

    Raises:
        ValueError: If the shape of `weights` does not match the tokens.

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
            "`weights` must have the shape (T, S) or (H, T, S) of the tokens, all at least 1. "
            f"Received: {weights.shape}, T={len(target_tokens)}, S={len(source_tokens)}."
        )
    names = [""] if single else [f"head {head + 1}" for head in range(len(heads))]
    return _heat_maps(
        heads,
        source_tokens,
        target_tokens,
        names,
        title,
        path,
        scale="attention weight",
        axis_labels=(x_label, y_label),
    )


def plot_masks(masks, path=None, title=None, source_tokens=None, target_tokens=None):
    """Draws masks as grids; a filled square is a position that may be attended to.

    Args:
        masks: Dictionary from names to boolean arrays `(T, S)`, all with the same shape.
        path: PNG file to write, or `None`.
        title: Title of the figure, or `None`.
        source_tokens: The S tokens that are attended to; the default is their positions.
        target_tokens: The T tokens that attend; the default is their positions.

    Returns:
        A Figure with one grid for each mask.

    Raises:
        ValueError: If there are no masks, a mask is not a matrix, or the shapes differ.

    Example:
        >>> figure = plot_masks({"causal": [[True, False], [True, True]]})
        >>> len(figure.axes)
        1
    """
    grids = [np.asarray(mask).astype("float32") for mask in masks.values()]
    shapes = {name: grid.shape for name, grid in zip(masks, grids, strict=True)}
    if len(set(shapes.values())) != 1 or grids[0].ndim != 2 or not grids[0].size:
        raise ValueError(
            f"`masks` must be matrices (T, S) with the same shape. Received: {shapes}."
        )
    length, source_length = grids[0].shape
    return _heat_maps(
        np.stack(grids),
        range(source_length) if source_tokens is None else source_tokens,
        range(length) if target_tokens is None else target_tokens,
        list(masks),
        title,
        path,
    )


def _heat_maps(
    maps,
    key_tokens,
    query_tokens,
    names,
    title,
    path,
    scale=None,
    axis_labels=("keys", "queries"),
):
    """Draws `maps (N, T, S)` side by side; `scale` is the label of the color bar, if any."""
    keys, queries = _labels(key_tokens), _labels(query_tokens)
    longest_key, longest_query = max(map(len, keys)), max(map(len, queries))
    width = max(1.6, _CELL * len(keys))
    height = max(1.6, _CELL * len(queries)) + 0.085 * longest_key + 0.5
    rows = math.ceil(len(maps) / max(1, int(_MAX_WIDTH / width)))
    columns = math.ceil(len(maps) / rows)
    total_width = columns * (width + 0.15) + 0.085 * longest_query + 0.4 + (0.9 if scale else 0.0)
    title_lines = textwrap.wrap(title or "", int(13 * total_width))
    names = ["\n".join(textwrap.wrap(name, int(14 * width))) for name in names]
    height += 0.17 * max(name.count("\n") for name in names)
    figure = new_figure(total_width, rows * height + 0.2 * len(title_lines) + 0.2)
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
        x_label, y_label = axis_labels
        axes.set(xlabel=plain(x_label), ylabel=plain(y_label) if index % columns == 0 else "")
        axes.set_xticks(np.arange(len(keys) + 1) - 0.5, minor=True)
        axes.set_yticks(np.arange(len(queries) + 1) - 0.5, minor=True)
        axes.grid(which="minor", color="#E4E4E4", linewidth=0.5)
        axes.tick_params(which="both", length=0, labelsize=9)
        axes.spines[:].set_color("#AAAAAA")
        axes.set_title(plain(names[index]), fontsize=10)
    if scale:
        drawn = list(grid.flat)[: len(maps)]
        figure.colorbar(image, ax=drawn, label=scale, shrink=0.8, aspect=30, pad=0.02)
    if title_lines:
        figure.suptitle(plain("\n".join(title_lines)), fontsize=11)
        figure.get_layout_engine().set(
            h_pad=0.08
        )  # inches, to keep the title away from the names of the maps
    return finish(figure, path)


def _labels(tokens):
    """Prepares tokens for an axis: visible, shortened, with `·` for `▁`, a stray bar if rotated."""
    labels = [visible(token).replace("▁", "·") for token in tokens]
    cut = _MAX_TOKEN - 1
    return [plain(f"{label[:cut]}…" if len(label) > _MAX_TOKEN else label) for label in labels]
