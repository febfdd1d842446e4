"""Random text that a translation repeats as it is: emoji, signs, addresses, and foreign words."""

import functools
import itertools
import unicodedata

_SYLLABLES = """
    ba be bi bo bu ka ke ki ko ku la le li lo lu ma me mi mo mu na ne ni no nu ra re ri ro ru
    sa se si so su ta te ti to tu va ve vi vo za zo ja jo an ar el en er in is ol on or um us
    bran dorf gard hill kins lund mann moor ner ski son stein ton ville wick ster ö ü é ñ ç ø ł ș
"""
_ONSETS = """
    b br c ch d dh f g gh gr h hj j k kh kj kr kv l ll m mw n ng nh p ph pr q r rh s sch sh sk st sv
    sz t th tl tr ts tz v w wh x xh y z zh zs
"""
_VOWELS = "a a a e e e i i i o o o u u y aa ai au ea ee ei ie io oa oo ou ue uy ya yu"
_CODAS = "b ck d g h k l ll m n ng nk nn r rd rg rn rt s ss st t th tz x z"
_ACCENTED_LETTERS = (range(0xC0, 0x180), range(0x1E00, 0x1F00))
_SCRIPTS = (
    "GREEK",
    "CYRILLIC",
    "ARMENIAN",
    "HEBREW",
    "ARABIC",
    "DEVANAGARI",
    "BENGALI",
    "THAI",
    "GEORGIAN",
    "HANGUL SYLLABLE",
    "HIRAGANA",
    "KATAKANA",
    "CJK UNIFIED",
)
"""Beginnings of the names of their letters."""
_MAX_LETTERS = 8
_SIGNS = "©®§¶°±×÷€£¥₹₽←↑→↓↔⇒∀∂∃∑√∞∫≈≠≤≥■□▲△▶▼◆○●★☆☎✓✗♠♣♥♦♪♫♯"
_SKIN_TONES = "".join(map(chr, range(0x1F3FB, 0x1F400)))
_HANDS = "👋👌👍👎👏🙌🙏💪"
_PEOPLE = "👨👩👦👧"
_JOINER = "\u200d"
_FLAG_LETTERS = range(0x1F1E6, 0x1F200)
_EMOJI = (
    *(range(0x1F300, 0x1F3FB), range(0x1F400, 0x1F650), range(0x1F680, 0x1F700)),
    *(range(0x1F900, 0x1FA00), range(0x1FA70, 0x1FB00), range(0x2600, 0x27C0)),
)


def draw_name(random):
    """Draws an invented name, in Latin letters, with or without accents, or another script.

    Args:
        random: A `numpy.random.Generator`.
    """
    kinds = (_draw_word, _draw_syllables, _draw_foreign_syllables)
    draw = kinds[random.choice(len(kinds), p=(0.25, 0.35, 0.4))]
    return draw(random) if draw is _draw_word else draw(random).capitalize()


def draw_copied_text(random):
    """Draws text that is not a word in either language.

    Args:
        random: A `numpy.random.Generator`.

    Returns:
        A string without spaces, or of up to three words in another script.
    """
    kinds = (_draw_emoji, _draw_sign, _draw_words, draw_name, _draw_address)
    return kinds[random.choice(len(kinds), p=(0.4, 0.1, 0.2, 0.15, 0.15))](random)


def _draw_emoji(random):
    kind = random.random()
    if kind < 0.08:
        emoji = _choose(_HANDS, random) + _choose(_SKIN_TONES, random)
    elif kind < 0.14:
        emoji = _JOINER.join(_choose(_PEOPLE, random) for _ in range(random.integers(2, 4)))
    elif kind < 0.20:
        emoji = chr(_choose(_FLAG_LETTERS, random)) + chr(_choose(_FLAG_LETTERS, random))
    else:
        emoji = _choose(_emoji(), random)
    if random.random() < 0.2:
        emoji += _choose(_emoji(), random)
    return emoji * (1 if random.random() < 0.8 else int(random.integers(2, 4)))


def _draw_sign(random):
    return _choose(_SIGNS, random)


def _draw_words(random):
    return " ".join(_draw_word(random) for _ in range(random.integers(1, 4)))


def _draw_word(random):
    letters = _letters(_choose(_SCRIPTS, random))
    size = random.integers(1, _MAX_LETTERS + 1)
    return "".join(_choose(letters, random) for _ in range(size))


def _draw_address(random):
    name, host = _draw_syllables(random), _draw_syllables(random)
    end = _choose(("com", "org", "net", "es", "co.uk", "io"), random)
    number = str(random.integers(1, 2030))
    return _choose(
        (
            f"@{name}{number}",
            f"@{name}_{host}",
            f"#{name}",
            f"#{name}{number}",
            f"www.{host}.{end}",
            f"https://{host}.{end}/{name}",
            f"{name}@{host}.{end}",
        ),
        random,
    )


def _draw_syllables(random):
    syllables = _SYLLABLES.split()
    return "".join(_choose(syllables, random) for _ in range(random.integers(2, 5)))


def _draw_foreign_syllables(random):
    """Draws what could be a word of any language in Latin letters, now and then with accents."""
    syllables = (
        _choose(_ONSETS.split(), random)
        + _choose(_VOWELS.split(), random)
        + (_choose(_CODAS.split(), random) if random.random() < 0.4 else "")
        for _ in range(random.integers(1, 4))
    )
    word = "".join(syllables)
    if random.random() < 0.5:
        for place in random.integers(len(word), size=random.integers(1, 3)):
            accented = _accented_letters().get(word[place], word[place])
            word = word[:place] + _choose(accented, random) + word[place + 1 :]
    return word


def _choose(options, random):
    return options[random.integers(len(options))]


@functools.cache
def _emoji():
    """Emoji and pictures that no normalization rewrites."""
    return _unchanged(itertools.chain(*_EMOJI), ("So",))


@functools.cache
def _letters(script):
    """Letters whose Unicode names begin with `script`."""
    letters = _unchanged(range(0x370, 0xD7A4), ("Ll", "Lo"))
    return [letter for letter in letters if unicodedata.name(letter).startswith(script)]


@functools.cache
def _accented_letters():
    """Dictionary from Latin letters to the string of their forms with accents and strokes."""
    letters = {}
    for letter in _unchanged(itertools.chain(*_ACCENTED_LETTERS), ("Ll",)):
        # Ø and Ł have no decomposition: their names say what they are a form of.
        name = unicodedata.name(letter).split(" WITH ")[0].removeprefix("LATIN SMALL LETTER ")
        if len(name) == 1:
            letters[name.lower()] = letters.get(name.lower(), "") + letter
    return letters


def _unchanged(codes, categories):
    characters = map(chr, codes)
    return [
        character
        for character in characters
        if unicodedata.category(character) in categories
        and unicodedata.normalize("NFKC", character) == character
    ]
