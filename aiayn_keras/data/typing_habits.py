"""Changes to text as people type it: capitals in every language, and English chat shorthand."""

import re
import unicodedata

_TURKIC_SHARE = 0.1
"""A language has both i and ı if more than this share of its texts contains ı or İ."""
_GREEK = re.compile("[\u0370-\u03ff\u1f00-\u1fff]")
# The word Ή ("or") keeps its accent, which tells it from the article.
_ACCENTS_OF_GREEK_CAPITALS = re.compile(
    r"(?<![\w\u0300-\u036f])(\u0397\u0301)(?![\w\u0300-\u036f])|"
    r"([\u0391-\u03a9]\u0308?)[\u0300\u0301\u0313\u0314\u0342\u0345]+"
)


class LetterCase:
    """The rules for capitals in one side of a corpus.

    Turkish, Azerbaijani and others have i with İ and ı with I; Greek capitals have no accents; a
    Georgian word never begins with a capital, though whole words may be in capitals.

    Args:
        texts: Sequence of the side's texts, which show whether it is such a language.

    Example:
    >>> LetterCase(["ılık su"]).upper("istanbul"), LetterCase(["warm"]).upper("istanbul")
    ('İSTANBUL', 'ISTANBUL')
    """

    def __init__(self, texts):
        num_turkic = sum("ı" in text or "İ" in text for text in texts)
        self._is_turkic = num_turkic > _TURKIC_SHARE * len(texts)

    def upper(self, text):
        """Writes a text in capitals."""
        if self._is_turkic:
            text = text.replace("i", "İ")  # Python makes ı an I.
        return _without_greek_accents(text.upper())

    def lower(self, text):
        """Writes a text in lower case."""
        text = text.replace("İ", "i")  # Python writes i and a second dot.
        if self._is_turkic:
            text = text.replace("I", "ı")
        return text.lower()

    def capitalized(self, text):
        """Writes the first letter of a text as a capital."""
        first = "İ" if self._is_turkic and text[:1] == "i" else text[:1].title()
        return first + text[1:]

    def title(self, text):
        """Capitalizes the words of a text, and writes their other letters small."""
        return " ".join(self.capitalized(self.lower(word)) for word in text.split(" "))


def has_case(text):
    """Returns whether a text has letters that may be capital or small."""
    return text.upper() != text.lower()


def _without_greek_accents(capitals):
    if not _GREEK.search(capitals):
        return capitals
    decomposed = unicodedata.normalize("NFD", capitals)
    return unicodedata.normalize("NFC", _ACCENTS_OF_GREEK_CAPITALS.sub(r"\1\2", decomposed))


_SHORT_FORMS = """
    as soon as possible: asap
    talk to you later: ttyl
    in my opinion: imo
    be right back: brb
    to be honest: tbh
    i don't know: idk, i dunno
    i do not know: idk
    by the way: btw
    oh my god: omg
    right now: rn
    thank you: ty, thank u, thx
    you are: u r, ur, youre
    you're: ur, u r
    are you: r u, are u
    see you: c u, cu, see ya, see u
    going to: gonna
    want to: wanna
    got to: gotta
    have to: gotta
    give me: gimme
    let me: lemme
    kind of: kinda
    out of: outta
    don't: dont
    cannot: cant
    you: u, u, ya
    your: ur, yr
    are: r
    why: y
    and: &, n
    before: b4
    great: gr8
    late: l8
    later: l8r
    wait: w8
    see: c
    be: b
    tomorrow: tmrw, tomorow, 2moro
    tonight: tonite, 2nite
    today: 2day
    night: nite
    please: pls, plz
    thanks: thx, tnx
    because: cuz, bc, cause, coz
    people: ppl
    something: smth, sth
    someone: some1
    everyone: every1
    about: abt, bout
    without: w/o
    with: w/
    what: wat, wut
    though: tho
    really: rly
    probably: prob, prolly
    message: msg
    picture: pic
    love: luv
    them: em
    yes: yeah, yep
    okay: ok, k
    hello: hi, hey
    minutes: mins
    hours: hrs
    birthday: bday
    very: v
    good: gd, gud
    know: kno
"""
_FORMS = {
    long: short.split(", ")
    for long, short in (line.strip().split(": ") for line in _SHORT_FORMS.strip().splitlines())
}
_LONG = re.compile(
    rf"(?<![\w'])(?:{'|'.join(sorted(map(re.escape, _FORMS), key=len, reverse=True))})(?![\w'])",
    re.IGNORECASE,
)
_VOWEL_TO_STRETCH = re.compile(r"(?<=[a-z])([aeiou])(?=[a-z]?\b)")
_APOSTROPHES = re.compile(r"(?<=\w)['’](?=\w)")


def in_shorthand(text, random):
    """Writes an English sentence as in a chat.

    Args:
        text: A string.
        random: A `numpy.random.Generator`, which draws what is shortened.

    Returns:
        The string, mostly in lower case.

    Example:
        >>> import numpy as np
        >>> in_shorthand("Are you coming tomorrow? I don't know.", np.random.default_rng(55))
        'r u coming tmrw? idk.'
    """
    share = random.choice((0.0, 0.5, 1.0), p=(0.2, 0.3, 0.5))

    def shorten(match):
        if random.random() >= share:
            return match[0]
        forms = _FORMS[match[0].lower()]
        return forms[random.integers(len(forms))]

    text = _LONG.sub(shorten, text)
    if random.random() < 0.7:
        text = _APOSTROPHES.sub("", text)
    if random.random() < 0.85:
        text = text.lower()
    if random.random() < 0.1:
        vowels = [*_VOWEL_TO_STRETCH.finditer(text)]
        if vowels:
            vowel = vowels[random.integers(len(vowels))]
            text = text[: vowel.end()] + vowel[1] * int(random.integers(2, 5)) + text[vowel.end() :]
    return text + text[-1:] * int(random.integers(1, 3)) if _is_emphasized(text, random) else text


def _is_emphasized(text, random):
    return text.endswith((".", "?", "!")) and random.random() < 0.1
