"""Pairs that `augmentation` adds: text that is copied, and short phrases of the text itself.

Copied text is random, and its translation repeats it as it is: emoji, signs, addresses and foreign
words. Words and short phrases with their translations are found by word alignment.
"""

import collections
import functools
import itertools
import re
import sys
import unicodedata

import numpy as np

from aiayn_keras_light.spaces import UNSPACED_LETTER

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
_ITERATIONS = 5
_MAX_SOURCE_WORDS = 4
_MAX_TARGET_WORDS = 5
_MIN_COUNT = 2
_MIN_SHARE = 0.3
"""Minimum share of a phrase's occurrences that have its most frequent translation."""
MAX_ALIGNED_PAIRS = 200_000
"""Maximum number of pairs that are aligned; evenly spaced in a larger corpus."""
_MAX_SENTENCE_WORDS = 40
"""Longer sentences are left out, since tables grow with the product of the lengths."""


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


def extract_phrases(pairs):
    """Extracts phrases of one to four words, each with its most frequent translation.

    A pair of phrases must occur twice and make up 0.3 of its source's occurrences. See
    `count_phrases` for what a phrase is.

    Args:
        pairs: List of tuples of two sentences.

    Returns:
        Dictionary from a number of source words to the sorted list of phrase pairs, tuples of two
        strings, written as they mostly are inside sentences.

    Example:
        >>> extract_phrases([("The cat.", "Le chat."), ("The dog.", "Le chien.")] * 3)[1]
        [('cat', 'chat'), ('dog', 'chien'), ('the', 'le')]
    """
    counts, forms = _counted(pairs)
    phrases = collections.defaultdict(list)
    for source, targets in sorted(counts.items()):
        ((target, count),) = targets.most_common(1)
        if count >= _MIN_COUNT and count >= _MIN_SHARE * targets.total():
            written = map(_usual_form, forms, (source, target))
            phrases[len(source.split())].append(tuple(written))
    return dict(phrases)


def _usual_form(forms, phrase):
    """A phrase in its usual form within sentences, or word by word if it only begins them."""
    if forms[phrase]:
        return forms[phrase].most_common(1)[0][0]
    words = phrase.split()
    return phrase if len(words) == 1 else " ".join(_usual_form(forms, word) for word in words)


def count_phrases(pairs):
    """Counts phrases of one to four words and their translations.

    Words are aligned by IBM Model 1 (Brown et al. 1993, https://aclanthology.org/J93-2003, section
    4.1) in both directions; links that both directions find are kept. A pair of phrases is
    consistent with them (Koehn et al. 2003, https://aclanthology.org/N03-1017), begins and ends
    with linked words on both sides, and has no punctuation inside. Text in a script without spaces
    between words, such as Chinese or Thai, yields none.

    Args:
        pairs: List of tuples of two sentences.

    Returns:
        Dictionary from a phrase to the `collections.Counter` of its translations, all of them in
        lower case.
    """
    return _counted(pairs)[0]


def _counted(pairs):
    """Counts phrases in lower case, and on both sides the forms that each has inside sentences."""
    pairs = pairs[:: -(-len(pairs) // MAX_ALIGNED_PAIRS) or 1]
    word = _word()
    found = [
        (pair, tuple([*word.finditer(side)] for side in pair))
        for pair in pairs
        if not any(map(UNSPACED_LETTER.search, pair))
    ]
    found = [
        (pair, words)
        for pair, words in found
        if all(0 < len(side) <= _MAX_SENTENCE_WORDS for side in words)
    ]
    counts = collections.defaultdict(collections.Counter)
    forms = [collections.defaultdict(collections.Counter) for _ in range(2)]
    if not found:
        return counts, forms
    lowered = [[[word[0].lower() for word in words[i]] for _, words in found] for i in (0, 1)]
    forward, backward = _aligned(*lowered), _aligned(*reversed(lowered))
    for row, (pair, words) in enumerate(found):
        links = {(i, j) for j, i in enumerate(forward[row]) if i >= 0 and backward[row][i] == j}
        for spans in _consistent(links, len(words[0])):
            phrases = [_phrase(*side) for side in zip(pair, words, spans, strict=True)]
            if None in phrases:
                continue
            counts[phrases[0].lower()][phrases[1].lower()] += 1
            for form, phrase, (first, _) in zip(forms, phrases, spans, strict=True):
                if first:  # The first word of a sentence has a capital anyway.
                    form[phrase.lower()][phrase] += 1
    return counts, forms


@functools.cache
def _word():
    """Pattern of a word: letters with the marks on them, as in Hindi and Hebrew, and joiners.

    (To Python's `re`, neither marks nor joiners, as in Persian, are parts of words.)
    """
    marks = "".join(
        character
        for character in map(chr, range(sys.maxunicode + 1))
        if unicodedata.category(character).startswith("M")
    )
    letter = rf"[^\W_](?:[{marks}]|[\u200c\u200d](?=[^\W_]))*"
    return re.compile(rf"(?:{letter})+(?:['’](?:{letter})+)*")


def _aligned(sources, targets):
    """For each target word of each pair, the index of its most probable source word; −1 if none."""
    source_ids, target_ids = ({} for _ in range(2))
    groups, source_words, target_words = [], [], []
    for source, target in zip(sources, targets, strict=True):
        row = [source_ids.setdefault(word, len(source_ids)) for word in (*source, "")]
        column = [target_ids.setdefault(word, len(target_ids)) for word in target]
        source_words.append(np.tile(row, len(column)))
        target_words.append(np.repeat(column, len(row)))
        groups.append(np.full(len(column), len(row)))
    sizes = np.concatenate(groups)
    group = np.repeat(np.arange(len(sizes)), sizes)
    keys = np.concatenate(source_words).astype("int64") * len(target_ids)
    keys += np.concatenate(target_words)
    cells, cell = np.unique(keys, return_inverse=True)
    source_of_cell = cells // len(target_ids)
    probabilities = np.ones(len(cells))
    for _ in range(_ITERATIONS):
        shares = probabilities[cell]
        shares /= np.bincount(group, shares)[group]
        probabilities = np.bincount(cell, shares, len(cells))
        probabilities /= np.bincount(source_of_cell, probabilities)[source_of_cell]
    return _places(probabilities[cell], sizes, [len(target) for target in targets])


def _places(probabilities, sizes, lengths):
    """Index of the largest probability in each group; −1 for the last one, the empty word."""
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    group = np.repeat(np.arange(len(sizes)), sizes)
    hits = np.nonzero(probabilities == np.maximum.reduceat(probabilities, starts)[group])[0]
    _, first = np.unique(group[hits], return_index=True)
    places = hits[first] - starts
    rows = iter(np.where(places == sizes - 1, -1, places).tolist())
    return [list(itertools.islice(rows, length)) for length in lengths]


def _consistent(links, num_sources):
    """Yields pairs of spans, `(first, last)` each, whose links all stay within the pair."""
    target_of, source_of = dict(links), {j: i for i, j in links}
    for first in sorted(target_of):
        for last in range(first, min(first + _MAX_SOURCE_WORDS, num_sources)):
            if last not in target_of:
                continue
            places = [target_of[i] for i in range(first, last + 1) if i in target_of]
            low, high = min(places), max(places)
            inside = (source_of[j] for j in range(low, high + 1) if j in source_of)
            if high - low < _MAX_TARGET_WORDS and all(first <= i <= last for i in inside):
                yield (first, last), (low, high)


def _phrase(text, words, span):
    """The words of a span, or None if there is more than spaces between them."""
    chosen = words[span[0] : span[1] + 1]
    gaps = (text[left.end() : right.start()] for left, right in itertools.pairwise(chosen))
    return None if any(gap.strip() for gap in gaps) else " ".join(word[0] for word in chosen)
