"""Acronyms and names such as `WhatsApp` that a model loses, because it never read them.

Small models write common words for letters that they do not know: `my PC` became `mi trozo` ("my
piece"). They do know translations of some acronyms (`TV`, `UFO`), and words that are in capitals
for emphasis (`NEVER`). So a text with a capital word that is not in its translation is translated
twice more: with a letter in place of the word, and with the word in lower case. One of these
translations is used if the model finds it much more probable than the first.
"""

import dataclasses
import operator
import re
from collections import Counter
from typing import NamedTuple

from aiayn_keras_light.spaces import spaced_from_latin
from aiayn_keras_light.text_batches import naming_rows
from aiayn_keras_light.translating import as_translation

_WORD = re.compile(
    r"(?<![\w.&/@#\-])(?:(?:[^\W\d_]{1,2}\.){2,}|[^\W_]+(?:-[^\W_]+)*)(?![\w&/@#\-]|\.\w)"
)
_WITH_POINTS = re.compile(r"(?<![\w.])(?:U\.[KN]|E\.U)\.(?=\s*\Z|\s+[a-z]|[,;:!?'’])")
"""Unions as newspapers write them (`E.U.`), unless the text goes on with a new sentence.

`U.S.` is not among them, since models read `US` as a pronoun.
"""
MIN_GAIN = 0.3
"""How much more probable the second translation must be, in nats of normalized score."""
_MIN_SCORE_OF_KNOWN = -1.25
"""If a word's own translation has a higher normalized score, the model knows the word."""
_MALUS = 0.7
"""Subtracted, in nats, from the score of a reading with letters for known words, since copying is
easier than translating."""
_MIN_SCORE_ALONE = -1.75
"""A text that is just an acronym stays as it is if its translation's normalized score is lower."""
_MIN_WORD = 4
"""Minimum length of a word that is also tried in lower case if the model does not know it."""
_MAX_WORDS = 8


def translate_acronyms(texts, translate, letters, progress=None):
    """Translates texts, and keeps acronyms that the model would lose.

    Args:
        texts: List of strings.
        translate: As in `translate_placeables`; None for a text without a translation.
        letters: Letters that the model copies, to stand for acronyms.
        progress: As in `translate_placeables`.

    Returns:
        List of `Translation`.

    Raises:
        TextError: As `translate`, with the place of the text in `texts`.
    """
    texts = [without_points(text) for text in texts]
    found = translate(texts, progress)
    lost = {
        row: words
        for row, (text, each) in enumerate(zip(texts, found, strict=True))
        if each and (words := lost_acronyms(text, each.text))
    }
    known = known_words({word for words in lost.values() for word in words}, translate)
    again = []
    for row, words in lost.items():
        first, second = _readings(texts[row], words, known, letters)
        if first.text == texts[row]:
            continue
        if any(map(str.isalpha, first.text.translate(dict.fromkeys(map(ord, first.stand_ins))))):
            again += [(row, first), *([(row, second)] if second.text != first.text else [])]
        elif first.stand_ins and (
            found[row].normalized_score < _MIN_SCORE_ALONE or all(map(_is_name, words))
        ):
            found[row] = _with_text(found[row].hypotheses, lambda _, own=texts[row]: own)
    with naming_rows([row for row, _ in again]):
        translations = translate([each.text for _, each in again], None) if again else []
    candidates = {}
    for (row, reading), translation in zip(again, translations, strict=True):
        translation = translation and _restored(translation, reading.stand_ins)
        if translation:
            score = translation.normalized_score - reading.malus
            candidates.setdefault(row, []).append((score, translation))
    for row, scored in candidates.items():
        score, translation = max(scored, key=operator.itemgetter(0))
        if score > found[row].normalized_score + MIN_GAIN:
            found[row] = translation
    return found


def without_points(text, is_end=True):
    """A text with `EU` for `E.U.`, which models have read more often.

    Args:
        text: A string.
        is_end: Whether a sentence ends with the text; then the last point stays.

    Returns:
        A string.
    """

    def letters(match):
        ends_sentence = is_end and match.start() and match.end() == len(text.rstrip())
        return match[0].replace(".", "") + ("." if ends_sentence else "")

    return _WITH_POINTS.sub(letters, text)


class _Reading(NamedTuple):
    """A text as the model reads it again.

    Attributes:
        text: The text with letters for acronyms, or with words in lower case.
        stand_ins: Dictionary from a letter to its acronym.
        malus: Subtracted from the score of its translation, in nats.
    """

    text: str
    stand_ins: dict
    malus: float = 0.0


def _readings(text, words, known, letters):
    """The two readings of a text: with letters for unknown words, and with letters for all.

    If no word is known, the second reading has all long words in lower case instead.
    """
    known = {word: known[word] for word in words if word in known}
    opposite = {word: word.lower() for word in words if len(word) >= _MIN_WORD and not known}
    first, second = (_Reading(*_masked(text, words, each, letters)) for each in (known, opposite))
    return first, second._replace(malus=_MALUS if known else 0.0)


def lost_acronyms(text, translation):
    """Tuple of the capital words of a text that its translation lacks.

    It is empty if more than half of the words of the text are in capitals. A new capital word with
    the same letters, or one more, is taken for the translation of an acronym: `ONU` for `UN`,
    `OTAN` for `NATO`.
    """
    words = [match[0] for match in _WORD.finditer(spaced_from_latin(text))]
    capitals = [word for word in words if _is_capital(word)]
    if not capitals or len(capitals) > _MAX_WORDS or 1 < len(words) < 2 * len(capitals):
        return ()
    translation = spaced_from_latin(translation)
    written = {match[0] for match in _WORD.finditer(translation) if _is_capital(match[0])}
    new = written.difference(capitals)
    return tuple(
        word
        for word in dict.fromkeys(capitals)
        if not re.search(rf"(?<!\w){re.escape(_singular(word))}(?![^\W\d_])", translation)
        and not any(_is_rearranged(word, other) for other in new)
    )


def _is_rearranged(word, other):
    """Returns whether an acronym has the letters of another, and at most one more."""
    letters, others = Counter(word), Counter(other)
    return letters <= others and others.total() <= letters.total() + 1


def _is_capital(word):
    """Returns whether a word has two capital letters: `UN`, `CDs`, `U.S.`, `USB-C`, `PayPal`."""
    first, *others = word.split("-")
    letters = [letter for letter in first if letter.isalpha()]
    return (
        sum(map(str.isupper, letters)) > 1
        and all(letter.isupper() or letter.islower() for letter in letters)
        and all(other.isdecimal() or other.isupper() for other in others)
    )


def _is_name(word):
    """Returns whether a word is a name such as `PayPal`, whose capitals are not for emphasis."""
    return len(word) > 4 and re.search(r"[a-z][A-Z]", word) is not None


def _singular(word):
    return word.removesuffix("s") if word[:-1].isupper() else word


def acronyms_in(text, words):
    """Matches of some acronyms in a text."""
    return [match for match in _WORD.finditer(spaced_from_latin(text)) if match[0] in words]


def known_words(words, translate):
    """Finds the words that the model can translate if they are in lower case.

    Args:
        words: Set of words in capitals.
        translate: As in `translate_placeables`.

    Returns:
        Dictionary from a word to how the model reads it: in lower case or, if it is the same in
        the translation, as it is.
    """
    words = sorted(word for word in words if not _is_name(word))
    small = [word.lower() for word in words]
    translations = translate(small, None) if small else []
    return {
        word: word if each.text.lower().strip(".") == other.strip(".") else other
        for word, other, each in zip(words, small, translations, strict=True)
        if each and each.normalized_score > _MIN_SCORE_OF_KNOWN
    }


def _masked(text, words, known, letters):
    """A text with letters for words, or with the words in lower case if they are known.

    Returns:
        The text, and a dictionary from a letter to its word.
    """
    unused = (letter for letter in letters if letter not in text)
    pieces, stand_ins, done = [], {}, 0
    for match in acronyms_in(text, words):
        word = match[0]
        piece = known.get(word) or next(unused, word)
        if word not in known and piece != word:
            stand_ins[piece] = word
        pieces += [text[done : match.start()], piece]
        done = match.end()
    return "".join([*pieces, text[done:]]), stand_ins


def _restored(translation, stand_ins):
    """A `Translation` of the hypotheses that have each letter once; None if none has."""
    kept = [
        each
        for each in translation.hypotheses
        if all(each.text.count(letter) == 1 for letter in stand_ins)
    ]

    def fill(text):
        for letter, word in stand_ins.items():
            if word.endswith("."):  # L.A. at the end of a sentence
                text = text.replace(f"{letter}.", letter)
            text = text.replace(letter, word)
        return text

    return _with_text(kept, fill) if kept else None


def _with_text(hypotheses, change):
    return as_translation(
        [dataclasses.replace(each, text=change(each.text)) for each in hypotheses]
    )
