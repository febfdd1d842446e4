"""Acronyms and names such as `WhatsApp` that a model loses, because it never read them.

Small models write common words for letters that they do not know: `my PC` becomes a piece of
something. They do know some acronyms by their translations (`TV`, `UFO`), and words in capitals for
emphasis (`NEVER`). So a text is translated again with a letter for each capital word that is not in
its translation, or with the word in small letters if the model knows that, and the second
translation is taken if the model thinks it much more probable.
"""

import dataclasses
import re

from aiayn_keras_light.scripts import spaced_from_latin
from aiayn_keras_light.translating import as_translation

_WORD = re.compile(
    r"(?<![\w.&/@#\-])(?:(?:[^\W\d_]{1,2}\.){2,}|[^\W_]+(?:-[^\W_]+)*)(?![\w&/@#\-]|\.\w)"
)
MIN_GAIN = 0.3
"""How much more probable the second translation must be, in nats of normalized score."""
_MIN_SCORE_OF_KNOWN = -1.25
"""Normalized score from which on the translation of a word alone shows that it is known."""
_MIN_SCORE_ALONE = -1.75
"""Normalized score below which an acronym is its own translation if it is a whole text."""
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
    """
    found = translate(texts, progress)
    lost = {
        row: words
        for row, (text, each) in enumerate(zip(texts, found, strict=True))
        if each and (words := lost_acronyms(text, each.text))
    }
    known = known_words({word for words in lost.values() for word in words}, translate)
    again = {}
    for row, words in lost.items():
        masked, stand_ins = _masked(texts[row], words, known, letters)
        if masked == texts[row]:
            continue
        if any(map(str.isalpha, masked.translate(dict.fromkeys(map(ord, stand_ins))))):
            again[row] = masked, stand_ins
        elif stand_ins and found[row].normalized_score < _MIN_SCORE_ALONE:
            found[row] = _with_text(found[row].hypotheses, lambda _, own=texts[row]: own)
    others = translate([masked for masked, _ in again.values()], None) if again else []
    for (row, (_, stand_ins)), other in zip(again.items(), others, strict=True):
        other = other and _restored(other, stand_ins)
        if other and other.normalized_score > found[row].normalized_score + MIN_GAIN:
            found[row] = other
    return found


def lost_acronyms(text, translation):
    """Tuple of the capital words of a text that its translation lacks.

    It is empty if more than half of the words of the text are in capitals.
    """
    words = [match[0] for match in _WORD.finditer(spaced_from_latin(text))]
    capitals = [word for word in words if _is_capital(word)]
    if not capitals or len(capitals) > _MAX_WORDS or 1 < len(words) < 2 * len(capitals):
        return ()
    translation = spaced_from_latin(translation)
    return tuple(
        word
        for word in dict.fromkeys(capitals)
        if not re.search(rf"(?<!\w){re.escape(_singular(word))}(?![^\W\d_])", translation)
    )


def _is_capital(word):
    """Returns whether a word has two capital letters: `UN`, `CDs`, `U.S.`, `USB-C`, `PayPal`."""
    first, *others = word.split("-")
    letters = [letter for letter in first if letter.isalpha()]
    return (
        sum(map(str.isupper, letters)) > 1
        and all(letter.isupper() or letter.islower() for letter in letters)
        and all(other.isdecimal() or other.isupper() for other in others)
    )


def _singular(word):
    return word.removesuffix("s") if word[:-1].isupper() else word


def acronyms_in(text, words):
    """Matches of some acronyms in a text."""
    return [match for match in _WORD.finditer(spaced_from_latin(text)) if match[0] in words]


def known_words(words, translate):
    """Finds the words that the model can translate if they are in small letters.

    Args:
        words: Set of words in capitals.
        translate: As in `translate_placeables`.

    Returns:
        Dictionary from a word to how the model reads it: in small letters or, if it is the same in
        the translation, as it is.
    """
    words = sorted(words)
    small = [word.lower() for word in words]
    translations = translate(small, None) if small else []
    return {
        word: word if each.text.lower().strip(".") == other.strip(".") else other
        for word, other, each in zip(words, small, translations, strict=True)
        if each and each.normalized_score > _MIN_SCORE_OF_KNOWN
    }


def _masked(text, words, known, letters):
    """A text with letters for words, or with the words in small letters if they are known.

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
