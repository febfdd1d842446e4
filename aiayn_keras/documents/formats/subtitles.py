"""Subtitles, .srt and .vtt: the text of the captions, which webvtt-py reads.

The lines of a caption are one text unless a dash begins one of them, and the translation has as
many. Times, numbers, settings, notes, styles and tags stay.
"""

import bisect
import functools
import io
import re
import textwrap

from aiayn_keras.documents.formats.units import Kind, Mark, Unit, has_letters, protect

_SPOKEN = re.compile(r"^(?:<[^<>]*>|\{\\[^{}]*\})*\s*[-–—]")
_SIGNS = re.compile(r"<[^<>]*>|\{\\[^{}]*\}")
_LINE_END = re.compile(r"\r\n|\r|\n|\Z")
_OVERRIDE = re.compile(r"(\{\\[^{}]*\}|\{[a-zA-Z]:[^{}]*\})")


def find_srt_units(document, _columns=None):
    """Finds the captions of a SubRip file.

    Args:
        document: A string.

    Returns:
        List of `Unit`s.

    Raises:
        ValueError: If it cannot be read.
    """
    return _find_units(document, "srt")


def find_vtt_units(document, _columns=None):
    """Finds the captions of a WebVTT file; see `find_srt_units`."""
    return _find_units(document, "vtt")


def _find_units(document, kind):
    import webvtt

    text = document.replace("\r\n", "\n").replace("\r", "\n")
    if kind == "srt" and not text.strip():  # a .vtt has at least its first line
        return []
    try:
        captions = webvtt.from_buffer(io.StringIO(text), format=kind).captions
    except webvtt.errors.MalformedFileError as error:
        raise ValueError(f"not a valid .{kind} file: {error}") from None
    if not captions and text.strip().removeprefix("WEBVTT").strip():
        raise ValueError(f"not a valid .{kind} file: there is no caption with its times")
    units, done = [], 0
    for caption in captions:
        done = _LINE_END.search(document, document.index("-->", done)).end()
        start = done
        for line in caption.lines:
            start = document.index(line, done) if line == caption.lines[0] else start
            done = document.index(line, done) + len(line)
        if caption.lines:
            units += _units_of_caption(document, start, done)
    return units


def _units_of_caption(document, start, end):
    lines = []
    for line in document[start:end].splitlines(keepends=True):
        text = line.rstrip("\r\n")
        lines.append((start, start + len(text)))
        start += len(line)
    is_spoken = any(_SPOKEN.match(document[a:b]) for a, b in lines)
    groups = [[line] for line in lines] if is_spoken else [lines]
    return [unit for group in groups for unit in _unit(document, group)]


def _unit(document, lines):
    parts = []
    for number, (start, end) in enumerate(lines):
        if number:
            parts.append(" ")
        for piece in _OVERRIDE.split(document[start:end]):
            is_override = _OVERRIDE.fullmatch(piece)
            parts += [Mark(piece, Kind.CUT)] if is_override else protect(piece)
    if not has_letters(parts):
        return []
    line_end = document[lines[0][1] : lines[1][0]] if len(lines) > 1 else "\n"

    def finish(text):
        return line_end.join(_wrap(text, len(lines)))

    return [Unit(lines[0][0], lines[-1][1], tuple(_joined(parts)), finish=finish)]


def _joined(parts):
    """Parts without neighbours that are both text."""
    joined = []
    for part in parts:
        if joined and isinstance(part, str) and isinstance(joined[-1], str):
            part = joined.pop() + part
        joined.append(part)
    return joined


def _wrap(text, num_lines):
    """Lines of about equal length, as many as there were or fewer; tags do not count."""
    if num_lines == 1:
        return [text]
    tags = _SIGNS.findall(text)
    plain = " ".join(_SIGNS.sub("\0", text).split())
    lines = functools.partial(textwrap.wrap, plain, break_long_words=False)
    widths = range(max(1, -(-len(plain) // num_lines)), len(plain) + 1)
    # The smallest width of not too many lines; with the largest there is one.
    place = bisect.bisect_left(widths, True, key=lambda width: len(lines(width)) <= num_lines)
    remaining = iter(tags)
    found = lines(widths[place]) if plain else [""]
    return [re.sub("\0", lambda _: next(remaining), line) for line in found]
