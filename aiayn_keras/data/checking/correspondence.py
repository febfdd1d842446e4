"""Faults between the sides of a pair: untranslated copies, odd lengths, what must be the same."""

import collections
import math
import re
import statistics

from aiayn_keras_light.placeable_patterns import PATTERN
from aiayn_keras_light.scripts import spaced_from_latin

_NUMBER = re.compile(r"\d+(?:[.,'’\u00a0\u202f ]\d{3})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,]\d+)?")
_MAX_SPELLED = 100
"""Numbers up to this one, and round ones, may be words on the other side."""
_MAX_DIGITS = 18
_MIN_COPIED_WORDS = 3
_MIN_COPIED_LETTERS = 12
_SMOOTHING = 10
"""Characters added to both sides, so that short pairs may differ more."""
_MIN_FACTOR = 1.7
_MIN_DEVIATIONS = 5.0
"""With these, 18 of the 118,964 pairs of Tatoeba are odd, and 98 % of those cut to two words."""


def is_copy(source, essences):
    """Tells whether a target repeats its source, of several words, untranslated.

    Args:
        source: The source.
        essences: Tuple of `essence_of` both.
    """
    if essences[0] != essences[1] or not any(map(str.isalpha, essences[0])):
        return False
    words = [word for word in source.split() if any(map(str.isalpha, word))]
    return len(words) >= _MIN_COPIED_WORDS or len(essences[0]) >= _MIN_COPIED_LETTERS


# ---- Lengths ----


class UsualLengths:
    """The ratio of lengths, in characters, that most pairs of a text have.

    Args:
        pairs: Pairs of source and target.
    """

    def __init__(self, pairs):
        ratios = [_log_ratio(*pair) for pair in pairs if all(pair)] or [0.0]
        self._median = statistics.median(ratios)
        # 1.48 median absolute deviations are a standard deviation of a normal distribution.
        spread = 1.48 * statistics.median(abs(ratio - self._median) for ratio in ratios)
        self._limit = max(math.log(_MIN_FACTOR), _MIN_DEVIATIONS * spread)

    def fault(self, source, target):
        """Says how far the lengths of a pair are from the usual ratio, or returns None."""
        excess = _log_ratio(source, target) - self._median
        if abs(excess) <= self._limit:
            return None
        side, factor = ("target" if excess > 0 else "source"), math.exp(abs(excess))
        return f"the {side} is {factor:.1f} times as long as usual"


def _log_ratio(source, target):
    return math.log((len(target.strip()) + _SMOOTHING) / (len(source.strip()) + _SMOOTHING))


# ---- Numbers ----


def different_numbers(source, target):
    """Says which numbers of one side the other lacks, or returns None.

    Separators of thousands and decimals, and the script of digits, may differ. So may hours before
    and after noon, years with and without the century, and what is likely to be written in words.

    Example:
        >>> different_numbers("He paid 1,500 dollars.", "Pagó 1.500 dólares.")
        >>> different_numbers("He was born in 1945.", "Nació en 1954.")
        '1945 and 1954'
    """
    sides = [_numbers_in(text) for text in (source, target)]
    if sides[0] == sides[1]:
        return None
    only = [sides[0] - sides[1], sides[1] - sides[0]]
    if all(only):
        if _digits_in(source) == _digits_in(target):
            return None
        numbers = [list(each.elements()) for each in only]
        if len(numbers[0]) == len(numbers[1]) and all(
            _is_another_way(*pair) for pair in zip(*map(sorted, numbers), strict=True)
        ):
            return None
        return " and ".join(", ".join(each[:4]) for each in numbers)
    missing = [number for each in only for number in each if not _may_be_spelled(number)]
    if not missing:
        return None
    return f"{', '.join(missing[:4])} on one side only"


def _numbers_in(text):
    matches = _NUMBER.findall(text) if any(map(str.isdecimal, text)) else []
    return collections.Counter(_digits_in(match).lstrip("0") or "0" for match in matches)


def _digits_in(text):
    """The digits of a text, in ASCII."""
    return "".join(str(int(character)) for character in text if character.isdecimal())


def _is_another_way(number, other):
    if max(len(number), len(other)) > _MAX_DIGITS:
        return False
    small, large = sorted((int(number), int(other)))
    is_half_day = large - small == 12 and large <= 24
    is_year = 1000 <= large < 3000 and large % 100 == small
    return is_half_day or is_year


def _may_be_spelled(number):
    is_small = len(number) <= _MAX_DIGITS and int(number) <= _MAX_SPELLED
    return is_small or not number.rstrip("0")[1:]


# ---- Placeables ----


_PLACEABLE = re.compile(f"(?x){PATTERN}")


def different_placeables(source, target):
    """Says which URLs, placeholders and the like one side has and the other lacks, or returns None.

    Example:
        >>> different_placeables("Hello {name}.", "Hola, {name}.")
        >>> different_placeables("Hello {name}.", "Hola, {nombre}.")
        '{name} and {nombre}'
    """
    sides = [_placeables_in(text) for text in (source, target)]
    only = [list((a - b).elements()) for a, b in (sides, sides[::-1])]
    if not any(only):
        return None
    shown = [", ".join(f"{each:.60}" for each in side[:4]) for side in only]
    return " and ".join(shown) if all(only) else f"{''.join(shown)} on one side only"


def _placeables_in(text):
    """Counts placeables, except for entities and marks of subtitles, which are other faults."""
    found = _PLACEABLE.findall(spaced_from_latin(text))
    return collections.Counter(each for each in found if not each.startswith(("&", "{\\")))
