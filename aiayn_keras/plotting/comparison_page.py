"""The page of `aiayn-keras compare`: a table of scores, and lines with their differences marked."""

import difflib
import html
import re
from string import Template

from aiayn_keras.plotting.interactive_page import read_style

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
