"""Subtitles, .srt and .vtt: the text of the captions, which webvtt-py reads.

The lines of a caption are one text unless each ends a sentence or is a sound, or there are several
speakers: a line with a dash, `>>`, a note or a name begins a text. The translation has as many
lines. Times, numbers, settings, notes, styles and
tags stay. Lines of times are checked here, since the library says only that a file is invalid, and
leaves out captions with damaged times.
"""

import bisect
import functools
import html
import io
import itertools
import re
import textwrap

from aiayn_keras.documents.formats.html import encoder
from aiayn_keras.documents.formats.units import Kind, Mark, Unit, has_letters, protect
from aiayn_keras_light.spaces import space_of_break

_SPOKEN = re.compile(
    r"^(?:<[^<>]*>|\{\\[^{}]*\})*\s*"
    r"(?:[-–—♪]|>>|&gt;&gt;|<v[. \t][^<>]*>|[A-Z][A-Z\d .'-]{1,30}:\s)"
)
_SIGNS = re.compile(r"<[^<>]*>|\{\\[^{}]*\}")
_LINE_END = re.compile(r"\r\n|\r|\n|\Z")
_OVERRIDE = re.compile(r"\{\\[^{}]*\}|\{[a-zA-Z]:[^{}]*\}|(?<!\w)[A-Za-z]:\\\S*|(?:\\[Nnh])+")
"""Styles, and the line breaks and spaces of .ass; a path with such letters is kept whole."""
_SOUND = re.compile(r"\[[^\[\]]+\]|(?:\A|(?<=[-–—>}])|(?<=[-–—>}] ))\([^()]+\)")
_REFERENCE = re.compile(r"&(?:[A-Za-z][A-Za-z0-9]*|#\d+|#x[0-9A-Fa-f]+);")
_COMPLETE = re.compile(r"[.?!…。？！]['\"”’»)\]]*$|^[\[(][^\[\]()]+[\])]$")
"""A line that ends a sentence, or is only a sound."""
_TITLE = re.compile(r"\b(?:[A-Z]|M[rs]|Mrs|Dr|Prof|St|Hr|Fr|Sra?|Mme)\.$")
"""A line that ends in an initial or a title, so that its full stop does not end a sentence."""
_TIMES = {
    kind: re.compile(rf"\s*{time}\s*-->\s*{time}(?![\d:])")
    for kind, time in (
        ("srt", r"\d{1,4}:[0-5]?\d:[0-5]?\d[,.]\d{1,9}"),
        ("vtt", r"(?:\d{1,4}:)?[0-5]?\d:[0-5]?\d\.\d{1,3}"),
    )
}
_WANTED_TIMES = {
    "srt": "times such as 00:00:01,000 --> 00:00:02,500",
    "vtt": "times such as 00:00:01.000 --> 00:00:02.500",
}
_ANY_TIME = r"-?(?:\d+ ?: ?){1,2}\d+ ?[,.:;] ?\d+"
_ANY_TIMES = re.compile(rf"\s*{_ANY_TIME}\s*\S{{0,4}}\s*{_ANY_TIME}")
"""Two times, perhaps misspelled."""
_NOTE = re.compile(r"(?:NOTE|STYLE|REGION)(?:[ \t]|\Z)")


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

    spans = _lines(document)
    lines = [document[start:end] for start, end in spans]
    if kind == "srt" and not document.strip():  # a .vtt has at least its first line
        return []
    times = _check_srt(lines) if kind == "srt" else _check_vtt(lines)
    text = "\n".join(_tidy_srt(lines, times) if kind == "srt" else lines)
    try:
        captions = webvtt.from_buffer(io.StringIO(text), format=kind).captions
    except webvtt.errors.MalformedFileError as error:
        raise ValueError(f"not a valid .{kind} file: {error}") from None
    units, remaining, all_times = [], iter(times), set(times)
    if kind == "srt":  # above times is a number, which is not text
        all_times.update(time - 1 for time in times)
    for caption in captions:
        numbers = _numbers(lines, caption.lines, remaining, all_times) if caption.lines else []
        numbers = [number for number in numbers if lines[number].strip()]
        # Consecutive lines differ from their places in the list by the same number.
        for _, beside in itertools.groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]):
            group = [number for _, number in beside]
            units += _units_of_caption(document, spans[group[0]][0], spans[group[-1]][1])
    return units


def _lines(document):
    """Start and end of each line."""
    spans, start = [], 0
    for match in _LINE_END.finditer(document):
        spans.append((start, match.start()))
        start = match.end()
    return spans


def _tidy_srt(lines, times):
    """Lines of a .srt without the empty ones at its beginning and right above lines of times."""
    tidy, times = [], set(times)
    for number, line in enumerate(lines):
        while number in times and tidy and not tidy[-1]:
            tidy.pop()
        if tidy or line.strip():
            tidy.append(line.strip() if line.strip().isdigit() else line.rstrip())
    return tidy


def _numbers(lines, texts, times, all_times):
    """Numbers of the lines of a caption's texts, below the first line of `times` that has them."""
    for time in times:
        numbers, number = [], time + 1
        for text in texts:
            while number < len(lines) and not lines[number].strip() and text.strip():
                number += 1
            numbers.append(number)
            number += 1
        if number <= len(lines) and all_times.isdisjoint(range(time + 1, number)):
            found = [lines[number].strip() for number in numbers]
            if found == [text.strip() for text in texts]:
                return numbers
    raise ValueError(f"the caption {texts[0]!r:.60} is not below its times")


def _check_srt(lines):
    """Checks the lines of a .srt.

    Returns:
        Numbers of the lines with times, from 0 on.

    Raises:
        ValueError: If a line is not what it should be; names the first.
    """
    filled = [number for number, line in enumerate(lines) if line.strip()]
    first = lines[filled[0]]
    if not first.strip().isdigit():
        hint = ", or give --format vtt" if first.startswith("WEBVTT") else ""
        wanted = f"it must be the number of the first caption, such as 1{hint}"
        raise _not_valid("srt", filled[0], first, wanted)
    times = []
    for before, number in itertools.pairwise(filled):
        line, is_numbered = lines[number], lines[before].strip().isdigit()
        if _TIMES["srt"].match(line):
            if not is_numbered:
                raise _not_valid(
                    "srt", number, line, "the caption's number must be above its times"
                )
            times.append(number)
        elif not times or _ANY_TIMES.match(line) or ("-->" in line and is_numbered):
            raise _not_valid("srt", number, line, f"it must have {_WANTED_TIMES['srt']}")
    if not times:
        wanted = f"below it must be {_WANTED_TIMES['srt']}"
        raise _not_valid("srt", filled[0], first, wanted)
    return times


def _check_vtt(lines):
    """Checks the lines of a .vtt; see `_check_srt`."""
    if re.match(r"WEBVTT(?:[ \t]|\Z)", lines[0]) is None:
        raise _not_valid("vtt", 0, lines[0], "it must begin with WEBVTT")
    times, is_note = [], False
    for number, line in enumerate(lines):
        if number and not lines[number - 1]:
            is_note = _NOTE.match(line) is not None
        if _TIMES["vtt"].match(line):
            times.append(number)
            is_note = False
        elif not is_note and ("-->" in line or _ANY_TIMES.match(line)):
            raise _not_valid("vtt", number, line, f"it must have {_WANTED_TIMES['vtt']}")
    if not times and any(lines[1:]) and not is_note:
        raise ValueError(f"not a valid .vtt file: no line has {_WANTED_TIMES['vtt']}")
    return times


def _not_valid(kind, number, line, wanted):
    return ValueError(
        f"line {number + 1}: not a valid .{kind} file: {wanted}. Received: {line.strip()!r:.60}"
    )


def _units_of_caption(document, start, end):
    lines = []
    for line in document[start:end].splitlines(keepends=True):
        text = line.rstrip("\r\n")
        lines.append((start, start + len(text)))
        start += len(line)
    texts = [document[a:b] for a, b in lines]
    has_speakers = any(map(_SPOKEN.match, texts)) or _are_sentences(texts)
    groups = []
    for number, line in enumerate(lines):
        beside = texts[max(number - 1, 0) : number + 1]
        if not number or (has_speakers and (_SPOKEN.match(beside[1]) or _are_sentences(beside))):
            groups.append([])
        groups[-1].append(line)
    return [unit for group in groups for unit in _unit(document, group)]


def _are_sentences(texts):
    """True if each line ends a sentence, or is a sound, before the next one begins."""
    plain = [_SIGNS.sub("", text).strip() for text in texts]
    return all(
        _COMPLETE.search(line) and not _TITLE.search(line) and not following[:1].islower()
        for line, following in itertools.pairwise(plain)
    )


def _unit(document, lines):
    texts = [document[start:end] for start, end in lines]
    has_references = any(map(_REFERENCE.search, texts))
    encode = encoder(texts) if has_references else str
    parts = []
    for number, text in enumerate(texts):
        parts += [space_of_break(texts[number - 1].rstrip(), text.lstrip())] if number else []
        parts += _parts(text, encode, has_references)
    if not has_letters(parts):
        return []
    line_end = document[lines[0][1] : lines[1][0]] if len(lines) > 1 else "\n"

    def finish(text):
        return line_end.join(_wrap(text, len(lines)))

    return [Unit(lines[0][0], lines[-1][1], tuple(_joined(parts)), encode, finish)]


def _parts(text, encode, has_references):
    """Parts of a line; the brackets of a sound, such as `[door opens]`, are marks."""
    cuts = [match.span() for match in _OVERRIDE.finditer(text)]
    for match in _SOUND.finditer(text):
        cuts += [(match.start(), match.start() + 1), (match.end() - 1, match.end())]
    parts, done = [], 0
    for start, end in [*sorted(cuts), (len(text), len(text))]:
        if start < done:
            continue
        if has_references:
            for piece in re.split("(<[^<>]*>)", text[done:start]):
                if piece.startswith("<"):
                    parts += protect(piece)
                else:
                    parts += protect(html.unescape(piece), encode, False, with_names=False)
        else:
            parts += protect(text[done:start], with_names=False)
        parts += [Mark(text[start:end], Kind.CUT)] if start < end else []
        done = end
    return parts


def _joined(parts):
    """Parts without neighbours that are both text."""
    joined = []
    for part in parts:
        if joined and isinstance(part, str) and isinstance(joined[-1], str):
            part = joined.pop() + part
        joined.append(part)
    return joined


_MAY_BREAK = "\x0b"
_CHARACTER = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_BETWEEN_CHARACTERS = re.compile(
    rf"(?<=[{_CHARACTER}、。，！？：；」』）…])(?![ぁぃぅぇぉっゃゅょァィゥェォッャュョー々])(?=[{_CHARACTER}「『（])"
)
"""Places where a line of Chinese or Japanese may end."""


def _wrap(text, num_lines):
    """Lines of about equal length, as many as there were or fewer; tags do not count."""
    if num_lines == 1:
        return [text]
    tags = _SIGNS.findall(text)
    plain = " ".join(_SIGNS.sub("\0", text).split())
    plain = _BETWEEN_CHARACTERS.sub(_MAY_BREAK, plain)
    lines = functools.partial(
        textwrap.wrap, plain, break_long_words=False, replace_whitespace=False
    )
    widths = range(max(1, -(-len(plain) // num_lines)), len(plain) + 1)
    # The smallest width that gives at most `num_lines` lines; the largest gives one.
    place = bisect.bisect_left(widths, True, key=lambda width: len(lines(width)) <= num_lines)
    remaining = iter(tags)
    found = lines(widths[place]) if plain else [""]
    found = [line.replace(_MAY_BREAK, "") for line in found]
    return [re.sub("\0", lambda _: next(remaining), line) for line in found]
