"""Words of a text as models have read them: letters for HTML entities, and months in full.

Models that have read sentences, but no letterheads, take `Jun 3` for the third of July. Months are
written out in English, so only in texts that are in English: a model may read any language.
"""

import html
import re

from aiayn_keras_light.placeable_patterns import places_of
from aiayn_keras_light.spaces import with_spaces

_ENTITY = re.compile(
    r"(?<=[^\W\d_])&(?:[A-Za-z][A-Za-z0-9]*|\#\d+|\#x[0-9A-Fa-f]+);|"
    r"&(?:[A-Za-z][A-Za-z0-9]*|\#\d+|\#x[0-9A-Fa-f]+);(?=[^\W\d_])"
)
"""An HTML entity beside a letter."""
_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August"),
    *("September", "October", "November", "December"),
)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_WHOLE = {name[:3]: name for name in (*_MONTHS, *_DAYS)}
_WEEKDAY = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_MONTH = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)"
_ROMANCE_MONTH = (
    r"(?:ene|gen|janv?|f[eé][bv]|mars?|a[bpv]r|ma[giy]|jui|jun|giu|jul|lug|ago|ao|se[pt]|oct|ott|nov|dic|"
    r"d[eé]c)[a-zéû]*"
)
"""Beginnings of months in French, Italian and Spanish, where `Mar` is Tuesday."""
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_DATE = re.compile(
    rf"""(?x)(?<![\w./-])(?<!\d\.[ ])(?:
        (?!Mar\.?[ ]\d\d?[ ](?:de|{_ROMANCE_MONTH})\b)                    # Mar 3 juin, a Tuesday
        (?P<month>{_MONTH})\b\.?(?=[ ](?:{_DAY}|\d{{4}})(?![\w/]|[:.-]\d|[ ]\d\d?:\d\d:))
      | (?P<day>{_WEEKDAY})\.?
        (?=,?[ ](?:{_MONTH}[a-z]*\.?[ ]{_DAY}(?![ ]\d\d?:\d\d:)|{_DAY}[ ]{_MONTH}))
      | (?:(?<=\d[ ])|(?<=\d(?:st|nd|rd|th)[ ]))(?P<behind>{_MONTH})(?![\w-]|[ ]\d{{4}}[ ]\d\d:)
        (?:\.(?=,|[ ]\d))?
    )"""
)
"""An abbreviated month beside its day or year, and an abbreviated day of the week before them."""
_ENGLISH_FORM = re.compile(
    rf"\d(?:st|nd|rd|th)\b|\b{_WEEKDAY}\b\.?,? (?:\d|{_MONTH})"
    rf"|(?!Jan|Mar)\b{_MONTH}\b\.? \d\d?(?!\d)"
)
"""Ordinals, days of the week, and months before days, in forms that only English has. `Jan 5` and
`Mar 3` are not among them: Jan is also a Dutch name, and Mar is Tuesday in Spanish."""
_ENGLISH_WORDS = (
    "the and with from that this these they them it its you your our she his were would could "
    "should which what when where who until before after between every since because there not "
    "today tomorrow yesterday noon born"
)
_ENGLISH = frozenset(_ENGLISH_WORDS.split())
"""Words that are hardly ever words of other languages in Latin letters."""
_SHARED = {
    **{"a": "es fr it pt pl", "an": "de", "are": "ro", "as": "fr pt", "at": "da no", "be": "da"},
    **{"but": "es fr", "by": "cs da no pl sv", "do": "pl pt", "for": "da no", "had": "nl"},
    **{"has": "es", "have": "da", "he": "es", "her": "da nl no tr", "i": "da hr it no pl sv"},
    **{"in": "de it nl", "is": "nl", "me": "es fr it nl pt", "met": "nl", "my": "pl", "of": "nl"},
    **{"on": "et fi fr hr pl tr", "or": "fr", "so": "de", "to": "cs da no pl", "was": "de nl"},
    **{"we": "nl pl", "will": "de nl"},
}
"""English words with the codes of other languages that have them."""
_OTHER_WORDS = (
    "der das den dem des ein eine einen und ist im zum zur mit von nicht auf bis vom seit ich wir "
    "le la les du une et est il elle nous vous dans pour avec sur au aux ce que qui pas je ne "
    "el los las del y con por para al se su lo gli di da dal nel della e che non sono "
    "os uma em com ao dos de het een op en voor niet zijn ik hij er "
    "og och til av det som jeg har han hun ikke vi w z na nie jest si bir pada dan yang ng sa ang "
    "az egy din"
)
_OTHER = frozenset(_OTHER_WORDS.split())
"""Frequent words of other languages that are not English ones."""


def as_read(text, pattern):
    """A text in the form that models have read most often.

    HTML entities within words become letters, `Fri, Jun 3` becomes `Friday, June 3` unless the text
    is in another language, and missing spaces are added. Placeables stay as they are.

    Args:
        text: A string.
        pattern: Compiled pattern of placeables, see `with_spaces`.

    Returns:
        A string.
    """
    text = _ENTITY.sub(_letter_of_entity, text)
    if _DATE.search(text) and _is_english(text):
        kept = places_of(pattern, text)
        text = _DATE.sub(
            lambda match: match[0] if kept[match.start()] else _WHOLE[match[match.lastgroup][:3]],
            text,
        )
    return with_spaces(text, pattern)


def _is_english(text):
    """Returns whether a text with a date is in English, by its words, or else by the date's form.

    Words that English shares with other languages count if no other language has all of them.
    """
    words = _words_of(text)
    num_english, num_other = len(words & _ENGLISH), len(words & _OTHER)
    if num_english > num_other:
        return True
    if num_other or not "".join(words).isascii() or any(mark in text for mark in "¡¿«„"):
        return False
    others = [set(_SHARED[word].split()) for word in words & _SHARED.keys()]
    is_only_english = len(others) > 1 and not set.intersection(*others)
    return is_only_english or _ENGLISH_FORM.search(text) is not None


def has_english_words(text):
    """Returns whether a text has a frequent English word that other languages lack."""
    return not _ENGLISH.isdisjoint(_words_of(text))


def _words_of(text):
    return {word.casefold() for word in re.findall(r"[^\W\d_]+", text)}


def _letter_of_entity(match):
    character = html.unescape(match[0])
    return character if character.isalpha() or character in "'’" else match[0]
