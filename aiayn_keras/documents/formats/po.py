"""Catalogues of gettext: the empty `msgstr`s are filled, the others stay.

polib reads the catalogue; the lines of the empty `msgstr`s are found in the text, so that comments,
references, flags, line breaks and all other entries stay. Markers of accelerators, such as the `&`
of `&Open`, stay in the translation.
"""

import re

from aiayn_keras.documents.formats.interface_texts import Accelerators, is_identifier
from aiayn_keras.documents.formats.units import (
    Kind,
    Mark,
    Unit,
    protect,
    without_ending,
)

_EMPTY = re.compile(r'^msgstr(?:\[(\d+)\])?[ \t]+""[ \t]*(\r?)$(?!\n")', re.MULTILINE)
_STRINGS = r'(?>(?:"(?:[^"\\\r\n]++|\\.)*+"[ \t\r\n]*)+)'
"""Pattern of C strings in a row; it does not backtrack, so that long ones need little memory.

Python before 3.11.5 matches `++` around `*+` wrongly
(https://github.com/python/cpython/issues/106052).
"""
_LINE = re.compile(
    r"[ \t]*(?:(?:msgctxt|msgid|msgid_plural|msgstr(?:\[\d+\])?|domain)?[ \t]*"
    r'"(?:[^"\\\r\n]++|\\.)*+"|#.*)?[ \t]*'
)
_ENTRY = re.compile(
    rf"^msgid[ \t]+({_STRINGS})"
    rf"(?:^msgid_plural[ \t]+({_STRINGS}))?"
    rf"((?:^msgstr(?:\[\d+\])?[ \t]+{_STRINGS})+)",
    re.MULTILINE,
)


def find_units(document, _columns=None):
    """Finds the entries of a catalogue without a translation.

    Args:
        document: A string.

    Returns:
        List of `Unit`s.

    Raises:
        ValueError: If it is not a catalogue.
    """
    import polib

    if not document.strip():
        return []
    try:
        catalogue = polib.pofile(document if "\n" in document else f"{document}\n")
    except (OSError, ValueError, IndexError, UnicodeError) as error:
        raise ValueError(f"not a valid .po catalogue: {' '.join(str(error).split())}") from None
    for number, line in enumerate(re.split(r"\r\n|\r|\n", document.removeprefix("\ufeff")), 1):
        if _LINE.fullmatch(line) is None:
            raise ValueError(
                f"not a valid .po catalogue: line {number} is neither a comment nor a keyword with "
                f"a string in quotation marks: {line.strip()!r:.60}"
            )
    if not catalogue and not catalogue.metadata:
        raise ValueError("not a valid .po catalogue: it has no entries")
    _check_charset(catalogue.metadata.get("Content-Type", ""))
    wanted = {
        (entry.msgid, entry.msgid_plural)
        for entry in catalogue
        if not entry.obsolete and entry.msgid
    }
    accelerators = Accelerators(
        [entry.msgid for entry in catalogue],
        declared=catalogue.metadata.get("X-Accelerator-Marker"),
    )
    units = []
    for match in _ENTRY.finditer(document):
        singular, plural = _text(polib, match[1]), _text(polib, match[2] or "")
        if (singular, plural) not in wanted:
            continue
        has_one_form = "msgstr[1]" not in match[3]  # as in Japanese: for every number
        for empty in _EMPTY.finditer(document, match.start(3), match.end(3)):
            is_plural = plural and (int(empty[1] or 0) or has_one_form)
            source = plural if is_plural else singular
            units += _unit(polib, source, empty, accelerators.find(source))
    return units


def _check_charset(content_type):
    """Refuses a catalogue that programs would not read as UTF-8, in which it is written."""
    charset = re.search(r"charset=([\w.:-]+)", content_type)
    if charset and charset[1].upper() not in ("UTF-8", "UTF8", "CHARSET"):
        raise ValueError(
            f"its header says that its charset is {charset[1]}: convert it to UTF-8, as by "
            "`msgconv -t UTF-8`"
        )


def _text(polib, strings):
    """The text of C strings in a row."""
    return polib.unescape("".join(re.findall(r'"((?:[^"\\\r\n]++|\\.)*+)"', strings)))


def _without_doubled(text):
    """Splits a text into parts; `&&`, which stands for a plain ampersand, becomes a mark."""
    parts = re.split("(&&)", text)
    return [Mark(part, Kind.WORD) if n % 2 else part for n, part in enumerate(parts) if part]


def _unit(polib, source, match, accelerator):
    text, ending = without_ending(source if accelerator is None else accelerator.text)
    parts = [
        part
        for each in protect(text, polib.escape)
        for part in ([each] if isinstance(each, Mark) else _without_doubled(each))
    ]
    is_key = accelerator is None and is_identifier(source)
    if is_key or not any(map(str.isalpha, source)):
        return []  # gettext shows the msgid
    line_end = f"{match[2]}\n"

    def finish(text):
        text = text if accelerator is None else accelerator.put_into(text)
        text += polib.escape(ending)
        lines = re.findall(r".*?\\n|.+$", text)
        if len(lines) < 2:
            return f'"{text}"'
        return line_end.join(['""', *(f'"{line}"' for line in lines)])

    start = match.group(0).index('"') + match.start()
    return [Unit(start, start + 2, tuple(parts), polib.escape, finish)]
