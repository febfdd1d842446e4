"""The scores of parsers as a table and as a file."""

import dataclasses

from aiayn_keras.parsing.scores import score_trees
from benchmarks.report import markdown_table
from experiments.machine import commit, processor, versions

SHORT = 40
"""Maximum number of words in the sentences that are also reported separately, as is customary."""
NOTE = (
    "Labelled bracketing by the rules of evalb with COLLINS.prm. The paper's F1 of 91.3 (WSJ only) "
    "and 92.7 (semi-supervised) are of another treebank, not comparable."
)


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
    """Markdown of the rows, with the rules they follow."""
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
    return f"{markdown_table([*heads, 'sentences'], cells)}\n\n{NOTE}"


def provenance():
    """Commit, processor and versions that figures belong to, as a dictionary."""
    return {"commit": commit(), "machine": processor(), "versions": versions()}
