"""Pages of one HTML text that load nothing else: markup with its style, script and data in it."""

import base64
import hashlib
import json
from string import Template
from typing import NamedTuple


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
