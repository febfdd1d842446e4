"""Interactive pages: self-contained HTML with style, script and data, for notebooks and files."""

import base64
import hashlib
import html
import json
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from string import Template
from typing import ClassVar, NamedTuple

from aiayn_keras_light.files import write_text


class InlinePage(NamedTuple):
    """The parts of a page.

    Attributes:
        markup: HTML with the placeholders `$style`, `$script` and `$data`.
        style: CSS.
        script: JavaScript.
    """

    markup: str
    style: str
    script: str

    @classmethod
    def read(cls, folder, *names):
        """Reads `name.css` and `name.js` for all names, and `name.html` for the last one."""

        def joined(kind):
            return "".join((folder / f"{name}.{kind}").read_text("utf-8") for name in names)

        markup = (folder / f"{names[-1]}.html").read_text("utf-8")
        return cls(markup, joined("css"), joined("js"))

    @property
    def script_source(self):
        """Source expression for a Content-Security-Policy that allows only this script."""
        return _digest(self.script)

    @property
    def style_source(self):
        """Source expression for a Content-Security-Policy that allows only this style."""
        return _digest(self.style)

    def filled(self, data, **values):
        """Fills in the placeholders and returns the HTML text.

        Args:
            data: Data for the script, any JSON value.
            **values: Strings for further placeholders in the markup.
        """
        # Only "<" could begin a comment or a tag that ends the script element.
        data = json.dumps(data).replace("<", r"\u003c")
        return Template(self.markup).substitute(
            values, style=self.style, script=self.script, data=data
        )


def _digest(text):
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


@dataclass(frozen=True)
class InteractivePage:
    """An interactive page, displayed by notebooks.

    Attributes:
        page: Self-contained HTML text.
        height: Height in a notebook, in pixels.
    """

    page: str
    height: int
    frame_title: ClassVar[str]

    def save(self, path):
        """Writes the page to a file, which any browser can open without a network.

        Args:
            path: HTML file to write; it appears complete or not at all.
        """
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, self.page)

    def _repr_html_(self):
        """Embeds the page in a frame, isolated from the styles of the notebook."""
        return (
            f'<iframe title="{self.frame_title}" sandbox="allow-scripts" '
            f'style="width: 100%; height: {self.height}px; border: 0" '
            f'srcdoc="{html.escape(self.page)}"></iframe>'
        )

    def __repr__(self):
        size = f"{len(self.page) / 1000:.0f} kB"
        return f"{type(self).__name__}({size}): notebooks show it, save(path) writes it"


def read_page(name):
    """Reads the `InlinePage` with this name in `plotting/pages`."""
    return InlinePage.read(resources.files("aiayn_keras.plotting") / "pages", "shared", name)


def read_style():
    """Reads the CSS that all pages share."""
    return (resources.files("aiayn_keras.plotting") / "pages" / "shared.css").read_text("utf-8")


def offline_page(name, data):
    """Returns the HTML text of a page; its policy allows only our script, and no network access.

    Args:
        name: Name of the files in `plotting/pages`.
        data: Data for the script, any JSON value.
    """
    page = read_page(name)
    policy = (
        f"default-src 'none'; img-src data:; script-src {page.script_source}; "
        f"style-src {page.style_source}; base-uri 'none'; form-action 'none'"
    )
    return page.filled(data, policy=policy)
