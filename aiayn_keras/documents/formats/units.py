"""Units of a formatted document: its texts, and the marks in them that are not translated.

A format finds the units of a document; everything outside of them comes back unchanged.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum

from aiayn_keras_light.placeable_patterns import BBCODE, CODES, COMMAND, CUTS, PATTERN, STAMP
from aiayn_keras_light.placeables import PAIRS
from aiayn_keras_light.source_words import as_read
from aiayn_keras_light.spaces import is_spaced_letter, spaced_from_latin


class Kind(Enum):
    """Role of a mark in its sentence.

    Attributes:
        WORD: It takes the place of words, such as a placeholder, a URL or code.
        OPEN: It begins a stretch of marked words, such as a bold one.
        CLOSE: It ends the stretch that the last `OPEN` of its name began.
        CUT: It stays between the texts before and after it, which are translated separately.
        BREAK: It ends a sentence, such as a line break.
    """

    WORD = "word"
    OPEN = "open"
    CLOSE = "close"
    CUT = "cut"
    BREAK = "break"


@dataclass(frozen=True)
class Mark:
    """A part of a unit that is not text.

    Attributes:
        raw: The part as it is in the document.
        kind: Its `Kind`.
        name: Name that an `OPEN` mark and its `CLOSE` mark have in common.
    """

    raw: str
    kind: Kind
    name: str = ""


@dataclass(frozen=True)
class Unit:
    """A text of a document, such as a paragraph, a cell or a caption.

    Attributes:
        start: Position in the document of the first character that the translation replaces.
        end: Position after the last one.
        parts: Tuple of strings, the text without escapes, and `Mark`s.
        encode: Function that adds the document's escapes to a text.
        finish: Function that is applied to the translated and encoded unit before it is written.
    """

    start: int
    end: int
    parts: tuple
    encode: Callable[[str], str] = str
    finish: Callable[[str], str] = str


_PLURAL = r"\{\s*[\w.]+\s*,\s*(?:plural|select|selectordinal)\s*,(?:\s*offset:\d+)?\s*=?\w+\s*\{"
"""The beginning of a text with the plurals of ICU: `{n, plural, one {`."""
_PROTECTED = rf"""(?x)
    (?P<syntax>
        {_PLURAL} | \}}\s*=?\w+\s*\{{ | \}}\s*\}}                        # ICU
      | (?<![^\n])[ \t]*{STAMP}
      | (?<![^\n])[ \t]*(?:
          [‒―−]|o(?=\t)|\d{{1,3}}[–-](?=[ \t]+[A-Z])
          |\(?(?:[ivx]{{1,5}}|[IVX]{{1,5}})[.)]|[A-Z]:|%+|;+|[A-Za-z](?:\)|\.(?=[ \t]+[A-Z](?!\.)))
          |[a-h]\.(?=[ \t]+[a-z]{{2,}}(?![\w.]))
        )(?=[ \t])
      | (?<![^\n])[ \t]*[①-⒛]
      | (?<![^\n])[ \t]*\*(?=[^\W\d_])(?![^*\n]*\*)                     # *a note
      | (?<![^\n])[ ]{{0,3}}```[^`\n]*\n(?:[^\n]*\n){{0,400}}?[ ]{{0,3}}```[ \t]*(?![^\n])
      | (?<!\S)(?:
          [→←↑↓⇒⇐↔»«›‹▸▶►◄●★☆☐☑☒□■©®™✓✔✗✘♪♫]+ | => | -> | (?P<line>[*=~_\#<>+-])(?P=line){{2,}}
        )(?![^\s.,;:!?])
      | \[[ xX✓]?\] | (?<=\S)[ \xa0]{{3,}}(?=\S)                         # [x], columns
    )
  | (?P<word>
        \*\|[^|\s]+\|\* | %%[A-Za-z_]\w*%% | \#\#[A-Za-z_]\w*\#\#          # *|NAME|* of newsletters
      | {PATTERN}
      | \{{\s*[\w.]+\s*,[^{{}}\n]*\}}                                # {{n, number}}
      | \[\[[A-Za-z_]\w*\]\] | <<[A-Za-z_]\w*>> | «[A-Za-z_]\w*»
      | (?<!\S)<(?!(?:div|img|wbr|span|table|strong|input)\b)(?P<field>[A-Za-z][\w.-]{{2,40}})>
        (?=[\s.,;:!?]|\Z)(?!.{{0,2000}}</(?P=field)>)                     # <name>
      | (?<![\w/-])[A-Z][A-Z\d]*(?:[-/][A-Z\d]+)*(?<=\d)(?:[A-Z]+)?(?![\w-])     # A4 H2O UTF-8
      | (?<![\w-])(?=\w*[a-z])(?=\w*[A-Z])(?=[A-Za-z]*\d)[A-Za-z\d]{{5,}}(?![\w-])  # x7Gh2k
      | (?<![\w`])`[^`\s][^`\n]*`(?![\w`])                              # `code`
      | (?<![\w-])\d{{4}}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:Z|[ ]?[+-]\d\d:?\d\d)?)?(?![\w-])
      | (?<![\w-])(?=[A-Z]+\d)[A-Z\d]+(?:-[A-Z\d]+)+(?![\w-])             # A1B2-C3D4
      | \$\d(?![\d.,]*\d|[^\W\d_]|/[a-z])                                 # $1
      | \$t\([^()\n]*\) | @(?:\.\w+)?:[\w.]*\w                            # $t(key) @:key
      | {CODES}
    )
  | (?P<name> \[[A-Z][A-Z0-9]+(?:[ _-][A-Z0-9]+)*\] )                # [NAME]
  | (?P<pair>                                                         # **bold** _italic_
        (?P<two>\*\*|~~)(?=[^\s*~][^*~\n]{{0,200}}(?P=two)) | (?<=[^\s*~])(?:\*\*|~~)
      | (?<![\w*])\*(?=[^\s*][^*\n]{{0,200}}(?<=[^\s*])\*(?![\w*])) | (?<=[^\s*])\*(?![\w*])
      | (?<!\w)__(?=[^\s_][^\n]{{0,200}}?[^\s_]__(?!\w)) | (?<=[^\s_])__(?!\w)
      | (?<!\w)_(?=[^\s_][^_\n]{{0,200}}(?<=[^\s_])_(?!\w)) | (?<=[^\s_])_(?!\w)
    )
  | (?P<bbcode> {BBCODE} )
  | (?P<cut>
        {CUTS}
      | \[/[a-z][\w-]*\]                                             # [/caption] of WordPress
      | \[[a-z][\w-]*+(?:[ ]+[\w-]++=(?:"[^"\[\]]*+"|'[^'\[\]]*+'|[^\s"'\[\]]++)){{1,20}}[ ]*/?\]
    )
  | (?P<bracket> \[(?=[^\[\]\n]{{1,80}}\]) | \] )                     # [first name]
  | (?P<time> <(?:\d+:)?\d\d:\d\d\.\d{{3}}> )
  | (?P<tag>
        </?\d+\s*/?> | </?[A-Za-z][A-Za-z0-9:._-]*(?:\s[^<>]*|/)?/?> | <!--(?:(?!<!--).)*?-->
    )
  | (?P<sign>
        {COMMAND} | (?<!\S)[~<>]\d+(?:[.,]\d+)*(?![\w.,]*\w)
      | (?<=[^\s>|][ ])(?:[<>]=?|==?)(?=[ ]) | (?<=\S[ ])\*(?=[ ]\S)
    )
  | (?P<brace> [{{}}] )
"""
_MARKS = re.compile(_PROTECTED, re.DOTALL)
_MARKS_WITH_PLURALS = re.compile(rf"{_PROTECTED} | (?P<number> \#(?!\w) )", re.DOTALL)
_OPENS = re.compile(
    r"\[|(?<!\w)(?:(\*\*|~~)(?=[^\s*~][^*~\n]{0,200}\1)|__(?=[^\s_][^\n]{0,200}?[^\s_]__(?!\w))"
    r"|_(?=[^\s_][^_\n]{0,200}(?<=[^\s_])_(?!\w))"
    r"|\*(?=[^\s*][^*\n]{0,200}(?<=[^\s*])\*(?![\w*])))"
)
_HAS_PLURALS = re.compile(_PLURAL)
_SYMBOL_BEFORE = re.compile(r"(?:(?<![^\W_])(?:[A-Za-z]=)?[A-Za-z\d]{1,2})?\Z")
_SYMBOL_BEHIND = re.compile(r"(?:[A-Za-z\d]{1,2}(?![^\W_]))?")
"""Beside an index: the H and O of `H<sub>2</sub>O`."""
_ENDING = re.compile(r"(?<=[\w)%\"'”}>])\s?(?:…|\.\.\.|:)\Z")
INDICES = ("sub", "sup")
_MAX_INDEX = 4
"""Characters of an index or exponent between tags, such as the 2 of `H<sub>2</sub>O`."""
_BBCODE_NAME = re.compile(r"[a-z]+")
_TAG_NAME = re.compile(r"</?([A-Za-z][A-Za-z0-9:._-]*|\d+)")
_BREAKING_TAGS = frozenset({"br", "hr", "p", "div", "li", "ul", "ol", "tr", "td", "th", "table"})
_VOID_TAGS = frozenset({"img", "input", "wbr", "embed", "source", "track", "area", "col"})


def tag_mark(raw):
    """The `Mark` of a tag such as `<b>`, `</b>` or `<br/>`."""
    match = _TAG_NAME.match(raw)
    name = match[1].lower() if match else ""
    if not name:
        return Mark(raw, Kind.CUT)
    if name in _BREAKING_TAGS:
        return Mark(raw, Kind.BREAK)
    if name in _VOID_TAGS or raw.endswith("/>"):
        return Mark(raw, Kind.WORD)
    return Mark(raw, Kind.CLOSE if raw.startswith("</") else Kind.OPEN, name)


def protect(text, encode=str, with_tags=True, with_names=True):
    """Finds what must not be translated in a text.

    Placeables, other placeholders and tags become marks; see `aiayn_keras_light.placeables`.

    Args:
        text: A string.
        encode: As in `Unit`.
        with_tags: Whether tags, and the times within captions, may occur in it, and not only the
            signs that they are made of.
        with_names: Whether words in capitals and brackets, such as `[NAME]`, are placeholders, and
            other brackets a pair of marks.

    Returns:
        List of non-empty strings and `Mark`s.
    """
    marks = _MARKS_WITH_PLURALS if _HAS_PLURALS.search(text) else _MARKS
    text = as_read(text, marks)
    parts, done, open_marks = [], 0, set()
    for match in marks.finditer(spaced_from_latin(text)):
        found = text[match.start() : match.end()]
        if (match["tag"] or match["time"]) and not with_tags:
            continue
        if (match["name"] or match["bracket"]) and not with_names:
            continue
        is_pair = match["pair"] or match["bracket"]
        if is_pair:
            name = found.replace("]", "[")
            is_open = name not in open_marks and found != "]"
            is_pair = not is_open or _OPENS.match(text, match.start())
            if found == "]" and name not in open_marks:
                continue
            if is_pair:
                open_marks ^= {name}
            elif found[0] == "_" or text[match.end() : match.end() + 1].isalnum():
                continue
        raw = encode(found)
        mark = (
            tag_mark(raw)
            if match["tag"]
            else Mark(raw, Kind.WORD, "clock" if match["clock"] else "")
        )
        if match["bbcode"]:
            mark = Mark(
                raw, Kind.CLOSE if raw[1] == "/" else Kind.OPEN, _BBCODE_NAME.search(raw)[0]
            )
        if is_pair:
            mark = Mark(raw, Kind.OPEN if is_open else Kind.CLOSE, name)
        elif match["syntax"] or match["cut"] or match["brace"] or match["pair"]:
            mark = Mark(raw, Kind.CUT)
        parts += [text[done : match.start()], mark]
        done = match.end()
    parts.append(text[done:])
    return [part for part in parts if part != ""]


def joined(parts, encode):
    """Joins marks that belong together.

    These are `WORD` marks in brackets or quotation marks, tags around `WORD` marks alone, and
    formulas such as `H<sub>2</sub>O`. A `WORD` mark directly beside a letter becomes a `CUT`.

    Args:
        parts: Strings and `Mark`s.
        encode: As in `Unit`.

    Returns:
        List of non-empty strings and `Mark`s.
    """
    found = []
    for part in parts:
        found.append(part)
        if isinstance(part, Mark) and part.kind == Kind.CLOSE:
            _join_tags(found, encode)
    _join_brackets(found, encode)
    for place, part in enumerate(found):
        if not isinstance(part, Mark) or part.kind != Kind.WORD:
            continue
        before, after = (found[n] if 0 <= n < len(found) else "" for n in (place - 1, place + 1))
        while (
            isinstance(before, str)
            and isinstance(after, str)
            and before[-1:] not in ("", "{")
            and PAIRS.get(before[-1:]) == after[:1]
        ):
            part = Mark(encode(before[-1]) + part.raw + encode(after[0]), Kind.WORD)
            before, after = before[:-1], after[1:]
            found[place - 1 : place + 2] = [before, part, after]
    for place, part in enumerate(found):
        if isinstance(part, Mark) and part.name in INDICES:
            around = [found[n] if 0 <= n < len(found) else "" for n in (place - 1, place + 1)]
            if part.kind == Kind.WORD and all(isinstance(each, str) for each in around):
                before, after = _SYMBOL_BEFORE.search(around[0]), _SYMBOL_BEHIND.match(around[1])
                raw = f"{encode(before[0])}{part.raw}{encode(after[0])}"
                around = around[0][: before.start()], Mark(raw, Kind.WORD), around[1][after.end() :]
                found[max(place - 1, 0) : place + 2] = around[0 if place else 1 :]
    found = [part for part in found if part != ""]
    return [_cut_beside_letters(part, found, place) for place, part in enumerate(found)]


def _cut_beside_letters(part, parts, place):
    """Makes a `WORD` mark directly beside a letter a `CUT`, as in lines; returns other parts."""
    if not isinstance(part, Mark) or part.kind != Kind.WORD:
        return part
    before, after = (parts[n] if 0 <= n < len(parts) else "" for n in (place - 1, place + 1))
    is_beside = (isinstance(before, str) and is_spaced_letter(before[-1:])) or (
        isinstance(after, str) and is_spaced_letter(after[:1])
    )
    return replace(part, kind=Kind.CUT) if is_beside else part


def _join_brackets(parts, encode):
    """Puts brackets that stand directly around a pair of marks into the marks."""
    open_places = []
    for place, part in enumerate(parts):
        if not isinstance(part, Mark) or part.kind not in (Kind.OPEN, Kind.CLOSE):
            continue
        if part.kind == Kind.OPEN:
            open_places.append(place)
            continue
        start = open_places.pop() if open_places else 0
        before = parts[start - 1] if start else ""
        after = parts[place + 1] if place + 1 < len(parts) else ""
        if not isinstance(before, str) or not isinstance(after, str) or before[-1:] in ("", "{"):
            continue
        if parts[start].name == part.name and PAIRS.get(before[-1]) == after[:1]:
            first = replace(parts[start], raw=encode(before[-1]) + parts[start].raw)
            parts[start - 1 : start + 1] = [before[:-1], first]
            parts[place : place + 2] = [replace(part, raw=part.raw + encode(after[0])), after[1:]]


def _join_tags(parts, encode):
    """Makes the pair of tags at the end of parts one word if nothing in it is translated."""
    close = parts[-1]
    place = len(parts) - 2
    while place >= 0 and (isinstance(parts[place], str) or parts[place].kind == Kind.WORD):
        place -= 1
    if place < 0 or (parts[place].kind, parts[place].name) != (Kind.OPEN, close.name):
        return
    inside = parts[place + 1 : -1]
    text = "".join(part for part in inside if isinstance(part, str))
    is_index = close.name in INDICES and len(text) <= _MAX_INDEX and " " not in text
    if not inside or (any(map(str.isalnum, text)) and not is_index):
        return
    raws = [encode(part) if isinstance(part, str) else part.raw for part in inside]
    raw = "".join([parts[place].raw, *raws, close.raw])
    parts[place:] = [Mark(raw, Kind.WORD, close.name if close.name in INDICES else "")]


def without_ending(text):
    """A label and its ending: `…`, `...` or `:`, with the spaces before it, which may be empty."""
    ending = _ENDING.search(text)
    return (text[: ending.start()], ending[0]) if ending else (text, "")


def has_letters(parts):
    """Tells whether there is anything to translate in the parts of a unit."""
    return any(isinstance(part, str) and any(map(str.isalpha, part)) for part in parts)


def replace_units(document, units, translations):
    """Writes translations into a document.

    Args:
        document: A string.
        units: List of `Unit`s that do not overlap.
        translations: List of their translated and encoded texts.

    Returns:
        The document, which differs from the original in the units alone.
    """
    pieces, done = [], 0
    pairs = zip(units, translations, strict=True)
    for unit, text in sorted(pairs, key=lambda pair: pair[0].start):
        pieces += [document[done : unit.start], unit.finish(text)]
        done = unit.end
    return "".join([*pieces, document[done:]])
