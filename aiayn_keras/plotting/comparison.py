"""Several trainings in one figure, and the page of `aiayn-keras compare`."""

import difflib
import html
import math
import re
from string import Template

from aiayn_keras.plotting.figures import COLORS, DASHES, finish, new_figure, plain
from aiayn_keras.plotting.interactive_page import read_style

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
_MAX_WORDS = 500
"""Maximum words of a line with marked differences; the time to find them is quadratic."""
_STYLE = """
body { max-width: 75rem; }
main { overflow-x: auto; }
h2 { margin: 1.25rem 0 0.5rem; font-size: 1rem; color: var(--ink); }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 0.25rem 0.75rem 0.25rem 0; border-top: 1px solid var(--edge); text-align: right; }
th { color: var(--pale); font-weight: 400; }
th:first-child, .lines td, .lines th { text-align: left; vertical-align: top; }
.lines { width: 100%; margin-bottom: 1.25rem; }
.lines th { width: 12rem; overflow-wrap: anywhere; }
.lines td { overflow-wrap: anywhere; }
.lines td.number { width: 4rem; text-align: right; }
small { color: var(--pale); white-space: nowrap; }
b { color: var(--outgoing); white-space: nowrap; }
mark { color: inherit; background: none; border-bottom: 2px solid var(--incoming); }
"""
_PAGE = Template(
    """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; \
img-src data:; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>Translations compared</title>
<style>$style</style>
</head>
<body>
<h1>Translations compared</h1>
<main>
<table>
$scores
</table>
<p>$lines lines; the translations of $different differ. ± is half of the 95 % confidence \
interval, p that of the paired bootstrap against the first system; p &lt; 0.05 is bold. Lower TER \
is better.</p>
<h2>Lines that differ most</h2>
$rows
</main>
<footer>$signatures</footer>
</body>
</html>
"""
)


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
    axes.xaxis.get_major_locator().set_params(integer=True, nbins=6, min_n_ticks=1)
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


def comparison_page(comparison):
    """Makes a self-contained HTML page of a comparison of translations.

    Args:
        comparison: Dictionary as `aiayn_keras.training.comparison.as_plain` makes it.

    Returns:
        The page's text. It has no script and loads nothing.
    """
    systems = comparison["systems"]
    signatures = "".join(
        f"<p>{_escape(metric)}: {_escape(signature)}</p>"
        for metric, signature in comparison["signatures"].items()
    )
    rows = [_line(each, systems) for each in comparison["most_different"]]
    return _PAGE.substitute(
        style=read_style() + _STYLE,
        scores="\n".join([_header(comparison), *map(_system, systems)]),
        lines=f"{comparison['lines']:,}",
        different=f"{comparison['different']:,}",
        rows="\n".join(rows) or "<p>None.</p>",
        signatures=signatures,
    )


def _header(comparison):
    names = [*comparison["signatures"], "length ratio", "empty"]
    names += ["other numbers than source", "other numbers than reference"]
    cells = "".join(f'<th scope="col">{_escape(name)}</th>' for name in names)
    return f'<tr><th scope="col">system</th>{cells}</tr>'


def _system(system):
    cells = [_score(score) for score in system["scores"].values()]
    numbers = system["numbers_differ_from_source"]
    cells += [f"{system['length_ratio']:.3f}", f"{system['empty']:,}"]
    cells += ["–" if numbers is None else f"{numbers:,}"]
    cells += [f"{system['numbers_differ_from_reference']:,}"]
    row = "".join(f"<td>{cell}</td>" for cell in cells)
    return f'<tr><th scope="row">{_escape(system["name"])}</th>{row}</tr>'


def _score(score):
    shown = f"{score['score']:.2f}"
    if score["interval"] is not None:
        shown += f" <small>± {score['interval']:.2f}</small>"
    if score["p_value"] is not None:
        p_value = f"p = {score['p_value']:.3f}"
        shown += f" <b>{p_value}</b>" if score["significant"] else f" <small>{p_value}</small>"
    return shown


def _line(line, systems):
    rows = [] if line["source"] is None else [("source", _escape(line["source"]), "")]
    rows += [("reference", _escape(text), "") for text in line["references"]]
    first = line["outputs"][0]
    for system, text, chrf in zip(systems, line["outputs"], line["chrf"], strict=True):
        rows.append((system["name"], _marked(first, text), f"{chrf:.1f}"))
    body = "\n".join(
        f'<tr><th scope="row">{_escape(name)}</th><td>{text}</td><td class="number">{number}</td>'
        "</tr>"
        for name, text, number in rows
    )
    head = f'<tr><th>line {line["line"]:,}</th><td></td><td class="number">chrF2</td></tr>'
    return f'<table class="lines">\n{head}\n{body}\n</table>'


def _marked(first, text):
    """A text in HTML with marks on the words that the first system's text does not have."""
    words = [re.findall(r"\s+|\S+", each) for each in (first, text)]
    if max(map(len, words)) > _MAX_WORDS:
        return _escape(text)
    pieces = []
    matcher = difflib.SequenceMatcher(None, *words, autojunk=False)
    for kind, _, _, start, end in matcher.get_opcodes():
        piece = _escape("".join(words[1][start:end]))
        pieces.append(f"<mark>{piece}</mark>" if kind != "equal" and piece else piece)
    return "".join(pieces)


def _escape(text):
    return html.escape(text, quote=True)
