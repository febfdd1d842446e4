"""A notebook as the book shows it: stored outputs, set-up and solutions folded."""

import re
from pathlib import Path
from urllib.parse import quote_plus

import nbformat

from book.links import lead_out
from book.live import SENTENCE
from book.sources import ROOT

BADGE = re.compile(r"\[!\[Open in Colab\]\([^)]*\)\]\(([^)]*)\)")

LIVE = {
    "00": ("attention", "look at the attention in a sentence of your own", SENTENCE),
    "01": ("attention", "see the pieces of a sentence of your own", SENTENCE),
    "02": ("change", "take the positions away", "The dog bit the man."),
    "03": ("change", "change the divisor of the scores", "I would like a cup of coffee, please."),
    "04": ("change", "switch the causal mask off", SENTENCE),
    "05": ("attention", "see what each head looks at in a sentence of your own", SENTENCE),
    "06a": ("change", "leave out layers of a trained model", SENTENCE),
    "06b": ("next", "write on, piece by piece", "My sister works in a hospital."),
    "07": ("own", "let a model judge your own translation", SENTENCE),
    "08": ("search", "watch the beams", "Tom had his wallet stolen on the train."),
    "09": ("search", "watch the cache fill", SENTENCE),
}
"""Views of the page to type into, by lesson; what to do there, and a sentence."""
LINK = 'Live, in this browser: <a href="../play/index.html#view={view}&amp;text={text}">{deed}</a>.'


def lesson(path, staged, has_play=False):
    """The notebook as a text, in JSON.

    Cells with the tag `solution`, and all code of `tutorials/solutions`, are folded; so is the cell
    that sets up Colab. The badge, an image from the network, becomes text.

    Args:
        path: The notebook's path in the repository.
        staged: Set of the paths in the book.
        has_play: Whether the book has the page to type into; some lessons link to it.
    """
    notebook = nbformat.read(ROOT / path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = lead_out(BADGE.sub(r"[Open in Colab](\1)", cell.source), path, staged)
            continue
        tags = cell.metadata.get("tags", [])
        if "colab" in tags or "solution" in tags or path.startswith("tutorials/solutions/"):
            cell.metadata["tags"] = [*tags, "hide-cell" if cell.get("outputs") else "hide-input"]
    number = Path(path).name.partition("_")[0]
    if has_play and number in LIVE and path.startswith(f"tutorials/{number}"):
        view, deed, sentence = LIVE[number]
        link = LINK.format(view=view, text=quote_plus(sentence), deed=deed)
        notebook.cells[0].source += f"\n\n{link}"
    return nbformat.writes(notebook)
