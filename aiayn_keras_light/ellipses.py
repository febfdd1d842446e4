"""Ellipses, which stay, and at which a text is cut.

Models that have read few of them write a full stop for an ellipsis, or lose words behind it. So the
parts of `Well... I think so.` are translated as sentences, and the ellipses put back.
"""

import dataclasses
import re
from typing import NamedTuple

from aiayn_keras_light.text_batches import naming_rows
from aiayn_keras_light.text_parts import joined
from aiayn_keras_light.translating import as_translation

_ELLIPSIS = r"(?:\.{3,}+|…+)"
_CLOSING = "\"'’”»)]"
_CLOSERS = f"[{re.escape(_CLOSING)}]*+"
_FIRST = re.compile(rf"\s*{_ELLIPSIS}\s*(?=\w)")
_INNER = re.compile(
    rf"(?<=\w)(?P<mark>{_ELLIPSIS})(?P<closers>{_CLOSERS})\s+(?=\S)|(?<!\s)\s++{_ELLIPSIS}(?:\s+|\Z)"
)
_LAST = re.compile(rf"(?<=\w)(?P<mark>{_ELLIPSIS})(?P<closers>{_CLOSERS})(?=\s*\Z)")
_MAX_MARKS = 200
_PAIRS = ("()", "[]", "{}", "“”", "«»")


def translate_ellipses(texts, translate, progress=None):
    """Translates texts, and keeps their ellipses.

    Args:
        texts: List of strings.
        translate: As in `translate_placeables`; None for a text without a translation.
        progress: As in `translate_placeables`.

    Returns:
        List of `Translation`. A text that is cut has one hypothesis, whose scores are the sums of
        those of its parts.

    Raises:
        TextError: As `translate`, with the place of the text in `texts`.
    """
    cut = {row: found for row, text in enumerate(texts) if (found := _cut(text))}
    found = translate(["" if row in cut else text for row, text in enumerate(texts)], progress)
    parts = [(row, part) for row, (_, parts) in cut.items() for part in parts]
    if not parts:
        return found
    with naming_rows([row for row, _ in parts]):
        translations = iter(translate([part.text for _, part in parts], None))
    for row, (first, parts) in cut.items():
        found[row] = _joined(first, parts, [next(translations) for _ in parts])
    return found


def with_last_ellipsis(source, translation):
    """Puts the ellipsis at the end of a sentence, if it has one, at that of its translation."""
    last = _LAST.search(source)
    return _ending(translation, last["mark"]) if last else translation


class _Part(NamedTuple):
    """A part of a text.

    Attributes:
        text: The text for the model, with a full stop in the place of an ellipsis at its end.
        ellipsis: The ellipsis, or nothing.
        space: What follows: a space, and perhaps an ellipsis that stands alone.
    """

    text: str
    ellipsis: str
    space: str


def _cut(text):
    """The first ellipsis of a text and its `_Part`s; None if it has no ellipsis to cut at."""
    if not 0 < text.count("...") + text.count("…") <= _MAX_MARKS:
        return None
    first = _FIRST.match(text)
    parts, start = [], first.end() if first else 0
    done = start
    for match in [*_INNER.finditer(text, start), *_LAST.finditer(text, start)]:
        ellipsis = match["mark"] or ""
        words = text[done : match.start()] + ("." + match["closers"] if ellipsis else "")
        if match.start() >= done and _is_balanced(words) and any(map(str.isalpha, words)):
            end = match.start() + len(ellipsis + (match["closers"] or ""))
            parts.append(_Part(words, ellipsis, text[end : match.end()]))
            done = match.end()
    rest = text[done:]
    if any(map(str.isalpha, rest)):
        parts.append(_Part(rest, "", ""))
    elif parts and rest.strip():
        parts[-1] = parts[-1]._replace(space=parts[-1].space + rest)
    if not parts or (first is None and [part.text for part in parts] == [text]):
        return None
    return text[:start], parts


def _is_balanced(words):
    """Returns whether no quotation mark or bracket is open at the end of a string."""
    return not any(words.count(mark) % 2 for mark in '"`') and all(
        words.count(first) == words.count(last) for first, last in _PAIRS
    )


def _joined(first, parts, translations):
    if not all(translations):
        return None
    translations = [
        _with_ellipsis(each, part.ellipsis) if part.ellipsis else each
        for part, each in zip(parts, translations, strict=True)
    ]
    if not first and not parts[0].space:
        return translations[0]
    return joined(
        [first, *(each for part in parts for each in (part.text, part.space))], translations
    )


def _with_ellipsis(translation, ellipsis):
    return as_translation(
        [
            dataclasses.replace(each, text=_ending(each.text, ellipsis))
            for each in translation.hypotheses
        ]
    )


def _ending(text, ellipsis):
    """A text with an ellipsis in the place of the full stop, or other ellipsis, at its end."""
    words = text.rstrip(_CLOSING)
    closers = text[len(words) :]
    return words.rstrip(".…。") + ellipsis + closers
