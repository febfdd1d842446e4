"""Markdown: the text of paragraphs, headings, lists and tables, as markdown-it-py finds it.

Front matter, code, formulas, HTML tags, addresses of links and images, and the marks of emphasis
stay. A paragraph that goes over several lines becomes one line.
"""

import collections
import logging
import re
import time

from aiayn_keras.documents.formats import html
from aiayn_keras.documents.formats.units import (
    Kind,
    Mark,
    Unit,
    has_letters,
    protect,
    tag_mark,
)
from aiayn_keras_light.spaces import space_of_break

logger = logging.getLogger(__name__)

_FRONT_MATTER = re.compile(r"\A(---|\+\+\+)[ \t]*\r?\n(?:.*\r?\n)*?\1[ \t]*(?:\r?\n|\Z)")
_METADATA = re.compile(
    r"(?i)\A(?:(?!title:|date:)[a-z][\w -]{0,30}:[ \t].*\r?\n)*(?:title|date):[ \t].*\r?\n"
    r"(?:[a-z][\w -]{0,30}:[ \t].*\r?\n)*(?=\r?\n)"
)
"""Front matter without fences, as Pelican and MultiMarkdown read it."""
_KEPT = re.compile(
    r"\[\[[^\[\]\n]+\]\]"  # a link of a wiki
    r"|(?<![\w:]):[+-]1:(?![\w:])|\A\[(?i:toc)\]\Z"  # a table of contents
    r"|(?<![\w./#&-])(?:[\w.-]+/[\w.-]+)?#\d+\b"  # #12, owner/repository#12
)
_BEGINNING = re.compile(
    r"\[[ xX]\]\s+"  # the box of a task
    r"|\[![\w-]+\][-+]?(?:\s+|\Z)"  # the kind of an alert
    r"|(?:!!!|\?\?\?\+?|===[!+]?)(?:[ \t]+[a-z][\w-]*)*(?:[ \t]+(?=\")|\Z)"  # an alert of MkDocs
    r"|\*\[[^\]\n]+\]:\s+"  # an abbreviation that the text explains
    r"|[:~][ \t]+"  # the mark of a definition
    r"|\{[#.:][^{}]*\}(?:\s+|\Z)"  # attributes of the text
)
"""What stands before a text and is not translated."""
_FIRST_LINE = re.compile(
    r"\[![\w-]+\][-+]?.*|\{[#.:][^{}]*\}"
    r"|(?:!!!|\?\?\?\+?|===[!+]?)(?:[ \t]+[a-z][\w-]*)*(?:[ \t]+\".*\")?[ \t]*"
)
"""A line that is not joined with the next one: that of an alert, or attributes."""
_ENDING = re.compile(r"(?<!\s)\s+(?:\{[#.:][^{}\n]*\}|\^[\w-]+)\Z")
"""Attributes after a text, such as {#name}, or the name of a block, ^name."""
_ITEM = re.compile(r"[:~][ \t]+(?=\S)|\*\[[^\]\n]+\]:\s+")
"""A definition below two terms, or an abbreviation, which the parser does not know."""
_TEMPLATE = re.compile(r"\{%.*%\}|\{\{[<%].*[>%]\}\}")
"""A line of a template, such as {% hint %}."""
_IMPORT = re.compile(r"""import\s.*?\sfrom\s+(["']).*\1;?""", re.DOTALL)
_HIGHLIGHT = re.compile(r"==(?=[^\s=])(.*?)(?<=[^\s=])==", re.DOTALL)
_ATTRIBUTES = re.compile(r"\{[^{}\n]*\}")
_FENCE = re.compile(
    r"^ {0,3}:{3,}[^\r\n]*(?:\r?\n {0,3}:[\w-]+:[^\r\n]*)*(?=[\r\n]|\Z)", re.MULTILINE
)
"""A fence of colons, and the options below it."""
_NOT_TRANSLATED = re.compile(r"""\stranslate\s*=\s*["']?no\b|\bnotranslate\b""")
_ROLE = re.compile(r"\{[\w:.+-]+\}$")
_MAX_SECONDS = 120
"""Time for the parser: a megabyte of unusual marks takes it half a minute."""
_SIGNS = "\\`*_[]<"


class _LostError(Exception):
    """A token of markdown-it-py is not where it should be."""


def find_units(document, _columns=None):
    """Finds the texts of a Markdown document.

    Args:
        document: A string.

    Returns:
        List of `Unit`s.

    Raises:
        ValueError: If the parser takes too long.
    """
    parser = _parser()
    front_matter = _FRONT_MATTER.match(document) or _METADATA.match(document)
    begin = front_matter.end() if front_matter else 0
    starts = [begin, *(match.end() for match in re.finditer("\r\n|\r|\n", document[begin:]))]
    starts = [begin, *(begin + place for place in starts[1:]), len(document)]
    units, cursor, lines = [], 0, (0, 0)
    # Fences of colons, and their options, are MyST's: for the parser they are blank.
    tokens = parser.parse(
        _FENCE.sub(lambda each: re.sub(r"[^\r\n]", " ", each[0]), document[begin:])
    )
    for number, token in enumerate(tokens):
        lines = token.map or lines
        if token.type == "html_block":
            units += _units_of_html(document, starts[lines[0]], starts[lines[1]])
        if token.type != "inline" or not token.content:
            continue
        cursor = max(cursor, starts[lines[0]])
        is_cell = tokens[number - 1].type in ("th_open", "td_open")
        try:
            last = max(lines[1], lines[0] + 1)  # that of a term is not below its first
            places = _places(document, token.content, cursor, starts[last], is_cell)
            heading = tokens[number - 1]
            is_heading = heading.type == "heading_open" and heading.markup.startswith("#")
            finish = str if is_cell or is_heading else _as_paragraph
            unit = _unit(document, parser, token, places, is_cell, finish)
        except _LostError:
            line = document.count("\n", 0, cursor) + 1
            logger.warning(
                "Not translated, since its marks are unusual: the text of line %d.", line
            )
            continue
        cursor = places[-1] + 1
        units += [unit] if unit is not None else []
    return units


def _parser():
    from markdown_it import MarkdownIt
    from mdit_py_plugins.amsmath import amsmath_plugin
    from mdit_py_plugins.deflist import deflist_plugin
    from mdit_py_plugins.dollarmath import dollarmath_plugin
    from mdit_py_plugins.footnote import footnote_plugin
    from mdit_py_plugins.myst_blocks import myst_block_plugin

    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"]).disable("text_join")
    for plugin in (amsmath_plugin, deflist_plugin, myst_block_plugin):
        parser.use(plugin)
    parser.use(footnote_plugin, inline=False, move_to_end=False, always_match_refs=True)
    parser.use(dollarmath_plugin, allow_space=False, allow_digits=False, double_inline=True)
    _limit_time(parser)
    return parser


def _limit_time(parser):
    """Gives a parser a first rule, which only looks at the clock."""
    end = time.monotonic() + _MAX_SECONDS

    def look_at_clock(*_):
        if time.monotonic() > end:
            raise ValueError(
                f"reading it takes more than {_MAX_SECONDS} seconds: divide it, or give --format "
                "text"
            )
        return False

    parser.block.ruler.before("code", "clock", look_at_clock)
    parser.inline.ruler.before("text", "clock", look_at_clock)


def _units_of_html(document, start, end):
    return [
        Unit(unit.start + start, unit.end + start, unit.parts, unit.encode)
        for unit in html.find_units(document[start:end])
    ]


def _places(document, content, start, end, is_cell):
    """The place in the document of each character of a token's content, and of its end."""
    places, cursor = [], start
    for line in content.split("\n"):
        written = line.replace("|", "\\|") if is_cell else line
        found = document.find(written, cursor, end)
        if found < 0:
            raise _LostError
        cursor = found
        for character in line:
            cursor += is_cell and character == "|"
            places.append(cursor)
            cursor += 1
        places.append(cursor)  # of the line break
    return places


def _unit(document, parser, token, places, is_cell, finish):
    content = token.content
    reader = _Reader(document, parser, content, places)
    for child in token.children:
        reader.read(child)
    if reader.place != len(content):
        raise _LostError
    parts, start, end = _with_attributes(reader.parts), 0, len(content)
    if parts and isinstance(parts[0], str):
        beginning = _BEGINNING.match(parts[0])
        if beginning and content.startswith(beginning[0]):
            start = beginning.end()
            parts[0] = parts[0][start:]
    if parts and isinstance(parts[-1], str):
        ending, written = _ENDING.search(parts[-1]), _ENDING.search(content)
        if ending and written:
            end = written.start()
            parts[-1] = parts[-1][: ending.start()]
    shown = "".join(part for part in parts if isinstance(part, str))
    escapes = {
        sign: escape
        for sign, escape in reader.escapes.items()
        if escape[0] != "\\" or sign in _SIGNS + "$" or shown.count(sign) == reader.counts[sign]
    }
    encode = _encoder(shown, escapes, is_cell)
    parts = [each for part in parts for each in _protected(part, encode)]
    if not has_letters(parts) or _IMPORT.fullmatch(content):
        return None
    return Unit(places[start], places[end], tuple(parts), encode, finish)


def _with_attributes(parts):
    """Parts in which the attributes after a link, an image or code belong to its mark.

    So does what begins a line after its break.
    """
    joined = []
    for part in parts:
        before = joined[-1] if joined else ""
        if isinstance(part, str) and isinstance(before, Mark):
            attributes = _ITEM.match(part) if before.kind == Kind.BREAK else None
            if before.raw.endswith((")", "]", "`")):
                attributes = _ATTRIBUTES.match(part)
            if attributes:
                joined[-1] = Mark(before.raw + attributes[0], before.kind, before.name)
                part = part[attributes.end() :]
        joined.append(part)
    return joined


def _protected(part, encode):
    if isinstance(part, Mark):
        return [part]
    parts, done = [], 0
    for match in _HIGHLIGHT.finditer(part):
        parts += _kept(part[done : match.start()], encode)
        parts.append(Mark("==", Kind.OPEN, "highlight"))
        parts += [*_kept(match[1], encode), Mark("==", Kind.CLOSE, "highlight")]
        done = match.end()
    return parts + _kept(part[done:], encode)


def _kept(part, encode):
    parts, done = [], 0
    for match in _KEPT.finditer(part):
        parts += protect(part[done : match.start()], encode, with_tags=False)
        parts.append(Mark(encode(match[0]), Kind.WORD))
        done = match.end()
    return parts + protect(part[done:], encode, with_tags=False)


def _encoder(shown, escapes, is_cell):
    """A function that escapes the signs of a text that its source escapes or does not have."""
    table = {sign: f"\\{sign}" for sign in _SIGNS if sign not in shown}
    table.update(escapes)
    if is_cell:
        table["|"] = "\\|"
    table = str.maketrans(table)
    return lambda text: text.translate(table)


def _as_paragraph(text):
    """Escapes the beginning of a text that looks like a list, a heading or a quotation."""
    text = re.sub(r"^([-+*>]|#{1,6})(?=\s)", r"\\\1", text)
    return re.sub(r"^(\d{1,9})(?=[.)]\s)", r"\1\\", text)


class _Reader:
    """Goes through a token's children and its content side by side."""

    def __init__(self, document, parser, content, places):
        self.parts, self.escapes, self.place = [], {}, 0
        self.counts = collections.Counter()  # of the signs that are escaped
        self._document, self._parser = document, parser
        self._content, self._places = content, places
        self._skips = 0  # inside a link that is written as its address alone
        self._kept = None  # the end of an open HTML element that stays, such as </kbd>
        definitions = [match.end() for match in re.finditer(r"\n(?=[:~][ \t])", content)]
        self._last_definition = max(definitions, default=0)
        self._labels = []  # where the texts of open links begin

    def read(self, child):
        """Reads a child of an inline token into parts."""
        kind = child.type.removesuffix("_open").removesuffix("_close")
        if child.type == "link_open" and child.markup == "autolink":
            self._skips += 1
            self._mark(self._content.index(">", self.place) + 1, Kind.WORD)
        elif self._skips:
            self._skips -= child.type == "link_close"
        elif self._kept is not None:
            if child.type == "html_inline" and child.content == self._kept:
                self._kept = None
        elif child.type == "text":
            if child.content:
                self._expect(child.content)
                self.place += len(child.content)
                self._text(child.content)
        elif child.type == "text_special":
            self._expect(child.markup)
            if len(child.content) > 1 and child.content != child.markup:
                self._mark(self.place + len(child.markup), Kind.WORD)  # such as &NotEqualTilde;
                return
            self.place += len(child.markup)
            if child.content != child.markup:  # not a backslash that escapes nothing
                self.escapes[child.content] = child.markup
                self.counts[child.content] += 1
            self._text(child.content)
        elif child.type == "softbreak":
            end = re.compile(r"[ \t]*\n[ \t]*").match(self._content, self.place).end()
            is_first = _FIRST_LINE.fullmatch(self._content, 0, self.place)
            around = self._content.rfind("\n", 0, self.place) + 1, self._content.find("\n", end)
            is_alone = _TEMPLATE.fullmatch(self._content, around[0], self.place) or (
                _TEMPLATE.fullmatch(self._content[end : around[1] if around[1] >= 0 else None])
            )
            is_item = _ITEM.match(self._content, end) or end < self._last_definition
            if is_first or is_alone or is_item:
                self._mark(end, Kind.BREAK)
                return
            sides = (slice(each, each + 1) for each in (max(self.place - 1, 0), end))
            space = space_of_break(*(self._content[side] for side in sides))
            self.place = end
            self._text(space)
        elif child.type == "hardbreak":
            found = re.compile(r"(?:\\| {2,})\n[ \t]*").match(self._content, self.place)
            if found is None:
                raise _LostError
            self._mark(found.end(), Kind.BREAK)
        elif child.type == "code_inline":
            self._code(child.markup)
        elif child.type == "html_inline":
            self._html(child.content)
        elif child.type in ("math_inline", "math_inline_double"):
            self._expect(f"{child.markup}{child.content}{child.markup}")
            self._mark(self.place + len(child.content) + 2 * len(child.markup), Kind.WORD)
        elif child.type == "footnote_ref":
            self._expect("[^")
            self._mark(self._content.index("]", self.place) + 1, Kind.WORD)
        elif child.type == "image":
            self._expect("![")
            end = self.place + 2 + len(child.content)
            self._mark(self._end_of_address(end), Kind.WORD)
        elif child.type == "link_open":
            self._expect("[")
            self._mark(self.place + 1, Kind.OPEN, kind)
            self._labels.append(self.place)
        elif child.type == "link_close":
            label = self._content[self._labels.pop() : self.place]
            self._mark(self._end_of_address(self.place), Kind.CLOSE, kind)
            if self.parts[-1].raw in ("]", "][]"):  # its text, translated, would name no address
                self.parts[-1] = Mark(f"][{' '.join(label.split())}]", Kind.CLOSE, kind)
        elif child.nesting:
            self._expect(child.markup)
            is_open = child.nesting > 0
            end = self.place + len(child.markup)
            self._mark(end, Kind.OPEN if is_open else Kind.CLOSE, kind)
        else:
            raise _LostError

    def _expect(self, text):
        if not self._content.startswith(text, self.place):
            raise _LostError

    def _text(self, text):
        if self.parts and isinstance(self.parts[-1], str):
            text = self.parts.pop() + text
        self.parts.append(text)

    def _mark(self, end, kind, name=""):
        # A line break takes along what begins the next line, such as the mark of a quotation.
        last = self._places[end] if kind == Kind.BREAK else self._places[end - 1] + 1
        raw = self._document[self._places[self.place] : last]
        self.parts.append(Mark(raw, kind, name))
        self.place = end

    def _html(self, tag):
        self._expect(tag)
        mark, closing = tag_mark(tag), -1
        if mark.kind == Kind.OPEN and (mark.name in html.KEPT or _NOT_TRANSLATED.search(tag)):
            closing = self._content.find(f"</{mark.name}>", self.place)
        if closing < 0:
            self._mark(self.place + len(tag), mark.kind, mark.name)
            return
        self._kept = f"</{mark.name}>"
        self._mark(closing + len(self._kept), Kind.WORD)

    def _code(self, markup):
        self._expect(markup)
        closing = re.compile(rf"(?<!`){markup}(?!`)").search(
            self._content, self.place + len(markup)
        )
        if closing is None:
            raise _LostError
        role = _ROLE.search(self.parts[-1]) if self.parts and self._follows_text() else None
        if role is not None:  # of MyST, such as {ref}`name`
            self.parts[-1] = self.parts[-1][: role.start()]
            self.place -= len(role[0])
        self._mark(closing.end(), Kind.WORD)

    def _follows_text(self):
        return isinstance(self.parts[-1], str)

    def _end_of_address(self, place):
        """The place after `](address "title")`, `][name]` or `]`."""
        text, length = self._content, len(self._content)
        if not text.startswith("]", place):
            raise _LostError
        place += 1
        if text.startswith("(", place):
            end = self._end_of_inline_address(place + 1)
            if end is not None:
                return end
        if text.startswith("[", place):
            end = text.find("]", place)
            return length if end < 0 else end + 1
        return place

    def _end_of_inline_address(self, place):
        text, length, helpers = self._content, len(self._content), self._parser.helpers
        spaces = re.compile(r"\s*")
        place = spaces.match(text, place).end()
        address = helpers.parseLinkDestination(text, place, length)
        if address.ok:
            place = spaces.match(text, address.pos).end()
            title = helpers.parseLinkTitle(text, place, length)
            if title.ok:
                place = spaces.match(text, title.pos).end()
        return place + 1 if text.startswith(")", place) else None
