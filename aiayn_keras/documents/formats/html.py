"""HTML: the text between tags, found by Python's own parser, which says where each token stands.

Tags, attributes, comments, scripts, styles, code and elements with `translate="no"` stay. Text is
cut at elements that are not inline, such as paragraphs and cells.
"""

import html
import re
from html.parser import HTMLParser

from aiayn_keras.documents.formats.units import Kind, Mark, Unit, has_letters, protect
from aiayn_keras_light.spaces import space_of_break

_INLINE = frozenset(
    (
        "a",
        "abbr",
        "acronym",
        "b",
        "bdi",
        "bdo",
        "big",
        "cite",
        "data",
        "del",
        "dfn",
        "em",
        "font",
        "i",
        "ins",
        "label",
        "mark",
        "q",
        "s",
        "small",
        "span",
        "strike",
        "strong",
        "sub",
        "sup",
        "time",
        "tt",
        "u",
    )
)
_KEPT_INLINE = frozenset(("code", "kbd", "samp", "var", "svg", "math"))
KEPT = _KEPT_INLINE | frozenset(
    (
        "script",
        "style",
        "pre",
        "textarea",
        "template",
        "noscript",
        "iframe",
        "object",
        "audio",
        "video",
        "canvas",
        "xmp",
    )
)
_VOID = frozenset(
    (
        "area",
        "base",
        "br",
        "col",
        "embed",
        "hr",
        "img",
        "input",
        "link",
        "meta",
        "param",
        "source",
        "track",
        "wbr",
    )
)
_MAX_ENDLESS = 10
_SPACES = " \t\n\r\f"
_INVISIBLE = re.compile(r"[\s\xad\u034f\u200b-\u200f\u2060\ufeff]+")


class _Tokens(HTMLParser):
    """The tokens of a page: kind, name, attributes and place in the text."""

    def __init__(self, text):
        super().__init__(convert_charrefs=False)
        starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._starts, self._length = starts, len(text)
        self._found, self._endless = [], 0
        self.feed(text)
        self.close()

    def tokens(self):
        """Tuples of kind, name, attributes, start and end."""
        starts = [place for *_, place in self._found]
        ends = [*starts[1:], self._length][: len(starts)]  # an empty page has no token
        return [(*found, end) for found, end in zip(self._found, ends, strict=True)]

    def parse_starttag(self, i):
        return self._counted(super().parse_starttag(i))

    def parse_endtag(self, i):
        return self._counted(super().parse_endtag(i))

    def parse_comment(self, i, report=True):
        return self._counted(super().parse_comment(i, report))

    def parse_pi(self, i):
        return self._counted(super().parse_pi(i))

    def parse_html_declaration(self, i):
        return self._counted(super().parse_html_declaration(i))

    def _counted(self, end):
        """The end of a token; each without one has been searched for in all of the page."""
        self._endless += end < 0
        if self._endless > _MAX_ENDLESS:
            raise ValueError(f"more than {_MAX_ENDLESS} tags or comments have no end")
        return end

    def _note(self, kind, name="", attributes=()):
        line, column = self.getpos()
        self._found.append((kind, name, dict(attributes), self._starts[line - 1] + column))

    def handle_starttag(self, tag, attrs):
        self._note("open", tag, attrs)

    def handle_startendtag(self, tag, attrs):
        self._note("open" if tag in _INLINE | KEPT else "void", tag, attrs)

    def handle_endtag(self, tag):
        self._note("close", tag)

    def handle_data(self, data):
        self._note("text")

    def handle_entityref(self, name):
        self._note("text")

    def handle_charref(self, name):
        self._note("text")

    def handle_comment(self, data):
        self._note("comment")

    def handle_decl(self, decl):
        self._note("other")

    def unknown_decl(self, data):
        self._note("other")

    def handle_pi(self, data):
        self._note("other")


def find_units(document, _columns=None):
    """Finds the texts of a page, or of a part of one.

    Args:
        document: A string.

    Returns:
        List of `Unit`s.
    """
    units, run = [], []
    tokens = iter(_Tokens(document).tokens())
    for kind, name, attributes, start, end in tokens:
        raw = document[start:end]
        if kind == "open" and name not in _VOID and _is_kept(name, attributes):
            end = _end_of_element(tokens, name, end)
            if name in _KEPT_INLINE or name in _INLINE:
                run.append((start, end, Mark(document[start:end], Kind.WORD)))
                continue
        elif kind == "text":
            run.append((start, end, None))
            continue
        elif kind == "open" and name == "br":
            run.append((start, end, Mark(raw, Kind.BREAK)))
            continue
        elif kind in ("open", "void") and name in ("img", "input"):
            run.append((start, end, Mark(raw, Kind.WORD)))
            continue
        elif kind in ("comment", "other") or (kind == "open" and name == "wbr"):
            run.append((start, end, Mark(raw, Kind.CUT)))
            continue
        elif name in _INLINE:
            is_open = kind == "open"
            run.append((start, end, Mark(raw, Kind.OPEN if is_open else Kind.CLOSE, name)))
            continue
        units += _as_units(document, run)
        run = []
    return units + _as_units(document, run)


def _is_kept(name, attributes):
    is_marked = (attributes.get("translate") or "").lower() == "no"
    return name in KEPT or is_marked or "notranslate" in (attributes.get("class") or "").split()


def _end_of_element(tokens, name, end):
    depth = 1
    for kind, each, _, _, end in tokens:  # noqa: B007  the last token ends where the document does
        if each == name and kind in ("open", "close"):
            depth += 1 if kind == "open" else -1
            if depth == 0:
                break
    return end


def _as_units(document, run):
    """A list of one `Unit` of tokens in a row, or none if there is nothing to translate."""
    while run and _is_invisible(document, run[0]):
        run = run[1:]
    while run and _is_invisible(document, run[-1]):
        run = run[:-1]
    if not run:
        return []
    start, end = run[0][0], run[-1][1]
    if run[0][2] is None:
        start = _end_of_spaces(document, start)
    if run[-1][2] is None:
        end = start + len(document[start:end].rstrip(_SPACES))
    encode = encoder(document[a:b] for a, b, mark in run if mark is None)
    written = "".join("\0" if mark else document[a:b] for a, b, mark in run)
    written = re.sub(f"[{_SPACES}]+", " ", written)

    def as_written(text):
        """As it is in the page, where signs of a template such as `{% if a < b %}` may be bare."""
        return text if text in written and encode(text) not in written else encode(text)

    parts = []
    for first, last, mark in run:
        if mark is not None:
            parts.append(mark)
            continue
        text = html.unescape(document[max(first, start) : min(last, end)])
        text = re.sub(f"[{_SPACES}]+", _as_one_space, text)
        if parts and isinstance(parts[-1], str):
            text = parts.pop() + text
        parts.append(text)
    parts = [
        each
        for part in parts
        for each in (
            [part] if isinstance(part, Mark) else protect(part, as_written, with_tags=False)
        )
    ]
    return [Unit(start, end, tuple(parts), encode)] if has_letters(parts) else []


def _is_invisible(document, token):
    """True if a token is a text of only spaces, also as character references."""
    start, end, mark = token
    return mark is None and not _INVISIBLE.sub("", html.unescape(document[start:end]))


def _as_one_space(spaces):
    """Makes one space of several, a `re.Match`, or nothing of a line break in Chinese."""
    if "\n" not in spaces[0]:
        return " "
    first, last = spaces.span()
    return space_of_break(spaces.string[max(first - 1, 0) : first], spaces.string[last : last + 1])


def _end_of_spaces(document, start):
    """The place of the first character from `start` on that is not a space."""
    return re.compile(f"[{_SPACES}]*").match(document, start).end()


def encoder(texts):
    """A function that escapes a text with the character references that its source uses."""
    references = {"&": "&amp;", "<": "&lt;"}
    for text in texts:
        for match in re.finditer(r"&(?:[A-Za-z][A-Za-z0-9]*|#\d+|#[xX][0-9A-Fa-f]+);", text):
            character = html.unescape(match[0])
            if len(character) == 1:
                references[character] = match[0]
    table = str.maketrans(references)
    return lambda text: text.translate(table)
