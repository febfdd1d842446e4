"""An interactive page that a notebook shows and that can be saved: one file, no network."""

import html
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import ClassVar

from aiayn_keras.files import write_text
from aiayn_keras.plotting.inline_page import InlinePage


@dataclass(frozen=True)
class InteractivePage:
    """A page; a notebook shows it as a cell's last line.

    Attributes:
        page: The page as one HTML text that loads nothing else.
        height: Pixels that it takes in a notebook.
    """

    page: str
    height: int
    frame_title: ClassVar[str]

    def save(self, path):
        """Writes the page, in full or not at all; any browser opens it, without a network.

        Args:
            path: HTML file to write.
        """
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, self.page)

    def _repr_html_(self):
        """The page in a frame of its own, where its style meets no other."""
        return (
            f'<iframe title="{self.frame_title}" sandbox="allow-scripts" '
            f'style="width: 100%; height: {self.height}px; border: 0" '
            f'srcdoc="{html.escape(self.page)}"></iframe>'
        )

    def __repr__(self):
        size = f"{len(self.page) / 1000:.0f} kB"
        return f"{type(self).__name__}({size}): notebooks show it, save(path) writes it"


def read_page(name):
    """Reads the parts of one of the pages of this package, an `InlinePage`."""
    return InlinePage.read(resources.files("aiayn_keras.plotting") / "pages", "shared", name)


def offline_page(name, data):
    """The HTML text of a page; its policy runs our script alone and lets nothing be fetched.

    Args:
        name: Name of the page's files.
        data: Object that its script reads as JSON.
    """
    page = read_page(name)
    policy = (
        f"default-src 'none'; img-src data:; script-src {page.script_source}; "
        f"style-src {page.style_source}; base-uri 'none'; form-action 'none'"
    )
    return page.filled(data, policy=policy)
