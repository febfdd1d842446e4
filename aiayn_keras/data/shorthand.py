"""English as people write it in chats: short forms, few apostrophes, capitals and marks."""

import re

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
