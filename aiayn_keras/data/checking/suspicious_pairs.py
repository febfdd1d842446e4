"""Faults of a pair: in its characters, in its languages, and between its sides."""

import collections
import functools
import html
import math
import re
import statistics
import unicodedata

import ftfy
from fontTools import unicodedata as scripts_of_characters
from ftfy.badness import is_bad

from aiayn_keras_light.placeable_patterns import PATTERN
from aiayn_keras_light.spaces import spaced_from_latin

_ENTITY = re.compile(r"&\s?(?:#\s?\d{1,7}|#\s?[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,30})\s?;")
_MAX_ESCAPES = 4
"""Maximum number of times that a text was escaped: `&amp;amp;lt;`."""
_TAG_NAMES = (
    "a|abbr|b|big|blockquote|body|br|center|cite|code|dd|del|div|dl|dt|em|font|form|h[1-6]|head|"
    "hr|html|i|iframe|img|input|ins|kbd|label|li|link|meta|nobr|ol|option|p|pre|q|s|script|section|"
    "select|small|span|strike|strong|style|sub|sup|table|tbody|td|th|thead|title|tr|tt|u|ul|wbr"
)
_TAG = re.compile(rf"<\s?/?\s?(?:{_TAG_NAMES})(?:\s[^<>]*)?\s?/?\s?>|<!--.*?-->", re.IGNORECASE)
_BREAKING_TAG = re.compile(r"<\s?/?\s?(?:br|p|div|li|td|tr|hr|h[1-6])\b", re.IGNORECASE)
_OTHER_MARKUP = re.compile(
    r"</?[a-zA-Z][\w:-]*(?:\s+[\w:-]+\s*=\s*[\"'][^<>]*)?/?>"  # XML
    r"|<\?xml|<!\[CDATA\[|<!DOCTYPE"
    r"|\{\\[a-z]+\d*[^{}]*\}"  # subtitles: {\an8}
    r"|\[/?(?:b|i|u|url|img|quote|code|color|size)(?:=[^\]]*)?\]"  # forums
    r"|\[\[[^\]]+\]\]|\{\{[^{}]+\}\}"  # wikis
    r"|\[[^\]]+\]\(\s?(?:https?:|mailto:|/|#)[^)]*\)"  # Markdown
    r"|\*\*[^*\s][^*]*\*\*"
    r"|\\(?:textbf|textit|emph|cite|ref|footnote|section)\{"
)
_SPACES = re.compile(r"[ \t]{2,}")

_JOINERS = "\u200c\u200d"
_DIRECTIONS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
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
_PLACEABLE = re.compile(f"(?x){PATTERN}")
_MAX_SAMPLE = 2_000
"""Number of sentences from which the language and the scripts of a side are found."""
_MIN_SHARE = 0.25
"""Minimum share of sentences that must show their side's language; many are too short to do so."""
_MIN_PROBABILITY = 1e-6
"""Minimum probability of a language, so that one foreign sentence does not decide."""
_MIN_LOG_RATIO = 5.0
"""Natural logarithm of how much more probable another language must be. None of 40,000
sentences of Tatoeba is reported; of 8,000 in one of four other languages, 86 to 100 % are."""
_MIN_SCRIPT_SHARE = 0.1
_ALIKE = ({"no", "nb", "nn", "da"}, {"hr", "bs", "sr"}, {"id", "ms"}, {"zu", "xh"}, {"he", "hbo"})
"""Languages that sentences do not tell apart; py3langid calls Hebrew with points `hbo`."""
_USED_TOGETHER = ({"Hani", "Hira", "Kana", "Bopo"}, {"Hang", "Hani"})
_SHARED = ("Zyyy", "Zinh", "Zzzz")
"""Common, inherited and unknown: no script of its own."""


def character_faults(text, ignored=()):
    r"""Finds the faults in a text's characters, and mends them where that is safe.

    Args:
        text: A sentence.
        ignored: Kinds that are neither found nor mended.

    Returns:
        The mended text, and a dictionary from the kind of each fault, as in `KINDS`, to a tuple of
        the reason and whether it is mended.

    Example:
        >>> text, faults = character_faults("It&#39;s a <b>cafÃ©</b>.\u200b")
        >>> text, list(faults)
        ("It's a café.", ['mojibake', 'entities', 'markup', 'invisible'])
    """
    faults = {}
    if text.isascii() and not any(mark in text for mark in "&<[{\\*") and text.isprintable():
        return text, faults
    for kind, mend in _MENDS.items():
        if kind not in ignored:
            text = mend(text, faults)
    return text, faults


def _mend_encoding(text, faults):
    if text.isascii():
        return text
    mended = ftfy.fix_encoding(text)
    if mended != text:
        faults["mojibake"] = _first_difference(text, mended), True
    elif "\ufffd" in text:
        faults["mojibake"] = "the replacement character U+FFFD", False
    elif is_bad(text):
        faults["mojibake"] = f"unlikely characters: {text[:40]!r}", False
    return mended


def _unescape(text, faults):
    match = _ENTITY.search(text) if "&" in text else None
    if match is None:
        return text
    mended = text
    for _ in range(_MAX_ESCAPES):
        # Tokenizers write `& quot ;`.
        closed = _ENTITY.sub(lambda each: re.sub(r"\s", "", each.group()), mended)
        unescaped = html.unescape(closed)
        if unescaped == closed:
            break
        mended = unescaped
    if mended != text:
        faults["entities"] = match.group(), True
        return re.sub("[\n\t\r]", " ", mended)
    return text


def _remove_markup(text, faults):
    found = _TAG.search(text)
    if found is not None:
        text = _TAG.sub(lambda tag: " " if _BREAKING_TAG.match(tag.group()) else "", text)
        text = _SPACES.sub(" ", text).strip()
    other = _OTHER_MARKUP.search(text)
    if other is not None or found is not None:
        faults["markup"] = (other or found).group()[:40], other is None
    return text


def _remove_invisible(text, faults):
    if text.isascii() and text.isprintable():
        return text
    is_rtl = any(unicodedata.bidirectional(character) in ("R", "AL") for character in text)
    kept, removed = [], []
    for place, character in enumerate(text):
        if _is_out_of_place(character, place, text, is_rtl):
            removed.append(character)
            kept.append(" " if character in "\t\u0085\u2028\u2029" else "")
        else:
            kept.append(character)
    if not removed:
        return text
    names = sorted({f"U+{ord(character):04X}" for character in removed})
    faults["invisible"] = ", ".join(names[:4]), True
    return "".join(kept)


def _is_out_of_place(character, place, text, is_rtl):
    if character in _JOINERS:
        return not _joins(place, text)
    if character in _DIRECTIONS:
        return not is_rtl
    # Flags of emoji have tags, Arabic numbers have signs.
    is_tag = "\U000e0020" <= character <= "\U000e007f"
    if is_tag or unicodedata.bidirectional(character) == "AN":
        return False
    # Control, format and private characters.
    is_special = unicodedata.category(character) in ("Cc", "Cf", "Co")
    return is_special or character in "\u2028\u2029\u2800\u3164"


def _joins(place, text):
    """True if a joiner stands between letters that it shapes, or after an emoji."""
    before = text[place - 1] if place else " "
    if before.isascii() or before.isspace():
        return False
    return not unicodedata.name(before, "").startswith(("LATIN", "GREEK", "CYRILLIC"))


_MENDS = {
    "mojibake": _mend_encoding,
    "entities": _unescape,
    "markup": _remove_markup,
    "invisible": _remove_invisible,
}


def _first_difference(text, mended):
    place = next(
        (i for i, pair in enumerate(zip(text, mended, strict=False)) if len(set(pair)) > 1), 0
    )
    start = max(0, place - 5)
    return f"{text[start : start + 20]!r} for {mended[start : start + 20]!r}"


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
    """Counts placeables, except for entities and marks of subtitles, which are separate faults."""
    found = _PLACEABLE.findall(spaced_from_latin(text))
    return collections.Counter(each for each in found if not each.startswith(("&", "{\\")))


@functools.cache
def _identifier():
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def _known_languages():
    """Codes of the languages that can be told apart."""
    return sorted(str(label) for label in _identifier().labels)


def _language_probabilities(text):
    """Computes the probability of each language, a dictionary from its code."""
    return dict(_identifier().rank(text.lower() if text.isupper() else text))


@functools.cache
def _script_of(character):
    return scripts_of_characters.script(character) if character.isalpha() else "Zyyy"


def _count_scripts(text):
    """Counts the letters of each script, such as `"Latn"`, in a text."""
    counts = collections.Counter(map(_script_of, text))
    for script in _SHARED:
        del counts[script]
    return counts


class SideProfile:
    """The language and the scripts of most sentences of a side.

    Args:
        texts: Sentences of the side, as many as possible; evenly spaced ones are read.
        language: Code of the language, or `None` to find it.

    Raises:
        ValueError: If the language is not one of `known_languages()`.

    Attributes:
        language: Code of the language; `None` if most sentences do not show one.
        scripts: Scripts in use, the most frequent one first.
    """

    def __init__(self, texts, language=None):
        step = -(-len(texts) // _MAX_SAMPLE) or 1
        sample = [text for text in texts[::step] if any(map(str.isalpha, text))]
        self.language = _most_probable_language(sample) if language is None else language
        if language is not None and language not in _known_languages():
            raise ValueError(
                f"A language must be one of {', '.join(_known_languages())}. "
                f"Received: {language!r}."
            )
        letters = sum(map(_count_scripts, sample), collections.Counter())
        self.scripts = tuple(
            script
            for script, count in letters.most_common()
            if count >= _MIN_SCRIPT_SHARE * letters.total()
        )
        used = set(self.scripts)
        self._allowed = used.union(*(group for group in _USED_TOGETHER if group & used))
        self._alike = {self.language}.union(*(group for group in _ALIKE if self.language in group))

    def wrong_script(self, text):
        """Says what is wrong with the script of a text, or returns None."""
        if text.isascii() and "Latn" in self._allowed:
            return None
        counts = _count_scripts(text)
        foreign = {script: n for script, n in counts.items() if script not in self._allowed}
        if not foreign:
            return None
        if 2 * sum(foreign.values()) > counts.total():
            return f"{'+'.join(foreign)} letters, not {'+'.join(self.scripts)}"
        for word in text.split():
            in_word = _count_scripts(word)
            if len(in_word) > 1 and any(script in self._allowed for script in in_word):
                mixed = [script for script in in_word if script in foreign]
                if mixed:
                    return f"letters of {' and '.join(in_word)} in {word[:30]!r}"
        return None

    def margin_of_other(self, text):
        """Finds a language that fits a text better.

        Returns:
            Tuple of its code and the logarithm of how much more probable it is; 0.0 if none is.
        """
        if self.language is None or not any(map(str.isalpha, text)):
            return self.language, 0.0
        probabilities = _language_probabilities(text)
        top = max(probabilities, key=probabilities.get)
        own = max(probabilities[language] for language in self._alike if language in probabilities)
        return top, math.log(max(probabilities[top], 1e-300) / max(own, 1e-300))


def _most_probable_language(sample):
    """The most probable language of a sample, if it is also that of enough single sentences."""
    votes, log_probabilities = collections.Counter(), collections.Counter()
    for text in sample:
        probabilities = _language_probabilities(text)
        votes[max(probabilities, key=probabilities.get)] += 1
        for language, probability in probabilities.items():
            log_probabilities[language] += math.log(max(probability, _MIN_PROBABILITY))
    if not votes:
        return None
    language = max(log_probabilities, key=log_probabilities.get)
    return str(language) if votes[language] >= _MIN_SHARE * len(sample) else None


def wrong_language(sides, pair):
    """Says which side of a pair is in a wrong language, or that they are swapped.

    Args:
        sides: Tuple of the `SideProfile`s of sources and targets.
        pair: Tuple of source and target.

    Returns:
        A string, or `None` if nothing is wrong.
    """
    others = [side.margin_of_other(text) for side, text in zip(sides, pair, strict=True)]
    (in_source, source_margin), (in_target, target_margin) = others
    swapped = (in_source, in_target) == (sides[1].language, sides[0].language)
    if swapped and source_margin + target_margin > _MIN_LOG_RATIO:
        return "the sides are swapped"
    for name, side, (language, margin) in zip(("source", "target"), sides, others, strict=True):
        if margin > _MIN_LOG_RATIO:
            return f"the {name} is in {language}, not {side.language}"
    return None
