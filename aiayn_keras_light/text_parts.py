"""Parts of a text that are translated alone, and joined again with what was between them.

**Words in round brackets** within a sentence are translated as texts of their own: small models
write other words in brackets, such as the sounds of subtitles. A sign stands for the brackets while
the sentence is translated; it is treated as an emoji is, see `inner_emoji`.

**Ellipses** stay. Models that have read few of them write a full stop for an ellipsis, or lose
words after it. So the parts of `Well... I think so.` are translated as sentences, and the ellipses
are put back.

**A single word after a sentence** is translated as a text of its own: models leave such words out
or as they are, as in `Thank you! Bye` and `What colour is it? Red`.
"""

import dataclasses
import heapq
import re
from typing import NamedTuple

from aiayn_keras_light.placeable_patterns import places_of
from aiayn_keras_light.spaces import UNSPACED_LETTER
from aiayn_keras_light.text_batches import naming_rows
from aiayn_keras_light.translating import Hypothesis, as_translation

_ASIDE = re.compile(r"(?<!\S)\((?=[^()\n]{0,300}[^\W\d_]{2})([^()\n]{2,300})\)(?![\w(])")
_FIRST_SIGN = 0xF0000
"""Signs are characters for private use, which `emoji` takes for pictures."""
_MAX_ASIDES = 100
_ELLIPSIS = r"(?:\.{3,}+|…+)"
_CLOSING = "\"'’”»)]"
_CLOSERS = f"[{re.escape(_CLOSING)}]*+"
_FIRST = re.compile(rf"\s*{_ELLIPSIS}\s*(?=\w)")
_INNER = re.compile(
    rf"(?<=\w)(?P<mark>{_ELLIPSIS})(?P<closers>{_CLOSERS})\s+(?=\S)|(?<!\s)\s++{_ELLIPSIS}(?:\s+|\Z)"
)
_LAST = re.compile(rf"(?<=\w)(?P<mark>{_ELLIPSIS})(?P<closers>{_CLOSERS})(?=\s*\Z)")
_MAX_MARKS = 200
_BEFORE_LAST_WORD = re.compile(
    r"(?<![^\W\d_])(?<!\b[^\W\d_]\. )(?:(?P<word>[^\W\d_]{2,20})\.|[^\W\d_]{1,20}[!?])\s+"
    r"(?=\w\S*(?:\s+[^\w\s]+)*\s*\Z)"
)
_ABBREVIATION = re.compile(
    r"[IVXLC]+|(?i:Mr|Mrs|Ms|Mx|Dr|Prof|Rev|Hon|Mt|Gen|Col|Maj|Capt|Cmdr|Lt|Sgt|Cpl|Gov|Sen|Rep|Pres|"
    r"Sra?|Srta|Dra|Mme|Mlle|Hr|Fr|St|Inc|Ltd|Co|Corp|Bros|Jr|Ave|Blvd|Rd|Dept|Univ|"
    r"ft|feat|vs|cf|ca|viz|ej|bzw|ggf|evtl|inkl|incl|approx|vol|figs?|ch|sec|nr|"
    r"Mon|Tue|Wed|Thu|Fri|Sat|Sun|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)|"
    r"Mo|Di|Mi|Sa|Mio|Min|Sek|Abs|Abb|Kap|Tel|Okt|Dez|Fam|Ing|Dipl|Mag|Mgr|Gral|Lic|Sto|Sta|Ud|Exmo|"
    r"geb|gest|sog|insb|einschl|env|éd|[Aa]v|aprox|núm|pág|sig|dott|avv|mevr|bijv|resp|ul|tzw|inż|"
    r"godz|tys|ул|им|стр|тыс|руб|[B-DF-HJ-NP-TV-XZ]?[b-df-hj-np-tv-xz]{1,5}"
)
"""Words with a full stop that need not end a sentence: titles, units and the like of several
languages, and words without a vowel (`Mrd.`, `dhr.`)."""
_PAIRS = ("()", "[]", "{}", "“”", "«»")


def begin_alike(source, text):
    """Gives a translated part of a sentence a lower-case first letter if the source has one."""
    if source[:1].islower() and text[:1].isupper() and not text[1:2].isupper():
        first = "i" if text[0] == "İ" else text[0].lower()  # not i and a second dot
        return first + text[1:]
    if len(source) == 1 and source.isupper() and text.isupper():  # the A of `A <i>big</i> house`
        return text.capitalize()
    return text


def joined(parts, translations):
    """Joins the translations of the parts of a text.

    Args:
        parts: List of what is kept and what is translated, in turn: kept, words, kept, ….
        translations: The `Translation` of each of the words.

    Returns:
        A `Translation`. Its hypotheses are the best combinations of the parts' hypotheses, at most
        as many as one part has; scores are sums.
    """
    distinct = [_distinct(each.hypotheses) for each in translations]
    count = max(map(len, distinct), default=1)
    best = [(0.0, None)]
    for hypotheses in distinct:
        longer = [
            (score + each.normalized_score, (each, before))
            for score, before in best
            for each in hypotheses
        ]
        best = heapq.nlargest(2 * count, longer, key=lambda scored: scored[0])
    found = [_joined_hypotheses(parts, _in_order(last)) for _, last in best]
    return as_translation(_distinct(found)[:count])


def _distinct(hypotheses):
    """The hypotheses, without those whose text a better one already has."""
    found = {}
    for each in hypotheses:
        found.setdefault(each.text, each)
    return [*found.values()]


def _in_order(last):
    """The hypotheses of all parts, given the last one in a pair with the pair before it."""
    hypotheses = []
    while last is not None:
        each, last = last
        hypotheses.append(each)
    return hypotheses[::-1]


def _joined_hypotheses(parts, hypotheses):
    whole = parts[0]
    for words, kept, each in zip(parts[1::2], parts[2::2], hypotheses, strict=True):
        text = begin_alike(words, each.text)
        if words[0].isupper() and not any(map(str.isalpha, whole)):
            text = text[:1].upper() + text[1:]
        # Chinese words stood without spaces; words of other languages need them.
        before = UNSPACED_LETTER.match(words[0]) and _need_space(whole, text)
        after = UNSPACED_LETTER.match(words[-1]) and _need_space(text, kept)
        whole += f"{' ' * bool(before)}{text}{' ' * bool(after)}{kept}"
    return Hypothesis(
        whole,
        sum(each.score for each in hypotheses),
        sum(each.normalized_score for each in hypotheses),
        tuple(token for each in hypotheses for token in each.tokens),
    )


def _need_space(left, right):
    """True if a string ends, and the next begins, with a letter or digit of a spaced script."""
    sides = left[-1:], right[:1]
    return all(each.isalnum() and not UNSPACED_LETTER.match(each) for each in sides)


def without_asides(text, pattern):
    """Takes words in brackets out of a text.

    Args:
        text: A string.
        pattern: Compiled pattern of placeables; brackets that belong to one stay.

    Returns:
        The text with a sign in place of each pair of brackets, and a list of the words in them. If
        all words of the text are in brackets, the unchanged text and an empty list.
    """
    found = list(_ASIDE.finditer(text))
    if not found or any(ord(each) >= _FIRST_SIGN for each in text):
        return text, []
    kept = places_of(pattern, text)
    found = [
        each
        for each in found
        if not (kept[each.start()] or kept[each.end() - 1])
        and any(text[place].isalpha() and not kept[place] for place in range(*each.span(1)))
    ][:_MAX_ASIDES]
    pieces, done = [], 0
    for number, each in enumerate(found):
        pieces += [text[done : each.start()], chr(_FIRST_SIGN + number)]
        done = each.end()
    main = "".join([*pieces, text[done:]])
    if not any(map(str.isalpha, main)):
        return text, []
    return main, [each[1] for each in found]


def with_asides(text, asides):
    """Replaces signs by translated words in brackets, which go to the end if their sign is lost."""
    for number, aside in enumerate(asides):
        sign = chr(_FIRST_SIGN + number)
        text = (text if sign in text else f"{text} {sign}").replace(sign, f"({aside})")
    return text


def translate_ellipses(texts, translate, progress=None):
    """Translates texts, and keeps their ellipses; see above for words after sentences.

    Args:
        texts: List of strings.
        translate: As in `translate_placeables`; None for a text without a translation.
        progress: As in `translate_placeables`.

    Returns:
        List of `Translation`; see `joined` for a text that is cut.

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
    """Ends a translation with the ellipsis at the end of its sentence, if there is one."""
    last = _LAST.search(source)
    return _ending(translation, last["mark"]) if last else translation


class _Part(NamedTuple):
    """A part of a text.

    Attributes:
        text: The text for the model, with a full stop instead of an ellipsis at its end.
        ellipsis: The ellipsis, or nothing.
        space: What follows: a space, and perhaps an ellipsis that stands alone.
    """

    text: str
    ellipsis: str
    space: str


def _cut(text):
    """The first ellipsis of a text and its `_Part`s; None if there is nothing to cut at."""
    num_marks = text.count("...") + text.count("…")
    if num_marks == 0:
        return _cut_before_last_word(text)
    if num_marks > _MAX_MARKS:
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


def _cut_before_last_word(text):
    """As `_cut`, where a single word follows a sentence."""
    found = _BEFORE_LAST_WORD.search(text)
    if not found:
        return None
    word, rest = found["word"], text[found.end() :]
    if word and (rest[0].islower() or _ABBREVIATION.fullmatch(word)):
        return None
    words = text[: found.end()].rstrip()
    if not any(map(str.isalpha, rest)) or not _is_balanced(words):
        return None
    return "", [_Part(words, "", text[len(words) : found.end()]), _Part(rest, "", "")]


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
    """A text with this ellipsis instead of the full stop, or of another ellipsis, at its end."""
    words = text.rstrip(_CLOSING)
    closers = text[len(words) :]
    return words.rstrip(".…。") + ellipsis + closers
