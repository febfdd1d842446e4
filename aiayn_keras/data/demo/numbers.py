"""Numbers and times of day in English and German words."""

MAX_NUMBER = 999_999

_ENGLISH_ONES = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"),
    *("ten", "eleven", "twelve", "thirteen", "fourteen"),
    *("fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_ENGLISH_TENS = (
    *("", "", "twenty", "thirty", "forty", "fifty"),
    *("sixty", "seventy", "eighty", "ninety"),
)
_GERMAN_ONES = (
    *("null", "eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun"),
    *("zehn", "elf", "zwölf", "dreizehn", "vierzehn"),
    *("fünfzehn", "sechzehn", "siebzehn", "achtzehn", "neunzehn"),
)
_GERMAN_TENS = (
    *("", "", "zwanzig", "dreißig", "vierzig", "fünfzig"),
    *("sechzig", "siebzig", "achtzig", "neunzig"),
)


def english_number(number: int) -> str:
    """Spells a whole number from 0 to 999,999 in English, with the British "and".

    Example:
    >>> english_number(42_705)
    'forty-two thousand seven hundred and five'
    """
    _check_number(number)
    if number < 20:
        return _ENGLISH_ONES[number]
    if number < 100:
        tens, ones = divmod(number, 10)
        return _ENGLISH_TENS[tens] + (f"-{_ENGLISH_ONES[ones]}" if ones else "")
    if number < 1000:
        hundreds, rest = divmod(number, 100)
        words = f"{_ENGLISH_ONES[hundreds]} hundred"
        return f"{words} and {english_number(rest)}" if rest else words
    thousands, rest = divmod(number, 1000)
    words = f"{english_number(thousands)} thousand"
    if not rest:
        return words
    return f"{words} {'and ' if rest < 100 else ''}{english_number(rest)}"


def german_number(number: int) -> str:
    """Spells a whole number from 0 to 999,999 as a single German word, with ones before tens.

    Example:
    >>> german_number(42_705)
    'zweiundvierzigtausendsiebenhundertfünf'
    """
    _check_number(number)
    if number < 20:
        return _GERMAN_ONES[number]
    if number < 100:
        tens, ones = divmod(number, 10)
        return (f"{_german_stem(ones)}und" if ones else "") + _GERMAN_TENS[tens]
    size, unit = (1000, "tausend") if number >= 1000 else (100, "hundert")
    count, rest = divmod(number, size)
    return _german_stem(count) + unit + (german_number(rest) if rest else "")


def _german_stem(number):
    """Spells a number as the first part of a longer word: `ein`, `einhundertein`, `zwei`."""
    word = german_number(number)
    return word.removesuffix("s") if number % 100 == 1 else word


def _check_number(number):
    if not 0 <= number <= MAX_NUMBER:
        raise ValueError(f"`number` must lie in [0, {MAX_NUMBER}]. Received: number={number}.")


def english_time(hour: int, minute: int) -> str:
    """Returns a time of day in spoken English.

    Args:
        hour: From 1 to 12.
        minute: A multiple of 5 from 0 to 55, but not 25 or 35.

    Example:
    >>> english_time(3, 0), english_time(3, 30), english_time(3, 45)
    ("three o'clock", 'half past three', 'a quarter to four')
    """
    _check_time(hour, minute)
    if minute == 0:
        return f"{english_number(hour)} o'clock"
    if minute <= 30:
        before = {15: "a quarter", 30: "half"}.get(minute) or english_number(minute)
        return f"{before} past {english_number(hour)}"
    before = "a quarter" if minute == 45 else english_number(60 - minute)
    return f"{before} to {english_number(hour % 12 + 1)}"


def german_time(hour: int, minute: int) -> str:
    """Returns a time of day in spoken German, in which half past three is "half four".

    Args:
        hour: From 1 to 12.
        minute: A multiple of 5 from 0 to 55, but not 25 or 35.

    Example:
    >>> german_time(3, 0), german_time(3, 30), german_time(3, 45)
    ('drei Uhr', 'halb vier', 'Viertel vor vier')
    """
    _check_time(hour, minute)
    following = german_number(hour % 12 + 1)
    if minute == 0:
        return f"{_german_stem(hour)} Uhr"
    if minute == 30:
        return f"halb {following}"
    if minute < 30:
        before = "Viertel" if minute == 15 else german_number(minute)
        return f"{before} nach {german_number(hour)}"
    before = "Viertel" if minute == 45 else german_number(60 - minute)
    return f"{before} vor {following}"


def _check_time(hour, minute):
    if not 1 <= hour <= 12 or minute not in (0, 5, 10, 15, 20, 30, 40, 45, 50, 55):
        raise ValueError(
            "`hour` must lie in [1, 12] and `minute` must be a multiple of 5, but not 25 or 35. "
            f"Received: hour={hour}, minute={minute}."
        )
