"""Numbers of a text that its translation lacks, or writes with other separators."""

import re
from collections import Counter

_NUMBER = re.compile(r"\d+(?:[.,'’ \xa0\u2009\u202f]\d{3}(?!\d))*")
_PARTS = re.compile(r"(?<![\w.,/-])\d+(?:[.,/-]\d+){2,}(?![.,/-]?\d)", re.ASCII)
_GROUPS = re.compile(r"\d{1,3}(?:(?:,\d{3})+|(?:\.\d{3})+)", re.ASCII)
_AMOUNT = re.compile(
    r"(?<![\w.,/-])(?:\d{1,3}(?P<group>[.,'’ \xa0\u2009\u202f])\d{3}(?:(?P=group)\d{3})*|\d+)"
    r"(?!(?P=group))[.,](?P<decimals>\d+)(?![.,/-]?\d)",
    re.ASCII,
)
_GROUPED = r"\d++(?:[.,'’٬٫]\d++|[ \xa0\u2009\u202f]\d{3}(?!\d)){0,8}+"
_ANY_GROUPED = re.compile(rf"(?<!\w){_GROUPED}")
_PRICE = re.compile(rf"(?<![\w.,])(?:[$€£¥][ ]?({_GROUPED})|({_GROUPED})[ \xa0]?[$€£¥])(?!\w)")
_BARE = re.compile(
    rf"(?<![\w.,$€£¥])(?<![$€£¥A-Z][ \xa0]){_GROUPED}"
    r"(?![\w$€£¥]|[.,]\d|[ \xa0\u202f](?:[$€£¥]|[^\W\d_]{3}))"
)
_DECADE = re.compile(r"(?<!\d)\d\d(\d0)(?='?s\b)")
_ROMAN = re.compile(r"\b(X{1,3})(IX|IV|V?I{0,3})(?:e|ème)?\b")
_ROMAN_ONES = ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX")
_EXCHANGED = str.maketrans(",.", ".,")
_ARABIC_SEPARATORS = str.maketrans("٬٫", ",.")
_CLOCK_TIME = re.compile(r"(?<![\d:])\d{1,2}:\d\d(?![\d:])")
_NUMBER_WORD = re.compile(
    r"(?<!\w)[$€£¥]?\d(?:[\w.,:/%€£¥°'+–—-]*[\w%€£¥°+])?(?:[ \xa0\u2009\u202f]\d{3}(?!\d))*"
    r"(?:[.,]\d+)?"
)


def lost_numbers(source, translation):
    """Set of the numbers of two and more digits in a text that its translation lacks.

    Their digits are compared, in any script and however they are grouped. Dates, amounts and the
    like must also be divided in the same way: `1.234.56` and `123.456` are not `1,234.56`. Numbers
    of one digit and times may be words in a translation, the 19th century may be XIX, and the 1980s
    the years 80. Prices are lost if none of them has a currency, as a sign, code or word, in the
    translation.
    """
    wanted = _NUMBER.findall(_CLOCK_TIME.sub("", source))
    if not any(len(number) > 1 for number in wanted):
        return _prices_without_currency(source, translation)
    groups = set(_digits(" ".join(_NUMBER.findall(translation))).split(" "))
    whole = {_digits(number).replace(" ", "") for number in _NUMBER.findall(translation)}
    whole |= _roman_numbers(translation)
    whole |= {each[0] for each in _DECADE.finditer(source) if each[1] in whole}
    lost = set()
    for number in wanted:
        parts = _digits(number).split(" ")
        if len(number) > 1 and "".join(parts) not in whole and not groups.issuperset(parts):
            lost.add(number)
    lost |= _numbers_with_other_separators(source, translation)
    return frozenset(lost | _prices_without_currency(source, translation))


def _prices_without_currency(source, translation):
    """Set of the prices of a text, each up to its `_NUMBER`, if the translation has no currency."""
    prices = [first or last for first, last in _PRICE.findall(source)]
    if not prices:
        return frozenset()
    written, bare = (
        Counter(_digits(number).replace(" ", "") for number in pattern.findall(translation))
        for pattern in (_ANY_GROUPED, _BARE)
    )
    numbers = {_digits(price).replace(" ", "") for price in prices}
    if any(written[number] > bare[number] or not bare[number] for number in numbers):
        return frozenset()
    return frozenset(_NUMBER.match(price)[0] for price in prices)


def _numbers_with_other_separators(source, translation):
    """Set of the dates, versions and amounts that a translation lacks, each up to its `_NUMBER`."""
    translation = "".join(str(int(each)) if each.isdecimal() else each for each in translation)
    translation = translation.translate(_ARABIC_SEPARATORS)
    amounts = {_value(match) for match in _AMOUNT.finditer(translation)}
    written = _PARTS.findall(translation)
    others = {each for text in written for each in (text, _exchanged(text))}
    mixed = {_digits(each) for each in written if not _GROUPS.fullmatch(each)}  # 1.000,000
    lost = {
        match[0]
        for match in _AMOUNT.finditer(source)
        if match["group"] and _value(match) not in amounts
    }
    lost.update(
        number
        for number in _PARTS.findall(source)
        if not (_AMOUNT.fullmatch(number) or number in others)
        and (not _GROUPS.fullmatch(number) or _digits(number) in mixed)
    )
    return {_NUMBER.match(number)[0] for number in lost}


def _roman_numbers(text):
    """Set of the Roman numerals from X to XXXIX in a text, as strings of digits."""
    return {str(10 * len(each[1]) + _ROMAN_ONES.index(each[2])) for each in _ROMAN.finditer(text)}


def _exchanged(number):
    return number.translate(_EXCHANGED)


def _value(amount):
    """Digits before and after the decimal separator of a match of `_AMOUNT`."""
    digits, decimals = re.sub(r"\D", "", amount[0]), amount["decimals"]
    return digits.removesuffix(decimals), decimals


def words_of_numbers(text, numbers):
    """Matches of numbers in a text, with what is written together with them, such as `$` and `%`.

    Those of 12月 and 15万 are not found, since they may be other numbers or words in a translation.
    """
    words = _NUMBER_WORD.finditer(text)
    return [word for word in words if not numbers.isdisjoint(_NUMBER.findall(word[0]))]


def _digits(number):
    """A number with digits of ASCII, and a space between groups."""
    return "".join(str(int(each)) if each.isdecimal() else " " for each in number)
