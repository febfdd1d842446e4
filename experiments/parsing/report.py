"""The scores of parsers as a table and as a file."""

import dataclasses
import subprocess

from aiayn_keras.training.bracket_scores import score_trees
from benchmarks.report import machine, markdown_table

SHORT = 40
"""Words of the sentences that are reported apart, as the field does."""
PAPER = {
    "WSJ only": 91.3,
    "semi-supervised": 92.7,
}
"""F1 of the paper's Table 4, Section 23 of the Wall Street Journal: another treebank."""


def rows_of(name, trees, references):
    """Scores of a parser's trees, as dictionaries: of all sentences, and of the short ones.

    Args:
        name: The parser's name.
        trees: List of `Tree`s, `None` where it has none.
        references: List of `Tree`s.
    """
    pairs = list(zip(trees, references, strict=True))
    short = [pair for pair in pairs if len(pair[1].words()) <= SHORT]
    rows = []
    for length, chosen in ((f"≤ {SHORT}", short), ("all", pairs)):
        if chosen:
            scores = score_trees(*map(list, zip(*chosen, strict=True)))
            rows.append({"parser": name, "words": length, **dataclasses.asdict(scores)})
    return rows


def table(rows):
    """Markdown of the rows."""
    figures = ("f1", "precision", "recall", "exact_match", "well_formed")
    heads = ["parser", "words", "F1", "precision", "recall", "exact match", "well-formed"]
    cells = [
        [
            row["parser"],
            row["words"],
            *(f"{row[name]:.2f}" for name in figures),
            f"{row['sentences']:,}",
        ]
        for row in rows
    ]
    return markdown_table([*heads, "sentences"], cells)


def provenance():
    """Commit, machine and versions that figures belong to, as a dictionary."""
    git = ["git", "describe", "--always", "--dirty", "--abbrev=12"]
    answer = subprocess.run(git, capture_output=True, text=True, check=False)
    return {"commit": answer.stdout.strip() or None, "machine": machine()}
