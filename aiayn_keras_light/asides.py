"""Words in round brackets within a sentence, which are translated as texts of their own.

Small models write other words in brackets, such as the sounds of subtitles. A sign stands for the
brackets while the sentence is translated; it is treated as an emoji is, see `inner_emoji`.
"""

import re

from aiayn_keras_light.placeable_patterns import places_of

_ASIDE = re.compile(r"(?<!\S)\((?=[^()\n]{0,300}[^\W\d_]{2})([^()\n]{2,300})\)(?![\w(])")
_FIRST_SIGN = 0xF0000
"""Signs are characters for private use, which `emoji` takes for pictures."""
_MAX_ASIDES = 100


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
    """Puts translated words in brackets in the place of their signs, or at the end without one."""
    for number, aside in enumerate(asides):
        sign = chr(_FIRST_SIGN + number)
        text = (text if sign in text else f"{text} {sign}").replace(sign, f"({aside})")
    return text
