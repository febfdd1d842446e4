"""A notebook as the book shows it: stored outputs, set-up and solutions folded."""

import re

import nbformat

from book.links import lead_out
from book.sources import ROOT

BADGE = re.compile(r"\[!\[Open in Colab\]\([^)]*\)\]\(([^)]*)\)")


def lesson(path, staged):
    """The notebook as a text, in JSON.

    Cells with the tag `solution`, and all code of `tutorials/solutions`, are folded; so is the cell
    that sets up Colab. The badge, an image from the network, becomes text.

    Args:
        path: The notebook's path in the repository.
        staged: Set of the paths in the book.
    """
    notebook = nbformat.read(ROOT / path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = lead_out(BADGE.sub(r"[Open in Colab](\1)", cell.source), path, staged)
            continue
        tags = cell.metadata.get("tags", [])
        if "colab" in tags or "solution" in tags or path.startswith("tutorials/solutions/"):
            cell.metadata["tags"] = [*tags, "hide-cell" if cell.get("outputs") else "hide-input"]
    return nbformat.writes(notebook)
