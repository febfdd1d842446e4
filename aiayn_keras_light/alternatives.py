"""Alternatives within a text, such as `he/she` and `file(s)`.

Small models have read few of them, and lose or garble the second word. So the text is translated
with each of the words, and where the translations differ, all of them are written.
"""

import dataclasses
import re

from aiayn_keras_light.placeable_patterns import places_of
from aiayn_keras_light.spaces import UNSPACED_LETTERS
from aiayn_keras_light.text_batches import naming_rows
from aiayn_keras_light.text_parts import begin_alike
from aiayn_keras_light.translating import as_translation

_LETTER = rf"[^\W\d_{UNSPACED_LETTERS}]"
_WORD = rf"{_LETTER}{{2,}}+(?:['’-]{_LETTER}++)*+"
_GROUP = re.compile(
    rf"""(?x)(?<![\w@#$&\\/.'’-])(?:
        (?<!\d[ ]){_WORD}(?:\.?/{_WORD}){{1,3}}+(?![\w@$&\\/'’(=-]|[.:]\w)
      | (?P<stem>{_LETTER}{{2,}}+)\((?P<ending>s|es|en|innen)\)(?![\w(.:]\w|\w)
    )"""
)
"""Not `w/o` and `km/h`, and not after a number, where the slash is that of a rate."""
_SLASH = re.compile(r"\.?/")
_CODE = re.compile(r"[^\W\d_]*[a-z][A-Z]|[A-Z]{2}")
_MANY = re.compile(r"(?:\d[\d.,]|[02-9]) \Z")
"""A number before a word, other than 1."""
_ENDINGS = frozenset(
    (
        *("as", "os", "es", "en", "er", "in", "innen", "euse", "euses", "trice", "trices"),
        *("ne", "nes", "se", "ses", "le", "les"),
    )
)
"""Endings after a slash, such as in `Lehrer/innen`: they are not words of a sentence."""
_TOKEN = re.compile(r"\w+(?:['’-]\w+)*|[^\w\s]")
_MAX_GROUPS = 3
_MAX_WORDS = 8
"""Maximum number of words in which translations may differ; with more, they are rephrased."""


@dataclasses.dataclass(frozen=True)
class _Group:
    """Words that stand for each other at one place of a text.

    Attributes:
        start, end: The place.
        words: List of strings.
        has_ending: True if the second is the first with an ending, which is in brackets.
    """

    start: int
    end: int
    words: list
    has_ending: bool

    def written(self, words):
        """A string with all translations of the group's words."""
        if words[0][:1].islower():
            words = map(begin_alike, self.words, words)
        first, *others = dict.fromkeys(words)
        if self.has_ending and others and others[0].startswith(first):
            return f"{first}({others[0][len(first) :]})"
        return "/".join([first, *others])


@dataclasses.dataclass(frozen=True)
class _Readings:
    """A text with one word of each group.

    Attributes:
        groups: List of `_Group`.
        first: The text with the first word of each group.
        others: For each group, a list of texts that have another word of it.
    """

    groups: list
    first: str
    others: list

    @property
    def texts(self):
        """The other texts of all groups in one list."""
        return [text for texts in self.others for text in texts]

    def joined(self, first, others):
        """The translation with all words; None if the translations differ in too much.

        Args:
            first: Translation of the first text.
            others: Translations of `texts`.
        """
        others, changes = iter(others), []
        for group, texts in zip(self.groups, self.others, strict=True):
            change = _difference(first, [next(others) for _ in texts])
            if change is None:
                return None
            start, end, words = change
            if end:
                changes.append((start, end, group.written(words)))
        last = len(first)
        for start, end, words in sorted(changes, reverse=True):
            if end > last:
                return None
            first, last = f"{first[:start]}{words}{first[end:]}", start
        return first


def _readings(text, pattern):
    """The `_Readings` of a text; None if it has no alternatives."""
    if "/" not in text and "(" not in text:
        return None
    groups = [group for match in _GROUP.finditer(text) if (group := _as_group(match))]
    if not groups:
        return None
    kept = places_of(pattern, text)
    groups = [group for group in groups if not any(kept[group.start : group.end])]
    if not 0 < len(groups) <= _MAX_GROUPS:
        return None

    def read(chosen, word):
        parts, done = [], 0
        for group in groups:
            parts += [text[done : group.start], word if group is chosen else group.words[0]]
            done = group.end
        return "".join([*parts, text[done:]])

    others = [[read(group, word) for word in group.words[1:]] for group in groups]
    return _Readings(groups, read(None, None), others)


def _as_group(match):
    """The `_Group` of a match; None if the match is a code, or has an ending in place of a word."""
    if match["stem"]:
        words = [match["stem"], match["stem"] + match["ending"]]
        if _MANY.search(match.string, 0, match.start()):
            words = words[1:]
    else:
        words = _SLASH.split(match[0])
        is_code = any(map(_CODE.match, words)) and not match.string.isupper()
        if is_code or (len(words[0]) > 3 and not _ENDINGS.isdisjoint(words[1:])):
            return None
    if words[0][0].isupper() and not any(map(str.isalnum, match.string[: match.start()])):
        words = [word[0].upper() + word[1:] for word in words]
    return _Group(*match.span(), words, match["stem"] is not None)


def _difference(first, others):
    """The place where a string differs from others, and the words of each there.

    Returns:
        Tuple of start and end in the first string, both 0 if all are equal, and a list of strings;
        None if there are too many words.
    """
    tokens = [list(_TOKEN.finditer(text)) for text in (first, *others)]
    words = [[token[0] for token in each] for each in tokens]
    shortest = min(map(len, words))
    before = _num_equal(words, shortest)
    if all(len(each) == before for each in words):
        return 0, 0, []
    after = _num_equal([each[::-1] for each in words], shortest - before)
    if before + after == shortest:  # the shortest text has no words of its own
        before, after = (before - 1, after) if before else (before, after - 1)
    if after < 0 or max(map(len, words)) - before - after > _MAX_WORDS:
        return None
    spans = [(each[before].start(), each[len(each) - after - 1].end()) for each in tokens]
    texts = zip((first, *others), spans, strict=True)
    return *spans[0], [text[start:end] for text, (start, end) in texts]


def _num_equal(words, most):
    """The number of words, at most `most`, that some lists have in common at their beginning."""
    for number, each in enumerate(zip(*words, strict=False)):
        if number == most or len(set(each)) > 1:
            return number
    return most


def translate_alternatives(texts, translate, pattern, progress):
    """Translates texts, and those with alternatives once for each of the words.

    Args:
        texts: List of strings.
        translate: Function of a list of strings and of `progress` that gives a `Translation` for
            each, or None.
        pattern: Compiled pattern of placeables, in which nothing is changed.
        progress: See `TransformerSeq2SeqLM.translate`.

    Returns:
        List of `Translation`, or None. A text with alternatives has one hypothesis, with the
        scores of the text with the first words.

    Raises:
        TextError: As `translate`, with the place of the text in `texts`.
    """
    readings = {row: found for row, text in enumerate(texts) if (found := _readings(text, pattern))}
    first = [readings[row].first if row in readings else text for row, text in enumerate(texts)]
    found = translate(first, progress)
    rows = [row for row, each in readings.items() for _ in each.texts]
    others = [text for each in readings.values() for text in each.texts]
    others = iter(_translate_rows(others, rows, translate))
    failed = []
    for row, each in readings.items():
        translations = [found[row], *(next(others) for _ in each.texts)]
        text = each.joined(*_texts(translations)) if all(translations) else None
        if text is None:
            failed.append(row)
        else:
            found[row] = as_translation([dataclasses.replace(found[row].hypotheses[0], text=text)])
    again = _translate_rows([texts[row] for row in failed], failed, translate)
    for row, translation in zip(failed, again, strict=True):
        found[row] = translation
    return found


def _texts(translations):
    first, *others = (each.text for each in translations)
    return first, others


def _translate_rows(texts, rows, translate):
    if not texts:
        return []
    with naming_rows(rows):
        return translate(texts, None)
