"""Variants of training text: kinds of text that people type and that a corpus has too little of."""

import functools
import itertools
import logging
import re

import numpy as np

from aiayn_keras.data.added_text import draw_copied_text, draw_name, extract_phrases
from aiayn_keras.data.parallel_text import ParallelText
from aiayn_keras.data.typing_habits import LetterCase, has_case, in_shorthand
from aiayn_keras_light.checks import check_integer, check_number
from aiayn_keras_light.source_words import has_english_words

logger = logging.getLogger(__name__)

_MIN_SENTENCES, _MAX_SENTENCES = 2, 4
_CLOSING_MARKS = "\"'»”’)]」』）】》"
_FULL_STOPS = tuple(".。｡।॥۔։።။។")
_CALLS_AND_QUESTIONS = "!?！？؟፧"
_FINAL_MARKS = (*_FULL_STOPS, *_CALLS_AND_QUESTIONS, "…")
_MARKS_WITHOUT_SPACE = tuple("。｡！？")
"""Marks that are not followed by a space, in Chinese and Japanese."""
_NAME = re.compile(r"\b[^\W\d_a-z][^\W\d_A-Z]+\b")
_NUMBER = re.compile(r"[0-9]+")
_NUMBER_WITH_MARKS = re.compile(r"[0-9]+(?:[.,:/-][0-9]+)*")
_WORD = re.compile(r"[^\W\d_]{3,}")
_FORMS_OF_NUMBERS = (
    *((0.03, form) for form in ((1, ".", 1), (2, ".", 2), (3, ".", 2), (2, ".", 3))),
    *((0.02, form) for form in ((1, ":", 2), (2, ":", 2), (3, "-", 4), (3, "-", 3, "-", 4))),
    *((0.02, form) for form in ((1, ",", 3), (2, ",", 3), ("+", 2, " ", 3, " ", 3, " ", 3))),
    *((0.02, form) for form in ((1, ",", 3, ".", 2), (2, ",", 3, ".", 2), (3, ",", 3, ".", 2))),
    *((0.01, form) for form in ((3, ",", 3), (1, ",", 3, ",", 3), ("-", 1), ("-", 2))),
)
"""A row each for decimals and prices; times and telephone numbers; thousands, and telephone numbers
with a country code; amounts with groups and decimals; and millions and numbers below zero. For each
form its share, and the numbers of digits between its signs."""
_ROUND_GROUPS = 0.2
"""Share of the groups after the first that are zeros, as in `1,000` and `5.00`."""
_KEYBOARD = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_MAX_DIGITS = 5
MAX_VARIANTS = 100
"""Maximum number of times that a text is augmented."""
_CAPITALIZED_PHRASES = 0.5
_SHORTHAND_WITHOUT_MARK = 0.5
_FEW = 100
"""Number of pairs below which their language is not judged."""
_MIN_ENGLISH = 0.02
"""Minimum share of English sources with a frequent English word: Tatoeba's first 5,000, of one to
four words, have 0.37, and German and French captions 0.001."""
_QUOTATION_MARKS = ('""', "''", "“”", "„“", "«»", "‘’", "‚‘")


def augment(
    text: ParallelText,
    *,
    joined: float = 0.0,
    lower_cased: float = 0.0,
    unpunctuated: float = 0.0,
    upper_cased: float = 0.0,
    title_cased: float = 0.0,
    typing_errors: float = 0.0,
    numbers: float = 0.0,
    names: float = 0.0,
    copied: float = 0.0,
    quoted: float = 0.0,
    shorthand: float = 0.0,
    phrases: float = 0.0,
    variants: int = 1,
    seed: int = 0,
) -> ParallelText:
    """Converts some single sentences into other kinds of text that people type.

    A model trained only on single sentences translates the first of two sentences, skips the
    second, and scores the result highly; one that has read few capitals, numbers, strange names or
    emoji writes something else in their place. So, in this order:

    - Copies of pairs with numbers or names are added, with other numbers or names on both sides.
    - Words and short phrases are added with their translations, which are found by aligning the
      words of all pairs (`extract_phrases`).
    - Some sentences are joined with spaces into texts of 2, 3 or 4, and then no longer occur alone.
      Pairs are joined only if both sides end with a final mark, `.`, `!`, `?`, `…` or that of
      another script (`。`, `।`, `؟`), optionally followed by closing quotes. No space follows those
      of Chinese and Japanese.
    - Some texts lose the final mark of their source. A full stop is removed from both sides: people
      who omit it do not expect it in the translation.
    - Sources are written as in an English chat (`in_shorthand`).
    - Sources are lower-cased, or their words capitalized, while targets stay as they are; or both
      sides are written in capitals, if the source's script has them. See `LetterCase` for Turkish,
      Greek and Georgian.
    - Texts are put into quotation marks: those of a typewriter in the target, those of a typewriter
      or of print in the source.
    - Emoji, signs, addresses, or words in another script are added to both sides, to be copied.
    - Sources get a typing error: a letter is left out, doubled, exchanged with the next one, or
      replaced by its neighbor on the keyboard.

    Args:
        text: Pairs of sentences.
        joined: Share of the pairs to join into longer texts, in [0, 1].
        lower_cased: Share of the resulting texts whose source is lower-cased, in [0, 1].
        unpunctuated: Share of the resulting texts that lose the final mark, in [0, 1].
        upper_cased: Share of the resulting texts written in capitals, in [0, 1].
        title_cased: Share of the resulting texts whose source words are capitalized, in [0, 1].
        typing_errors: Share of the resulting texts with a typing error, in [0, 1].
        numbers: Number of added pairs with other numbers, as a share of all pairs, in [0, 1]. They
            are made from pairs whose sides write the same numbers in the same way, if any do.
        names: Number of added pairs with an invented name, as a share of all pairs, in [0, 1]. They
            are made from pairs that have a capitalized word in common, if there are any.
        copied: Share of the resulting texts with something to copy, in [0, 1].
        quoted: Share of the resulting texts in quotation marks, in [0, 1].
        shorthand: Share of the resulting texts whose source is in English shorthand, in [0, 1].
        phrases: Number of added words and phrases, as a share of all pairs, in [0, 1].
        variants: Number of times that all of this is done, at most 100, each time with other random
            choices. The text becomes that many times as long.
        seed: Non-negative seed of all random choices.

    Returns:
        A `ParallelText`, with the joined texts at the end.

    Raises:
        ValueError: If a share, the number of variants or the seed is out of range.
        TypeError: If a share is not a number, or one of the others is not an integer.

    Example:
    >>> text = ParallelText(["How are you?", "Hello."], ["¿Cómo estás?", "Hola."])
    >>> augment(text, joined=1.0)[0]
    ('Hello. How are you?', 'Hola. ¿Cómo estás?')
    """
    shares = {
        "joined": joined,
        "lower_cased": lower_cased,
        "unpunctuated": unpunctuated,
        "upper_cased": upper_cased,
        "title_cased": title_cased,
        "typing_errors": typing_errors,
        "numbers": numbers,
        "names": names,
        "copied": copied,
        "quoted": quoted,
        "shorthand": shorthand,
        "phrases": phrases,
    }
    for name, share in shares.items():
        check_number(name, share, 0, 1)
    variants = check_integer("variants", variants, 1, MAX_VARIANTS)
    seed = check_integer("seed", seed, 0, 2**63 - 1)
    if not any(shares.values()):
        return text
    pairs = list(text)
    tables = [table for _, table in sorted(extract_phrases(pairs).items())] if phrases else []
    if phrases and not tables:
        logger.warning(
            "%s: `phrases` adds nothing, since no words that occur twice could be aligned; text "
            "without spaces between words has none.",
            text.name,
        )
    cases = tuple(map(LetterCase, (text.sources, text.targets)))
    changed = []
    for variant in range(variants):
        changed += _changed(pairs, tables, cases, shares, seed, variant)
    sides = zip(*changed, strict=True) if changed else ((), ())
    return ParallelText(*sides, text.name)


def warn_of_unused_shares(text, **shares):
    """Warns of kinds of changes that no pair of a text allows; `augment` does not make them.

    Args:
        text: A `ParallelText`.
        **shares: Those of `augment`.
    """
    random = np.random.default_rng(0)
    tests = {
        "joined": (
            "a final mark on both sides",
            lambda *pair: all(map(_ends_with_a_mark, pair)),
        ),
        "lower_cased": (
            "capitals in its source",
            lambda source, _: source.lower() != source,
        ),
        "unpunctuated": (
            "a final mark that can be left out",
            lambda *pair: _without_final_mark(*pair) != pair,
        ),
        "upper_cased": ("a source in a script with capitals", lambda source, _: has_case(source)),
        "title_cased": ("a source in a script with capitals", lambda source, _: has_case(source)),
        "typing_errors": (
            "a word of three letters in its source",
            lambda source, _: _WORD.search(source),
        ),
        "numbers": (
            "the same numbers on both sides",
            lambda *pair: _with_other_numbers(*pair, random),
        ),
        "names": (
            "the same capitalized word on both sides",
            lambda *pair: _with_other_name(*pair, random),
        ),
    }
    for name, (wanted, has) in tests.items():
        if shares.get(name) and not any(itertools.starmap(has, text)):
            logger.warning(
                "%s: `%s` has no effect, because no pair has %s.", text.name, name, wanted
            )
    if shares.get("shorthand"):
        num_english = sum(map(has_english_words, text.sources))
        if num_english < _MIN_ENGLISH * len(text) and len(text) >= _FEW:
            logger.warning(
                "%s: `shorthand` writes sources as in an English chat (c for see), and words of "
                "other languages that are spelled alike, too; but only %s of %s sources have a "
                "frequent English word. Leave it out if they are in another language.",
                text.name,
                f"{num_english:,}",
                f"{len(text):,}",
            )


def _changed(pairs, tables, cases, shares, seed, variant):
    """Makes one variant of the pairs.

    Args:
        pairs: List of tuples of two sentences.
        tables: Lists of pairs of phrases, those of 1, 2 … words.
        cases: The `LetterCase` of each side.
        shares: Dictionary from the names of the changes to their shares.
        seed: As in `augment`.
        variant: Number of the variant.
    """
    # A generator for each kind, so that a share does not change what another kind draws.
    generators = {name: np.random.default_rng((seed, i, variant)) for i, name in enumerate(shares)}
    random = np.random.default_rng((seed, 0, variant))
    num_phrases = round(shares["phrases"] * len(pairs))
    pairs = [
        *pairs,
        *_draw_phrases(tables, num_phrases, cases, generators["phrases"]),
        *_vary(pairs, shares["numbers"], _with_other_numbers, generators["numbers"]),
        *_vary(pairs, shares["names"], _with_other_name, generators["names"]),
    ]
    pairs = _join(pairs, shares["joined"], random)
    changes = random.random((len(pairs), 2)) < (shares["unpunctuated"], shares["lower_cased"])
    for number, (drop_mark, to_lower) in enumerate(changes):
        if drop_mark:
            pairs[number] = _without_final_mark(*pairs[number])
        if to_lower:
            pairs[number] = (cases[0].lower(pairs[number][0]), pairs[number][1])
    for name, change in _changes(cases).items():
        generator = generators[name]
        for number in np.nonzero(generator.random(len(pairs)) < shares[name])[0]:
            pairs[number] = change(*pairs[number], generator)
    return pairs


def _draw_phrases(tables, number, cases, random):
    """Draws phrases with replacement, of all lengths equally often, some with initial capitals."""
    drawn = []
    for i in random.integers(len(tables), size=number if tables else 0):
        pair = tables[i][random.integers(len(tables[i]))]
        if random.random() < _CAPITALIZED_PHRASES:
            pair = tuple(case.capitalized(phrase) for case, phrase in zip(cases, pair, strict=True))
        drawn.append(pair)
    return drawn


def _vary(pairs, share, change, random):
    """Returns changed copies of some of the pairs that can be changed, drawn with replacement."""
    number = round(share * len(pairs))
    candidates = [pair for pair in pairs if change(*pair, random)] if number else []
    if not candidates:
        return []
    return [change(*candidates[i], random) for i in random.integers(len(candidates), size=number)]


def _with_other_numbers(source, target, random):
    """Exchanges the numbers of both sides; None unless both write the same numbers identically.

    A model that reads `3,000` as `3.000` and copies decimals would write `3.000.50`.
    """
    written = _NUMBER_WITH_MARKS.findall(source)
    if not written or sorted(written) != sorted(_NUMBER_WITH_MARKS.findall(target)):
        return None
    found = _NUMBER.findall(source)
    # 1 takes the singular, so it stays. In a time, a date or a group of three, the length stays.
    plural = set(found) - {"0", "1"}
    joined = {
        number for number in plural if re.search(rf"[.,:/-]{number}|{number}[.,:/-]\d", source)
    }
    others = {
        number: _draw_number(len(number) if number in joined else None, random)
        for number in sorted(plural)
    }
    return tuple(
        _NUMBER.sub(lambda match: others.get(match[0], match[0]), side) for side in (source, target)
    )


def _draw_number(num_digits, random):
    """Draws a number above 1, all lengths equally often, or now and then one with a mark in it.

    Args:
        num_digits: Number of its digits; None for a number of any kind.
        random: A `numpy.random.Generator`.
    """
    if num_digits is None:
        kind = random.random()
        for share, form in _FORMS_OF_NUMBERS:
            if kind < share:
                return _draw_form(form, random)
            kind -= share
    return _draw_digits(num_digits or int(random.integers(1, _MAX_DIGITS + 1)), random)


def _draw_form(form, random):
    """Draws a number of a form, whose later groups may begin with zeros, or be zeros."""
    parts = []
    for part in form:
        if isinstance(part, str):
            parts.append(part)
        elif not any(map(str.isdigit, parts)):
            parts.append(_draw_digits(part, random))
        elif random.random() < _ROUND_GROUPS:
            parts.append("0" * part)
        else:
            parts.append(f"{random.integers(10**part):0{part}}")
    return "".join(parts)


def _draw_digits(num_digits, random):
    low = 10 ** (num_digits - 1) if num_digits > 1 else 2
    return str(random.integers(low, 10**num_digits))


def _with_other_name(source, target, random):
    """Exchanges a capitalized word that each side has once, or returns None if there is none."""
    sides = [_NAME.findall(side) for side in (source, target)]
    shared = sorted(
        word for word in set(sides[0]) & set(sides[1]) if [s.count(word) for s in sides] == [1, 1]
    )
    if not shared:
        return None
    old, new = shared[random.integers(len(shared))], draw_name(random)
    return tuple(re.sub(rf"\b{old}\b", lambda _: new, side) for side in (source, target))


def _join(pairs, share, random):
    """Returns the pairs that stay alone, followed by the joined ones."""
    chosen = random.random(len(pairs)) < share
    alone, parts = [], []
    for pair, is_part in zip(pairs, chosen, strict=True):
        complete = is_part and all(map(_ends_with_a_mark, pair))
        (parts if complete else alone).append(pair)
    order = (parts[number] for number in random.permutation(len(parts)))

    def draw_size():
        return int(random.integers(_MIN_SENTENCES, _MAX_SENTENCES + 1))

    while group := list(itertools.islice(order, draw_size())):
        alone.append(tuple(map(_as_one_text, zip(*group, strict=True))))
    return alone


def _as_one_text(sentences):
    text = sentences[0]
    for sentence in sentences[1:]:
        space = "" if text.rstrip(_CLOSING_MARKS).endswith(_MARKS_WITHOUT_SPACE) else " "
        text += space + sentence
    return text


def _ends_with_a_mark(sentence):
    return sentence.rstrip(_CLOSING_MARKS).endswith(_FINAL_MARKS)


def _without_final_mark(source, target):
    """Removes the source's final mark; a full stop is removed from both sides or from neither."""
    if source.endswith(_FULL_STOPS):
        if _ends_with_one_stop(source) and _ends_with_one_stop(target):
            return source[:-1], target[:-1]
        return source, target
    return source.rstrip(_CALLS_AND_QUESTIONS), target


def _ends_with_one_stop(sentence):
    return sentence.endswith(_FULL_STOPS) and not sentence[:-1].endswith(_FULL_STOPS)


def _in_capitals(cases, source, target, random):
    if not has_case(source):  # Nobody could tell that the target is to be in capitals.
        return source, target
    return tuple(case.upper(side) for case, side in zip(cases, (source, target), strict=True))


def _in_title_case(cases, source, target, random):
    return cases[0].title(source), target


def _in_quotation_marks(source, target, random):
    opening, closing = _QUOTATION_MARKS[random.integers(len(_QUOTATION_MARKS))]
    return f"{opening}{source}{closing}", f'"{target}"'


def _with_copied_text(source, target, random):
    """Adds a text to both sides: at the end, at the beginning, or instead of the full stops."""
    copied = draw_copied_text(random)
    if random.random() < 0.15:
        return f"{copied} {source}", f"{copied} {target}"
    if random.random() < 0.3:
        source, target = _without_final_mark(source, target)
    return f"{source} {copied}", f"{target} {copied}"


def _in_shorthand(source, target, random):
    if random.random() < _SHORTHAND_WITHOUT_MARK:
        source, target = _without_final_mark(source, target)
    return in_shorthand(source, random), target


def _with_typing_error(source, target, random):
    words = list(_WORD.finditer(source))
    if not words:
        return source, target
    word = words[random.integers(len(words))]
    place = int(random.integers(word.start(), word.end() - 1))
    letter, following = source[place : place + 2]
    changed = (
        following,
        letter + letter + following,
        following + letter,
        _neighbor(letter, random) + following,
    )
    return source[:place] + changed[random.integers(len(changed))] + source[place + 2 :], target


def _neighbor(letter, random):
    """Draws the key to the left or right on an English keyboard; other letters stay."""
    row = next((row for row in _KEYBOARD if letter.lower() in row), "")
    if not row:
        return letter
    place = row.index(letter.lower()) + random.choice((-1, 1))
    other = row[min(max(place, 0), len(row) - 1)]
    return other.upper() if letter.isupper() else other


def _changes(cases):
    """Functions that change a text, in the order of their use, by the names of their shares."""
    return {
        "shorthand": _in_shorthand,
        "upper_cased": functools.partial(_in_capitals, cases),
        "title_cased": functools.partial(_in_title_case, cases),
        "quoted": _in_quotation_marks,
        "copied": _with_copied_text,
        "typing_errors": _with_typing_error,
    }
