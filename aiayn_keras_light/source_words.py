"""Words of a text as models have read them: letters for HTML entities, and months in full.

Models that have read sentences, but no letterheads, take `Jun 3` for the third of July.
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
      | (?P<day>Mon|Tue|Wed|Thu|Fri|Sat|Sun)\.?
        (?=,?[ ](?:{_MONTH}[a-z]*\.?[ ]{_DAY}(?![ ]\d\d?:\d\d:)|{_DAY}[ ]{_MONTH}))
      | (?:(?<=\d[ ])|(?<=\d(?:st|nd|rd|th)[ ]))(?P<behind>{_MONTH})(?![\w-]|[ ]\d{{4}}[ ]\d\d:)
        (?:\.(?=,|[ ]\d))?
    )"""
)
"""An abbreviated month beside its day or year, and an abbreviated day of the week before them."""


def as_read(text, pattern):
    """A text in the form that models have read most often.

    HTML entities within words become letters, `Fri, Jun 3` becomes `Friday, June 3`, and missing
    spaces are added. Placeables stay as they are.

    Args:
        text: A string.
        pattern: Compiled pattern of placeables, see `with_spaces`.

    Returns:
        A string.
    """
    text = _ENTITY.sub(_letter_of_entity, text)
    if _DATE.search(text):
        kept = places_of(pattern, text)
        text = _DATE.sub(
            lambda match: match[0] if kept[match.start()] else _WHOLE[match[match.lastgroup][:3]],
            text,
        )
    return with_spaces(text, pattern)


def _letter_of_entity(match):
    character = html.unescape(match[0])
    return character if character.isalpha() or character in "'’" else match[0]
