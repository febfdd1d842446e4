"""Links, of a page on its way into the book and of the built book.

python -m book.links build/book/html     # a line for each link that leads nowhere
"""

import os
import re
import sys
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from book.sources import ROOT, repository

FENCE = re.compile(r"^( *)(```|~~~).*?^\1\2 *$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)\s#]+)(#[^)\s]*)?(?=\))")


def lead_out(text, page, staged):
    """Redirects links to files that are not in the book to the repository.

    Args:
        text: Markdown. Fenced blocks of code stay as they are.
        page: Path of the page in the repository, such as `docs/serving.md`.
        staged: Set of such paths that are in the book.

    Raises:
        ValueError: For a link to a file that is not in the repository.
    """
    parts, end = [], 0
    for fence in FENCE.finditer(text):
        parts += [_lead_out(text[end : fence.start()], page, staged), fence[0]]
        end = fence.end()
    return "".join([*parts, _lead_out(text[end:], page, staged)])


def _lead_out(text, page, staged):
    def address(link):
        path = os.path.normpath(PurePosixPath(page).parent / link[1])
        if path in staged:
            return link[0]
        if not (ROOT / path).exists():
            raise ValueError(f"{page}: the link leads nowhere: {link[0]}")
        kind = "tree" if (ROOT / path).is_dir() else "blob"
        return f"{repository()}/{kind}/main/{path}{link[2] or ''}"

    return LINK.sub(address, text)


class _Page(HTMLParser):
    """Links and anchors of an HTML page."""

    def __init__(self, text):
        super().__init__()
        self.links, self.anchors = set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.links.add(value)
            elif name in ("id", "name") and value:
                self.anchors.add(value)


def html_pages(folder):
    """Paths of a built book's pages, sorted; the theme's own files in `_static` are left out."""
    paths = (path for path in folder.rglob("*.html") if "_static" not in path.parts)
    return sorted(paths)


def broken_links(folder):
    """Lists `page: link` for every link within a built book that leads nowhere.

    Args:
        folder: Folder of HTML pages. Addresses with a scheme or a host are ignored.
    """
    pages = {path: _Page(path.read_text("utf-8")) for path in html_pages(folder)}
    return [
        f"{path.relative_to(folder)}: {link}"
        for path, page in pages.items()
        for link in sorted(page.links)
        if not _leads_somewhere(link, path, pages)
    ]


def _leads_somewhere(link, path, pages):
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return True
    target = Path(os.path.normpath(path.parent / unquote(parts.path))) if parts.path else path
    if not target.is_file():
        return False
    anchor = unquote(parts.fragment)
    if "=" in anchor:  # settings of the page to type into
        return True
    return not anchor or target not in pages or anchor in pages[target].anchors


def main(folder):
    """Prints the links that lead nowhere; the exit status is 1 if there are any."""
    broken = broken_links(Path(folder))
    print("\n".join(broken) or f"All links inside of {folder} lead somewhere.")
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
