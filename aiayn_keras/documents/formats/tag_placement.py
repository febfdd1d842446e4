"""Tags of a source sentence in its translation: around the words that look at the marked words.

Wordpieces are joined into words. Each word of the translation belongs to the word of the source
that it looks at most, summed over its wordpieces.
"""

import re
from dataclasses import dataclass

import numpy as np

from aiayn_keras.documents.formats.units import Kind

MAX_TAGS = 64
"""Maximum number of tags in a sentence; with more, the search takes too long."""

_WORD_BEGINS = "\u2581"
_PUNCTUATION = re.compile(r"[^\w\s]*")


@dataclass(frozen=True)
class Tag:
    """A `Mark` that opens or closes, and its place in the sentence in characters."""

    place: int
    mark: object


@dataclass(frozen=True)
class _Stretch:
    """Marked characters `start` to `end` of a sentence, with their tags."""

    start: int
    end: int
    opening: object
    closing: object


def place_tags(source, translation, tags):
    """Finds the places of tags in a translation.

    Args:
        source: The sentence without tags.
        translation: Its `Translation`, with an alignment.
        tags: List of `Tag`s, in order.

    Returns:
        List of pairs of a place in the translation and a mark, in order; None if a tag has no
        partner or marks a part of a word, or if the words that look at the marked ones are not
        side by side.
    """
    stretches = _pairs(tags) if len(tags) <= MAX_TAGS else None
    if stretches is None or translation.alignment is None:
        return None
    source_words = [match.span() for match in re.finditer(r"\S+", source)]
    target_words = [match.span() for match in re.finditer(r"\S+", translation.text)]
    looks_at = _word_alignment(translation, len(source_words), len(target_words))
    if looks_at is None:
        return None
    spans = []
    for stretch in stretches:
        words = _marked_words(source, source_words, stretch)
        places = [n for n, at in enumerate(looks_at) if words is not None and at in words]
        if not places or places != list(range(places[0], places[-1] + 1)):
            return None
        start, end = target_words[places[0]][0], target_words[places[-1]][1]
        spans.append(_without_marks(translation.text, start, end, source, stretch))
    if not _is_nested(stretches, spans):
        return None
    return _in_order(stretches, spans)


def _pairs(tags):
    """The stretches between tags, outer ones first; None if a tag has no partner."""
    open_tags, stretches = [], {}
    for number, tag in enumerate(tags):
        if tag.mark.kind == Kind.OPEN:
            open_tags.append((number, tag))
        elif open_tags and open_tags[-1][1].mark.name == tag.mark.name:
            first_number, first = open_tags.pop()
            stretches[first_number] = _Stretch(first.place, tag.place, first.mark, tag.mark)
        else:
            return None
    if open_tags or any(each.start == each.end for each in stretches.values()):
        return None
    return [stretches[number] for number in sorted(stretches)]


def _word_alignment(translation, num_source, num_target):
    """The source word that each word of the translation looks at most; None if words differ."""
    source = _words_of_pieces(translation.source_tokens)
    target = _words_of_pieces(translation.tokens)
    num_columns = len(translation.source_tokens)
    if translation.source_tokens[-1] == "</s>":
        num_columns -= 1
    if not target or source[num_columns - 1] + 1 != num_source or target[-1] + 1 != num_target:
        return None
    weights = np.zeros((num_target, num_source))
    for row, word in enumerate(target):
        for column in range(num_columns):
            weights[word, source[column]] += translation.alignment[row, column]
    return weights.argmax(axis=1).tolist()


def _words_of_pieces(pieces):
    """The number of the word that each piece belongs to."""
    number, numbers = -1, []
    for piece in pieces:
        number += piece.startswith(_WORD_BEGINS) or number < 0
        numbers.append(number)
    return numbers


def _marked_words(source, words, stretch):
    """Numbers of the words that a stretch marks; None if it marks a part of one."""
    inside = [n for n, (a, b) in enumerate(words) if a < stretch.end and b > stretch.start]
    if not inside:
        return None
    outside = (
        source[words[inside[0]][0] : stretch.start] + source[stretch.end : words[inside[-1]][1]]
    )
    return None if any(map(str.isalnum, outside)) else range(inside[0], inside[-1] + 1)


def _without_marks(text, start, end, source, stretch):
    """A span of a translation without punctuation at its ends, unless the source has some there.

    Punctuation that follows the source's span stays outside: the full stop of `<b>"Tea"</b>.`
    """
    if source[stretch.start : stretch.end].strip()[:1].isalnum():
        while start < end - 1 and not text[start].isalnum():
            start += 1
    if source[stretch.start : stretch.end].strip()[-1:].isalnum():
        while end > start + 1 and not text[end - 1].isalnum():
            end -= 1
    behind = _PUNCTUATION.match(source, stretch.end)[0]
    if behind and text[start:end].endswith(behind):
        end -= len(behind)
    return start, end


def _is_nested(stretches, spans):
    """True if spans contain each other exactly as their stretches do."""
    for n, (a, b) in enumerate(spans):
        for m, (c, d) in enumerate(spans[n + 1 :], start=n + 1):
            inner = stretches[m].end <= stretches[n].end
            if not ((a <= c and d <= b) if inner else (b <= c or d <= a)):
                return False
    return True


def _in_order(stretches, spans):
    """Pairs of place and mark; closing ones first, inner before outer."""
    opening = [(start, each.opening) for each, (start, _) in zip(stretches, spans, strict=True)]
    closing = [(end, each.closing) for each, (_, end) in zip(stretches, spans, strict=True)]
    ordered = [*((place, 0, mark) for place, mark in reversed(closing))]
    ordered += [(place, 1, mark) for place, mark in opening]
    return [(place, mark) for place, _, mark in sorted(ordered, key=lambda each: each[:2])]
