"""Pages of the repository that are in the book; each keeps its place in the folders."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BOOK = ROOT / "book"
STAGED = ROOT / "build/book/source"
OWN_PAGES = {"index.md": "book/index.md", "docs/index.md": "book/how_to.md"}
"""Place in the book, and file, of pages that are nothing but the book's."""

PAGES = ("docs/*.md", "tutorials/README.md")
LESSONS = "tutorials/[0-9][0-9]_*.ipynb"
SOLUTIONS = "tutorials/solutions/[0-9][0-9]_*.ipynb"
PICTURES = "docs/*.png"


def repository():
    """Address of the repository, which `pyproject.toml` states."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return project["urls"]["Repository"]


def found(*patterns):
    """Paths in the repository that match the patterns, as `docs/serving.md`, in their order."""
    return [
        path.relative_to(ROOT).as_posix()
        for pattern in patterns
        for path in sorted(ROOT.glob(pattern))
    ]


def shared_files():
    """Files that stand in the book where they stand in the repository."""
    return found(*PAGES, LESSONS, SOLUTIONS, PICTURES)
