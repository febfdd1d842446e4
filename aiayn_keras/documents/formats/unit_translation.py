"""Translates units: marks are taken out of the sentences, and put into the translations.

| mark inside a sentence | what happens to it |
|---|---|
| a word (placeholder, URL, code) | a stand-in is translated with the sentence |
| a pair of tags | goes around the words that look at its words most, by the model's attention |

The first stand-in is a foreign letter, which the models of this package copy; around it they write
better sentences than around a number. If it does not come back exactly once, a number is tried. If
that fails, too, or the words between tags are not side by side, the sentence is cut at its marks
and the texts between them are translated alone. So marks are never lost or altered. If a sentence
with tags loses a number or an acronym, it is translated once more with a stand-in for that, too.
"""

import bisect
import itertools
import re
from dataclasses import dataclass, replace

from aiayn_keras.documents.formats.tag_placement import MAX_TAGS, Tag, place_tags
from aiayn_keras.documents.formats.units import INDICES, Kind, Mark, joined
from aiayn_keras.documents.splitting import join_strings
from aiayn_keras_light.acronyms import (
    MIN_GAIN,
    acronyms_in,
    known_words,
    lost_acronyms,
    without_points,
)
from aiayn_keras_light.lost_numbers import lost_numbers, words_of_numbers
from aiayn_keras_light.placeables import (
    CLOCK_TIMES,
    LETTERS,
    without_signs,
)
from aiayn_keras_light.text_files import without_breaks
from aiayn_keras_light.text_parts import begin_alike, with_last_ellipsis

_FIRST_NUMBER = 7001
_WORD = re.compile(r"(?<![\w'’-])(?=[\w'’-]{4})[^\W\d_]+(?:['’-][^\W\d_]+)*(?!\w)")
"""A word that is long enough not to be a symbol, such as the T of `T<i>x</i>`."""


@dataclass(frozen=True)
class _Placed:
    """A mark in the flat text of its unit: it stands for `text[start:end]`."""

    start: int
    end: int
    mark: object


@dataclass(frozen=True)
class _Sentence:
    """A sentence of a unit, with marks whose places are counted from its beginning."""

    text: str
    marks: tuple
    encode: object

    @property
    def tags(self):
        return [each for each in self.marks if each.mark.kind in (Kind.OPEN, Kind.CLOSE)]

    @property
    def words(self):
        return [each for each in self.marks if each.mark.kind == Kind.WORD]

    def with_kept(self, numbers, acronyms):
        """The sentence with numbers and acronyms as kept words, if no mark divides them."""
        marks = list(self.marks)
        kept = [*words_of_numbers(self.text, numbers), *acronyms_in(self.text, acronyms)]
        for match in kept:
            start, end = match.span()
            if all(each.end <= start or each.start >= end for each in marks):
                marks.append(_Placed(start, end, Mark(self.encode(match[0]), Kind.WORD)))
        marks.sort(key=lambda each: (each.start, each.end))
        return replace(self, marks=tuple(marks))

    def with_letters(self):
        """The sentence with letters or times, not numbers, as the stand-ins of its words.

        If there are more words than letters, the rest keep their numbers.
        """
        letters = (letter for letter in LETTERS if letter not in self.text)
        times = (time for time in CLOCK_TIMES if time not in self.text)
        pieces, marks, done, shift = [], [], 0, 0
        for each in self.marks:
            stand_in = number = self.text[each.start : each.end]
            if each.mark.kind == Kind.WORD:
                stand_in = next(times if each.mark.name == "clock" else letters, number)
            pieces += [self.text[done : each.start], stand_in]
            start = each.start + shift
            marks.append(_Placed(start, start + len(stand_in), each.mark))
            shift += len(stand_in) - len(number)
            done = each.end
        return _Sentence("".join([*pieces, self.text[done:]]), tuple(marks), self.encode)


def translate_units(units, split, translate):
    """Translates units.

    Args:
        units: List of `Unit`s.
        split: Function of a list of texts that gives a pair for each, its separators and sentences,
            as `split_strings`.
        translate: Function of a list of sentences, and of whether their alignments are wanted, that
            gives a list of `Translation`.

    Returns:
        List of the units' translations, encoded, with their marks.
    """
    units = [
        replace(unit, parts=_without_points(joined(unit.parts, unit.encode))) for unit in units
    ]
    flat = [_flatten(unit) for unit in units]
    rows = []  # for each unit, kept parts and sentences in turn
    for unit, (text, marks), (separators, found) in zip(
        units, flat, split([text for text, _ in flat]), strict=True
    ):
        rows.append(_as_row(text, marks, separators, found, unit.encode))
    sentences = [each for row in rows for each in row if isinstance(each, _Sentence)]
    results, lost = _translate_whole([each.with_letters() for each in sentences], translate)
    for n, result in _with_lost_words(sentences, lost, translate):
        results[n] = result or results[n]
    _fill(
        results,
        [n for n, result in enumerate(results) if result is None and sentences[n].words],
        lambda failed: _translate_whole([sentences[n] for n in failed], translate)[0],
    )
    _fill(
        results,
        [n for n, result in enumerate(results) if result is None],
        lambda failed: _translate_in_pieces([sentences[n] for n in failed], split, translate),
    )
    remaining = iter(results)
    # In a row, kept parts and sentences take turns; it begins and ends with a kept part.
    return [
        join_strings(
            row[::2], [each.text for each in row[1::2]], [next(remaining) for _ in row[1::2]]
        )
        for row in rows
    ]


@dataclass(frozen=True)
class _Lost:
    """The words that the translation of a sentence with tags lacks.

    Attributes:
        score: The translation's normalized score.
        numbers: Set of numbers.
        acronyms: Tuple of acronyms.
    """

    score: float
    numbers: frozenset
    acronyms: tuple


def _translate_whole(sentences, translate):
    """Translates sentences with their marks.

    Returns:
        List of translations, None if no places were found for the marks; and a dictionary from
        the rows of sentences with tags to a `_Lost`.
    """
    translations = [None] * len(sentences)
    for has_tags in (True, False):
        _fill(
            translations,
            [n for n, each in enumerate(sentences) if bool(each.tags) == has_tags],
            lambda rows, has_tags=has_tags: translate([sentences[n].text for n in rows], has_tags),
        )
    lost = {}
    for row, (sentence, found) in enumerate(zip(sentences, translations, strict=True)):
        if sentence.tags:
            numbers = lost_numbers(sentence.text, found.text)
            acronyms = lost_acronyms(sentence.text, found.text)
            lost[row] = _Lost(found.normalized_score, numbers, acronyms)
            text = with_last_ellipsis(sentence.text, found.text)
            translations[row] = replace(found, text=text)
    return list(map(_insert_marks, sentences, translations)), lost


def _with_lost_words(sentences, lost, translate):
    """Translates sentences with tags once more, with letters for what was lost.

    For sentences without tags, `translate` does this itself.

    Yields:
        The number of each such sentence, and its new translation, or None if it is not better.
    """
    acronyms = {word for each in lost.values() for word in each.acronyms}
    known = known_words(acronyms, lambda texts, _: translate(texts, False))
    kept = {}
    for row, each in lost.items():
        words = [word for word in each.acronyms if word not in known]
        if words or each.numbers:
            kept[row] = sentences[row].with_kept(each.numbers, words).with_letters()
    results, still_lost = _translate_whole(list(kept.values()), translate)
    for place, row in enumerate(kept):
        first, second = lost[row], still_lost[place]
        is_better = first.numbers or second.score > first.score + MIN_GAIN
        yield row, results[place] if is_better and not second.numbers else None


def _fill(results, places, translate):
    """Replaces the items at some places of a list by what a function returns for these places."""
    for place, result in zip(places, translate(places), strict=True):
        results[place] = result


def _without_points(parts):
    return tuple(
        without_points(part, place == len(parts)) if isinstance(part, str) else part
        for place, part in enumerate(parts, 1)
    )


def _flatten(unit):
    """The text of a unit, with numbers for words, line breaks for breaks and nothing for tags."""
    texts = [part for part in unit.parts if isinstance(part, str)]
    used = {number for text in texts for number in re.findall(r"\d+", text)}
    numbers = (str(n) for n in itertools.count(_FIRST_NUMBER) if str(n) not in used)
    pieces, marks, length = [], [], 0
    for part in unit.parts:
        piece = part
        if not isinstance(part, str):
            stand_ins = {Kind.WORD: lambda: next(numbers), Kind.BREAK: lambda: "\n"}
            piece = stand_ins.get(part.kind, str)()
            marks.append(_Placed(length, length + len(piece), part))
        pieces.append(piece)
        length += len(piece)
    return "".join(pieces), marks


def _as_row(text, marks, separators, sentences, encode):
    row, done = [], 0
    partners = _partners(marks)
    for separator, sentence in zip(separators, [*sentences, ""], strict=True):
        start = done + len(separator)
        row.append((done, start))
        if sentence:
            row.append((start, start + len(sentence)))
        done = start + len(sentence)
    owners = {}  # tags at the ends of sentences that belong to the sentence
    for start, end in row[1::2]:
        for each in _between(marks, start, end):
            if _is_inside(each, partners, start, end):
                owners[id(each)] = start
    result = []
    for number, (start, end) in enumerate(row):
        if number % 2 == 0:
            inside = [m for m in _between(marks, start, end) if id(m) not in owners]
            result.append(_render(text, inside, start, end, encode))
        else:
            inside = tuple(
                _Placed(m.start - start, m.end - start, m.mark)
                for m in _between(marks, start, end)
                if owners.get(id(m)) == start
            )
            sentence = text[start:end]
            result.append(_Sentence(sentence, _around_words(sentence, inside), encode))
    return result


def _around_words(text, marks):
    """Moves tags that enclose part of a word, as in `<b>F</b>ile`, to the ends of the word.

    They stay where they are if other tags are in the same word, or if they mark an index.
    """
    if len(marks) > MAX_TAGS:
        return marks
    partners, moved = _partners(marks), {}
    words = [match.span() for match in _WORD.finditer(text)] if partners else ()
    for first in marks:
        last = partners.get(id(first))
        if first.mark.kind != Kind.OPEN or last is None or first.mark.name in INDICES:
            continue
        start = next((a for a, b in words if a < first.start < b), first.start)
        end = next((b for a, b in words if a < last.start < b), last.start)
        if not any(
            start <= each.start <= first.start or last.start <= each.start <= end
            for each in marks
            if each is not first and each is not last
        ):
            moved[id(first)] = replace(first, start=start, end=start)
            moved[id(last)] = replace(last, start=end, end=end)
    return tuple(moved.get(id(each), each) for each in marks)


def _partners(marks):
    """Dictionary from the `id` of each tag to the opening or closing tag that belongs to it."""
    open_tags, partners = [], {}
    for each in marks:
        if each.mark.kind == Kind.OPEN:
            open_tags.append(each)
        elif open_tags and (Kind.CLOSE, open_tags[-1].mark.name) == (
            each.mark.kind,
            each.mark.name,
        ):
            first = open_tags.pop()
            partners[id(first)], partners[id(each)] = each, first
    return partners


def _is_inside(mark, partners, start, end):
    """True if a mark belongs to the sentence from `start` to `end`, not to the text around it."""
    if mark.start < mark.end or start < mark.start < end:
        return True
    partner = partners.get(id(mark))
    return partner is not None and start < partner.start < end


def _between(marks, start, end):
    """The marks, in their order, that are between two places or at one of them."""
    first = bisect.bisect_left(marks, start, key=lambda each: each.start)
    last = bisect.bisect_right(marks, end, key=lambda each: each.start)
    return [each for each in marks[first:last] if each.end <= end]


def _render(text, marks, start, end, encode):
    pieces, done = [], start
    for each in marks:
        if start <= each.start and each.end <= end:
            pieces += [encode(text[done : each.start]), each.mark.raw]
            done = each.end
    return "".join([*pieces, encode(text[done:end])])


def _insert_marks(sentence, translation):
    """A translated sentence with its marks; None if they do not all find their places."""
    text, words = without_breaks(translation.text), []
    for each in sentence.marks:
        if each.mark.kind in (Kind.CUT, Kind.BREAK):
            return None
        if each.mark.kind == Kind.WORD:
            stand_in = sentence.text[each.start : each.end]
            found = [m.span() for m in re.finditer(rf"(?<!\d){stand_in}(?!\d)", text)]
            if len(found) != 1:
                return None
            words.append(_Placed(*found[0], each.mark))
    places = []
    if sentence.tags:
        tags = [Tag(each.start, each.mark) for each in sentence.tags]
        placed = place_tags(sentence.text, translation, tags)
        if placed is None:
            return None
        places = [_Placed(place, place, mark) for place, mark in placed]
    # A stable order: tags at one place stay as they were placed; a closing one comes before a word.
    marks = sorted([*places, *words], key=lambda each: (each.start, each.end))
    if any(a.end > b.start for a, b in itertools.pairwise(marks)):
        return None
    return _render(text, marks, 0, len(text), sentence.encode)


def _translate_in_pieces(sentences, split, translate):
    """Translates the texts between the marks of sentences alone."""
    cut = [_cut(sentence) for sentence in sentences]
    found = split([piece for pieces in cut for piece in pieces if isinstance(piece, str)])
    texts = [each for _, part in found for each in part]
    translated = [
        begin_alike(source, without_breaks(translation.text))
        for source, translation in zip(texts, translate(texts, False), strict=True)
    ]
    remaining = iter(translated)
    joined = iter(
        join_strings(separators, part, list(itertools.islice(remaining, len(part))))
        for separators, part in found
    )
    return [
        "".join(
            sentence.encode(next(joined)) if isinstance(piece, str) else piece.raw
            for piece in pieces
        )
        for sentence, pieces in zip(sentences, cut, strict=True)
    ]


def _cut(sentence):
    """The texts between the marks of a sentence, and what is kept: marks, and signs beside them."""
    pieces, done = [], 0
    for each in (*sentence.marks, None):
        end = len(sentence.text) if each is None else each.start
        first, text, last = without_signs(sentence.text[done:end])
        pieces += [Mark(sentence.encode(first), Kind.CUT), text]
        pieces += [Mark(sentence.encode(last), Kind.CUT), *([] if each is None else [each.mark])]
        done = end if each is None else each.end
    return [piece for piece in pieces if piece != ""]
