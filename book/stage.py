"""Writes all pages of the book into one folder, where the links between them work."""

import sys
from pathlib import Path

from book import api, live, play
from book.lessons import lesson
from book.links import lead_out
from book.sources import (
    LESSONS,
    OWN_PAGES,
    ROOT,
    SOLUTIONS,
    found,
    repository,
    shared_files,
)

LIST_OF_LESSONS = "tutorials/README.md"
LIST_OF_SOLUTIONS = "tutorials/solutions/index.md"
REPOSITORY = "{{repository}}"
"""Placeholder for the repository's address in the book's own pages."""
PLAY = "{{play}}"
"""Placeholder for the address of the page to type into."""


def text_pages(has_play=True):
    """Dictionary of the text pages and lessons in the book: path to text.

    Args:
        has_play: Whether lessons link to the page to type into.
    """
    shared, solutions = shared_files(), found(SOLUTIONS)
    files = [path for path in shared if not path.endswith(".png")]
    staged = {*shared, *OWN_PAGES, *([LIST_OF_SOLUTIONS] if solutions else [])}
    staged |= {"play.md", "api/index.md"}
    texts = {
        path: lesson(path, staged, has_play)
        if path.endswith(".ipynb")
        else lead_out((ROOT / path).read_text("utf-8"), path, staged)
        for path in files
    }
    texts[LIST_OF_LESSONS] += contents(
        [*(Path(path).name for path in found(LESSONS)), "TEACHING.md"]
    )
    for place, file in OWN_PAGES.items():
        text = (ROOT / file).read_text("utf-8").replace(REPOSITORY, repository())
        text = text.replace(PLAY, f"{play.FOLDER}/index.html" if has_play else "play.html")
        texts[place] = lead_out(text, place, staged)
    if solutions:
        texts[LIST_OF_SOLUTIONS] = (
            "# Solutions\n\n"
            "One page for each lesson; the code of every answer is folded until you open it.\n"
            + contents([Path(path).name for path in solutions], hidden=False)
        )
        texts["index.md"] += contents([LIST_OF_SOLUTIONS])
    return texts


def contents(files, hidden=True):
    """A table of contents in MyST; if hidden, the theme shows it in its own place."""
    option = ":hidden:\n" if hidden else ""
    return f"\n```{{toctree}}\n{option}\n" + "\n".join(files) + "\n```\n"


def stage(folder):
    """Makes a folder hold the book's sources and nothing else; unchanged files stay untouched."""
    package = play.runtime_package()
    has_play = package is not None
    model = live.load_model()
    texts = {**text_pages(has_play), **api.pages(), **live.live_files(model, has_play)}
    files = {path: text.encode() for path, text in texts.items()}
    if has_play:
        for path, content in play.play_files(model, package).items():
            files[f"extra/{play.FOLDER}/{path}"] = content
    else:
        print(f"The book is built without its page to type into: {play.MISSING}", file=sys.stderr)
    files |= {path: (ROOT / path).read_bytes() for path in found("docs/*.png")}
    for path in folder.rglob("*"):
        if path.is_file() and path.relative_to(folder).as_posix() not in files:
            path.unlink()
    for name, content in files.items():
        path = folder / name
        if not path.is_file() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
