"""Pages of the repository that are in the book; each keeps its folder."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BOOK = ROOT / "book"
STAGED = ROOT / "build/book/source"
OWN_PAGES = {"index.md": "book/index.md", "docs/index.md": "book/how_to.md"}
"""Places in the book and files of the book's own pages."""

PAGES = ("docs/*.md", "tutorials/README.md", "tutorials/TEACHING.md")
LESSONS = "tutorials/[0-9][0-9]*_*.ipynb"
SOLUTIONS = "tutorials/solutions/[0-9][0-9]*_*.ipynb"
PICTURES = "docs/*.png"


def repository():
    """Reads the address of the repository in `pyproject.toml`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return project["urls"]["Repository"]


def found(*patterns):
    """Paths in the repository, such as `docs/serving.md`, that match the patterns, in order."""
    return [
        path.relative_to(ROOT).as_posix()
        for pattern in patterns
        for path in sorted(ROOT.glob(pattern))
    ]


def shared_files():
    """Files that have the same place in the book as in the repository."""
    return found(*PAGES, LESSONS, SOLUTIONS, PICTURES)
