"""Pages of one HTML text that load nothing else: markup with its style, script and data in it."""

import base64
import hashlib
import html
import json
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from string import Template
from typing import ClassVar, NamedTuple

from aiayn_keras.common.files import write_text


class InlinePage(NamedTuple):
    """The parts of a page.

    Attributes:
        markup: HTML in which `$style`, `$script` and `$data` stand for the other parts.
        style: CSS.
        script: JavaScript.
    """

    markup: str
    style: str
    script: str

    @classmethod
    def read(cls, folder, *names):
        """Reads the files `name.css` and `name.js` of all names, and `name.html` of the last."""

        def joined(kind):
            return "".join((folder / f"{name}.{kind}").read_text("utf-8") for name in names)

        markup = (folder / f"{names[-1]}.html").read_text("utf-8")
        return cls(markup, joined("css"), joined("js"))

    @property
    def script_source(self):
        """The script in a Content-Security-Policy, which then runs it and no other."""
        return _digest(self.script)

    @property
    def style_source(self):
        """The style in a Content-Security-Policy."""
        return _digest(self.style)

    def filled(self, data, **values):
        """The HTML text.

        Args:
            data: Object that becomes JSON.
            **values: Strings for other names in the markup.
        """
        # In a script element only "<" could begin a tag that ends it, or a comment.
        data = json.dumps(data).replace("<", r"\u003c")
        return Template(self.markup).substitute(
            values, style=self.style, script=self.script, data=data
        )


def _digest(text):
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


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
