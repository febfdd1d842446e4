"""The page docs/reproduction.md, made from the result files in the repository.

Run from the repository's root, with the development tools installed:

    python -m experiments.report
"""

import json
import os
import re
from pathlib import Path

import click

from benchmarks.report import markdown_table
from experiments.prose import paragraph

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGE = DOCS / "reproduction.md"
FIGURE = DOCS / "table3.png"
BENCHMARKS = DOCS / "benchmarks.md"
TABLE3 = ROOT / "experiments" / "results" / "table3"
MULTI30K = ROOT / "experiments" / "results" / "multi30k"
PARSING = ROOT / "experiments" / "results" / "parsing"
AUGMENTATION = ROOT / "experiments" / "results" / "augmentation"
SEARCH = ROOT / "tutorials" / "data" / "multi30k_en_de_search.json"

NOTICE = "<!-- Made by `python -m experiments.report`: change the result files, not this page. -->"
HEAD = """Everything here is made from files in this repository by `python -m experiments.report`;
each section names the command that produces its files. Figures on speed are in
[benchmarks.md](benchmarks.md)."""

PARSING_NOT_RUN = paragraph("""No trained parser has been scored on the test sentences yet.
[parsing.md](parsing.md) has the two commands and the settings that were tried. Put the
`scores.json` of the second into `experiments/results/parsing`, under any name.""")
PARSING_RULES = """Labelled bracketing scores by the rules of evalb with COLLINS.prm. The paper's
91.3 (WSJ only) and 92.7 (semi-supervised) are for a different treebank and not comparable.
[parsing.md](parsing.md) has the commands, and the validation figures that decided beam, α and
checkpoints."""


def page():
    """The page as Markdown."""
    from experiments import augmentation, multi30k, wmt14
    from experiments.table3 import section as table3

    parts = {
        "Table 3 on a small scale": table3.section(table3.read(TABLE3), FIGURE.name),
        "Constituency parsing (section 6.3)": parsing(PARSING),
        "Multi30k, English to German and to French": multi30k.section(
            benchmark("Multi30k en-de, test 2016"),
            benchmark("Multi30k en-de, test 2016", 1),
            multi30k.read(MULTI30K),
        ),
        "Beam size and length penalty (section 6.1)": search(SEARCH),
        "What each augmentation is worth": augmentation.section(augmentation.read(AUGMENTATION)),
        "WMT14 English-German: recipe cards (sections 5 and 6.1)": wmt14.section(
            int(benchmark("base, 1,024 target tokens", 1)[1].replace(",", ""))
        ),
    }
    sections = [f"## {title}\n\n{text.strip()}" for title, text in parts.items()]
    head = f"{NOTICE}\n# The paper's results, repeated\n\n{paragraph(HEAD)}"
    return "\n\n".join((head, *sections)) + "\n"


def parsing(folder):
    """Markdown of the parsing results, if there are any: one table, best parser last.

    Args:
        folder: Folder of `scores.json` files from `experiments.parsing`, under any name.
    """
    results = {path: json.loads(path.read_text("utf-8")) for path in sorted(folder.glob("*.json"))}
    rows = [row for result in results.values() for row in result["rows"]]
    parts = []
    if rows:
        best = {row["parser"]: row["f1"] for row in rows}
        rows.sort(key=lambda row: best[row["parser"]])
        origins = [_origin(result, path) for path, result in results.items()]
        parts = [_scores(rows), paragraph(PARSING_RULES), "\n".join(origins)]
    if not any(result["model"] for result in results.values()):
        parts.append(PARSING_NOT_RUN)
    return "\n\n".join(parts)


def _scores(rows):
    columns = ("parser", "words", "f1", "precision", "recall", "exact_match", "well_formed")
    cells = [
        [
            *(row[name] if isinstance(row[name], str) else f"{row[name]:.1f}" for name in columns),
            f"{row['sentences']:,}",
        ]
        for row in rows
    ]
    heads = ["parser", "words", "F1", "precision", "recall", "exact match", "well-formed"]
    return markdown_table([*heads, "sentences"], cells)


def _origin(result, path):
    """A list item: a file of scores, and how it was made."""
    evaluation, parsers = result["recipe"]["evaluation"], ", ".join(result["seconds"])
    model = f"""; model `{result["model"]}`, beam {evaluation["num_beams"]}, α
    {evaluation["length_penalty"]}"""
    text = f"""`{path.name}`: {parsers} on the {result["split"]} sentences of
    `{result["recipe"]["corpus"].get("name", "own trees")}`{model if result["model"] else ""};
    `python -m experiments.parsing MODEL --output DIR` at {result["commit"][:12]} on
    {result["machine"]}."""
    return "- " + paragraph(text).replace("\n", "\n  ")


def benchmark(begin, further=0):
    """Reads the command and figure in a row of docs/benchmarks.md.

    Args:
        begin: The beginning of the row's first cell.
        further: Number of rows below it.

    Returns:
        Tuple of the command, as Markdown, and the first number of the figure, as a string.
    """
    lines = BENCHMARKS.read_text("utf-8").splitlines()
    (place,) = [i for i, line in enumerate(lines) if line.startswith(f"| {begin}")]
    command = _cells(lines[place])[1]
    cells = _cells(lines[place + further])
    command = command if cells[1] == "the same" else cells[1]
    return re.match(r"`[^`]*`", command)[0], re.match(r"[\d,.]+", cells[2])[0]


def _cells(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


def search(path):
    """Markdown of BLEU against beam size and length penalty.

    Args:
        path: A result file of `benchmarks.quality.search`.
    """
    result = json.loads(path.read_text("utf-8"))
    figures = {(row["num_beams"], row["length_penalty"]): row for row in result["rows"]}
    beams, alphas = (sorted({key[place] for key in figures}) for place in (0, 1))
    rows = [
        [str(beam), *(f"{figures[beam, alpha]['bleu']:.2f}" for alpha in alphas)] for beam in beams
    ]
    heads = ["beams", *(f"α {alpha}" for alpha in alphas)]
    name = path.relative_to(ROOT).as_posix()
    text = f"""BLEU of the model for Multi30k English-German on its {result["sentences"]:,} test
    sentences, `{result["signature"]}`, on {result["machine"]};
    `python -m benchmarks.quality.search --model DIR --source FILE --reference FILE --output JSON`,
    [`{name}`](../{name}). These figures are for information only: the beam and the α of every
    figure above were fixed beforehand."""
    return f"{markdown_table(heads, rows)}\n\n{paragraph(text)}"


@click.command()
def main():
    """Write docs/reproduction.md and its figure."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    from aiayn_keras_light.files import write_text
    from experiments.table3 import section as table3
    from experiments.table3.comparison import compare
    from experiments.table3.figure import plot_differences

    results = table3.read(TABLE3)
    if "base" in results and len(results) > 1:
        plot_differences(compare(results), FIGURE)
    write_text(PAGE, page())
    click.echo(f"Written: {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
