"""Placeables of texts: parts that stay as they are in a translation, such as URLs.

The word is that of translation tools. A placeable is translated with its text as a foreign letter,
which models of this package learn to copy, and then put back.
"""

import dataclasses
import heapq
import re

from aiayn_keras_light.acronyms import translate_acronyms
from aiayn_keras_light.alternatives import translate_alternatives
from aiayn_keras_light.checks import check_texts
from aiayn_keras_light.inner_emoji import HEARTS, with_emoji, without_emoji
from aiayn_keras_light.lost_numbers import lost_numbers, words_of_numbers
from aiayn_keras_light.placeable_patterns import LEAD, emoji, marks_within, placeable_in_line
from aiayn_keras_light.source_words import as_read
from aiayn_keras_light.spaces import is_spaced_letter, spaced_from_latin
from aiayn_keras_light.text_batches import naming_rows
from aiayn_keras_light.text_parts import (
    begin_alike,
    joined,
    translate_ellipses,
    with_asides,
    without_asides,
)
from aiayn_keras_light.translating import as_translation

PLACEABLES = ("translate", "keep")
"""Treatments: the model translates them like other words, or they stay as they are."""

LETTERS = "ヌメソラワチホユケトムイ"
"""The letters that stand for placeables."""
_PICTURES = "😀🎉🐶🌸🍕🚗📷🎵🌍🔑🎁"
"""The pictures that stand for emoji; models add no words around them, as they do around a name."""

CLOCK_TIMES = ("17:45", "18:35", "19:25", "20:15")
"""Times that stand in for times such as `5pm`, which small models move to the morning."""

_SIGN_OF_ONE = re.compile(
    r",[A-Z\"]|[/@#\\:;=<>{}\[\]|*_%$&^`~+0-9()\t\x1b§©®»·›•²³¹¼-¾\u2070-\U0010ffff]|\.\w|--|[xX]D|localhost"
    r"|[a-z:] A\b|[a-z][A-Z]|[IVXLCDM]{2}|(?:Ctrl|Alt|Cmd|Shift)-|\bEsc\b|Pg[UD]|[A-Z]/[A-Z]|X[LS]"
    r"|[A-Z]['’][A-Z]|[A-Z]\. [A-Z]\.|\b[A-F]-(?!\w)|[A-Z] ?[x×] ?[A-Z]|(?<!\S)-\w"
    r"|[A-Fa-f]-[0-9A-Fa-f]{2}|[ʕᴀ-ᴢ]|'{3}|\"{3}|\.{4}|[.!?…] [-–—] "
)
"""A part of every placeable: most lines have none, and are not searched further."""
PAIRS = dict(zip("([{<\"'“‘«„", ")]}>\"'”’»“", strict=True))
"""Brackets and quotation marks, which are kept together with a placeable alone between them."""
_BRACKETED = re.compile(r"\(([^()]*[^\W\d_]{2}[^()]*)\)|「([^「」]+)」")
"""Words in brackets, which are translated as a text of their own."""
_CODE = r"[A-Za-z]{2,3}(?:[_@-]\w+)*"
TARGET_TAG = re.compile(rf"(?:\s*(?:>>{_CODE}<<|<2{_CODE}>)\s*)?")
"""The target language before a text, as models of several languages read it, or nothing."""
_IS_CODE = re.compile(r"\W*[A-HJ-Z]\W*")
_IS_BETWEEN_LABELS = re.compile(r"[\W_]*(?:\w{1,3}[.):-]\s*)?")
_FIRST_SIGNS = re.compile(r"\W*")
_SPACES = "".join(chr(n) for n in range(0x3001) if chr(n).isspace())
_LAST_SIGNS = _SPACES + "([{\"'“‘«:;,–—-"
_SECONDS = ("</", "{{/", "{%")
"""Beginnings of the second marks of pairs; a model would lose words between the two marks."""


@dataclasses.dataclass(frozen=True)
class _Masked:
    """A text with letters for its placeables.

    Attributes:
        text: The text for the model; empty if it has no letters outside placeables, or must be cut.
        words: Dictionary from a letter or time to its placeable. If there are more placeables than
            letters, its key is a zero byte, which no translation has.
        own: The text itself if it is its own translation; else None.
    """

    text: str
    words: dict
    own: str | None = None

    def emoji(self):
        """Dictionary from a picture in the text to its emoji."""
        return {sign: word for sign, word in self.words.items() if sign in _PICTURES}

    def restore(self, translation):
        """A `Translation` of the hypotheses that have each placeable once; None if none has.

        The placeables are put back into them.
        """
        if self.own is not None:
            return as_translation(
                [dataclasses.replace(each, text=self.own) for each in translation.hypotheses]
            )
        kept = [
            dataclasses.replace(each, text=self._fill(each.text))
            for each in translation.hypotheses
            if all(each.text.count(letter) == 1 for letter in self.words)
            and not any(self._is_first_only_in(each.text, *heart) for heart in self.emoji().items())
        ]
        return as_translation(kept) if kept else None

    def _is_first_only_in(self, translation, picture, word):
        """True if the words before a heart that is a verb are lost, as `I` of `I ❤ tea`."""
        is_first = translation.startswith(picture) and not self.text.startswith(picture)
        return is_first and word[0] in HEARTS

    def _fill(self, text):
        stand_ins = "|".join(map(re.escape, self.words))
        return re.sub(stand_ins, lambda match: self.words[match[0]], text)


def translate_placeables(texts, translate, progress=None):
    """Translates texts, and keeps their placeables, and emoji, bullets and the like at their ends.

    If the placeables of a text do not come back exactly once each, or a number is lost, it is cut
    at them, and the parts between them are translated alone. So is a text with marks of markup, or
    with a placeable beside a letter. A sentence with emoji inside is translated without them, see
    `aiayn_keras_light.inner_emoji`. A target language before a text, as `>>fra<<` or `<2fr>`, is
    given to the model with each part.

    Args:
        texts: List of strings.
        translate: Function of a list of strings and of `progress` that gives a `Translation` for
            each.
        progress: As in `TransformerSeq2SeqLM.translate`.

    Returns:
        List of `Translation`. Scores and wordpieces are those of what the model read.

    Raises:
        TextError: As `translate`, with the place of the text in `texts`.
    """
    pattern, texts = placeable_in_line(), check_texts("texts", texts)
    found, rows_of_tags = [None] * len(texts), {}
    for row, text in enumerate(texts):
        rows_of_tags.setdefault(TARGET_TAG.match(text)[0], []).append(row)
    for tag, rows in (rows_of_tags or {"": []}).items():
        words = [as_read(texts[row].removeprefix(tag), pattern) for row in rows]
        with naming_rows(rows):
            translated = _translate_alternatives(
                words, _with_tag(translate, tag), progress, pattern
            )
        for row, each in zip(rows, translated, strict=True):
            found[row] = each
    return found


def _with_tag(translate, tag):
    """A function like `translate` that puts a tag before texts with letters.

    Texts without letters may be their own translation.
    """

    def translate_tagged(texts, progress):
        tagged = [tag + text if any(map(str.isalpha, text)) else text for text in texts]
        return translate(tagged, progress)

    return translate_tagged if tag else translate


def translate_emoji(texts, translate):
    """Translates texts, and keeps their emoji and numbers; see `translate_placeables`.

    Args:
        texts: List of strings.
        translate: Function of a list of strings that gives a `Translation` for each.

    Returns:
        List of `Translation`.
    """
    return _translate_alternatives(texts, lambda texts, _: translate(texts), None, emoji())


def _translate_alternatives(texts, translate, progress, pattern):
    def translate_words(texts, progress):
        return translate_acronyms(texts, translate, LETTERS, progress)

    def translate_parts(texts, progress):
        return _translate_around(texts, translate_words, progress, pattern)

    def translate_each(texts, progress):
        return translate_ellipses(texts, translate_parts, progress)

    return translate_alternatives(texts, translate_each, placeable_in_line(), progress)


def _translate_around(texts, translate, progress, pattern):
    """Translates texts around their placeables, and words in brackets as texts of their own."""
    taken = [without_asides(text, pattern) for text in texts]
    found = _translate_sentences([text for text, _ in taken], translate, progress, pattern)
    rows = [row for row, (_, asides) in enumerate(taken) for _ in asides]
    if not rows:
        return found
    sources = [aside for _, asides in taken for aside in asides]
    with naming_rows(rows):
        others = _translate_sentences(sources, translate, None, pattern)
    translated = {}
    for row, source, other in zip(rows, sources, others, strict=True):
        words = source if other is None else begin_alike(source, other.text)
        translated.setdefault(row, []).append(words)
    for row, asides in translated.items():
        if found[row]:
            found[row] = as_translation(
                [
                    dataclasses.replace(each, text=with_asides(each.text, asides))
                    for each in found[row].hypotheses
                ]
            )
    return found


def _translate_sentences(texts, translate, progress, pattern):
    framed = [_framed(text) for text in texts]
    texts = [text for _, text, _ in framed]
    masked = [_mask(text, pattern) for text in texts]
    found = translate([each.text for each in masked], progress)
    better = _translate_without_emoji(masked, found, translate)
    failed, again, lost = [], {}, {}
    for row, each in enumerate(masked):
        if found[row] is None:
            continue
        if each.words:
            found[row] = better.get(row) or each.restore(found[row])
        if found[row] is None:
            failed.append(row)
        numbers = lost_numbers(texts[row], found[row].text) if found[row] else frozenset()
        if numbers or (found[row] is None and not each.words.keys().isdisjoint(CLOCK_TIMES)):
            again[row] = _mask(texts[row], pattern, numbers, clocks=())
            lost[row] = numbers
    again = {row: each for row, each in again.items() if each.text and each.words}
    translated = translate([each.text for each in again.values()], None) if again else []
    for (row, each), translation in zip(again.items(), translated, strict=True):
        translation = translation and each.restore(translation)
        if translation and not lost_numbers(texts[row], translation.text):
            found[row], masked[row] = translation, each
            lost[row] = frozenset()
    failed = sorted({row for row in failed if found[row] is None} | {r for r in again if lost[r]})
    if failed:
        cut = [_cut(texts[row], pattern, lost.get(row, frozenset())) for row in failed]
        rows = [row for row, parts in zip(failed, cut, strict=True) for _ in parts[1::2]]
        with naming_rows(rows):
            translated = translate([part for parts in cut for part in parts[1::2]], None)
        remaining = iter(translated)
        for row, parts in zip(failed, cut, strict=True):
            others = [next(remaining) for _ in parts[1::2]]
            for place, other in enumerate(others):
                if other and _IS_BETWEEN_LABELS.fullmatch(parts[2 * place]):  # Home > Shoes
                    others[place] = _with_capital(parts[2 * place + 1], other)
            found[row] = joined(parts, others)
    return [
        each
        if each is None
        else _between(first, _with_capital(text, _with_signs(text, each, kept.words)), last)
        for (first, text, last), each, kept in zip(framed, found, masked, strict=True)
    ]


def _with_capital(source, translation):
    """Begins a translation with a capital letter if its source begins with a capitalized word.

    Models that have read dictionaries write `piso mojado` for the sign `Wet floor`. Words that are
    copied from the source, such as `iPhone` and `user_name`, keep their small letter.
    """
    if not (source[:1].isupper() and source[1:2].islower()):
        return translation
    if not any(each.text[:1].islower() for each in translation.hypotheses):
        return translation

    def written(text):
        word = text.split(maxsplit=1)[0].rstrip(",.:;!?") if text.strip() else ""
        is_name = not (word.isalpha() and word.islower()) and word in source
        return text if is_name else text[:1].upper() + text[1:]

    return as_translation(
        [dataclasses.replace(each, text=written(each.text)) for each in translation.hypotheses]
    )


def _translate_without_emoji(masked, found, translate):
    """Translations made without inner emoji, by the rows of the texts for which they are better.

    Args:
        masked: List of `_Masked`.
        found: List of their `Translation`.
        translate: As in `translate_emoji`, with None as its second argument.
    """
    plain = {
        row: text
        for row, each in enumerate(masked)
        if found[row] and each.text and (text := without_emoji(each.text, each.emoji()))
    }
    translated = translate(list(plain.values()), None) if plain else []
    better = {}
    for row, translation in zip(plain, translated, strict=True):
        each = masked[row]
        made = translation and with_emoji(translation, found[row], each.emoji(), each.text)
        better[row] = made and each.restore(made)
    return better


_COMMA = re.compile(r"(?<![\d.,])(\d*)(, ?)(?=(\d+))")
_BEHIND_COMMA = re.compile(r", (\S*\w)")
_RANGE = re.compile(r"(?<![\w.,–—-])(\d+(?:[.,:]\d+)*)[–—-](\d+(?:[.,:]\d+)*)(?![\w–—-])")


def _with_signs(source, translation, placeables):
    """Gives a translation its source's dashes and commas between numbers, and commas before codes.

    Models read the dash of `6–8` as a hyphen, and write a number after a comma as its decimals.
    """
    dashes = {}
    if not source.isascii():
        dashes = {match.groups(): match[0] for match in _RANGE.finditer(source)}
    commas = {(before, after) for before, comma, after in _COMMA.findall(source) if comma[1:]}
    if not dashes and ", " not in source:
        return translation

    def written(text):
        text = _RANGE.sub(lambda match: dashes.get(match.groups(), match[0]), text)
        text = _COMMA.sub(
            lambda match: f"{match[1]}, " if (match[1], match[3]) in commas else match[0], text
        )
        return _with_commas(source, text, placeables)

    return as_translation(
        [dataclasses.replace(each, text=written(each.text)) for each in translation.hypotheses]
    )


def _with_commas(source, text, placeables):
    """A translation with the commas of its source before placeables and codes.

    Models write colons for some, as they do after the name in a greeting: `Boston: MA 02108`.
    """
    words = [*_BEHIND_COMMA.findall(source), *placeables.values()]
    for word in dict.fromkeys(words):
        is_code = word[1:].isupper() or not (word.isalpha() or word.isdecimal())
        is_code |= word in placeables.values()
        if is_code and f", {word}" in source and f": {word}" not in source:
            text = text.replace(f": {word}", f", {word}")
    return text


def _framed(text):
    """A text's first signs such as emoji and bullets, its words, and its last signs, with spaces.

    A small model would lose some of them, and translate some sentences differently.
    """
    lead = LEAD.match(text)
    start, end = lead.end() if lead else 0, len(text.rstrip())
    if not text.isascii():
        spans = [match.span() for match in emoji().finditer(text, start)]
        for first, last in spans:
            if text[start:first].strip():
                break
            start = last
        for first, last in reversed(spans):
            is_of_word = text[first] in "™®℠" and text[first - 1 : first].isalnum()
            if text[last:end].strip() or first < start or is_of_word:
                break
            end = _skip(text, first, -1, str.isspace)
    start = _skip(text, start, 1, str.isspace)
    inside = _BRACKETED.fullmatch(text, start, end)
    if inside:
        start, end = inside.span(inside.lastindex)
    first, words, last = text[:start], text[start:end], text[end:]
    if not words or not (first + last).strip():
        return "", text, ""
    return first, words, last


def _between(first, translation, last):
    if not first and not last:
        return translation
    return as_translation(
        [
            dataclasses.replace(each, text=f"{first}{each.text}{last}")
            for each in translation.hypotheses
        ]
    )


def check_placeables(placeables, **others):
    """Checks the option `placeables` and those that it excludes.

    Args:
        placeables: One of `PLACEABLES`.
        **others: Options about the wordpieces that the model reads and writes, which are not those
            of the texts if placeables are kept; None if they are not given.

    Raises:
        ValueError: For any other value, or one of the other options beside `"keep"`.
    """
    if placeables not in PLACEABLES:
        raise ValueError(
            f'`placeables` must be "translate" or "keep". Received: placeables={placeables!r:.60}.'
        )
    for name, value in others.items():
        if placeables == "keep" and value is not None:
            raise ValueError(
                f'`placeables="keep"` cannot be combined with `{name}`, which is about the '
                "wordpieces of the texts: choose one of them."
            )


def _spans(text, pattern, numbers=frozenset()):
    """Finds placeables, with brackets, quotation marks and digits around them.

    Args:
        text: A string.
        pattern: Compiled pattern of a placeable.
        numbers: Set of numbers that are placeables, too, with what is written together with them.

    Returns:
        List of tuples: where a placeable begins and ends, whether the text must be cut at it, and
        whether it is a time. Those side by side are one; marks of markup cut a text only where they
        are not beside another placeable, or where a letter is beside them.
    """
    spans = []
    matches = heapq.merge(
        pattern.finditer(spaced_from_latin(text)) if _SIGN_OF_ONE.search(text) else (),
        words_of_numbers(text, numbers) if numbers else (),
        marks_within(text),
        key=re.Match.start,
    )
    for match in matches:
        start, end = match.span()
        is_mark, is_second = match.lastgroup == "cut", match[0].startswith(_SECONDS)
        while start and end < len(text) and PAIRS.get(text[start - 1]) == text[end]:
            start, end = start - 1, end + 1
        is_time = match.lastgroup == "clock"
        if spans and start <= spans[-1][1]:
            start, last, was_mark, was_second, _ = spans.pop()
            is_mark, is_second, is_time = is_mark and was_mark, is_second or was_second, False
            end = max(end, last)
        if match[0] not in "/ ":  # as in $5/month, whose number belongs to the words
            start, end = _skip(text, start, -1, str.isdecimal), _skip(text, end, 1, str.isdecimal)
        spans.append((start, end, is_mark, is_second, is_time))
    return [
        (start, end, is_mark or is_second or _is_beside_letter(text, start, end), is_time)
        for start, end, is_mark, is_second, is_time in spans
    ]


def _skip(text, place, step, is_skipped):
    """The next place, forwards or backwards, beyond characters of a kind."""
    while 0 <= place + min(step, 0) < len(text) and is_skipped(text[place + min(step, 0)]):
        place += step
    return place


def _is_beside_letter(text, start, end):
    beside = text[max(start - 1, 0) : start], text[end : end + 1]
    return any(map(is_spaced_letter, beside))


def without_signs(text):
    """Cuts a part of a sentence into leading signs, the text to translate, and trailing signs."""
    first = _FIRST_SIGNS.match(text)[0]
    rest = text[len(first) :]
    words = rest.rstrip(_LAST_SIGNS)
    return first, words, rest[len(words) :]


def _cut(text, pattern, numbers):
    """Divides a text into parts that are kept and translated, in turn; outer signs are kept."""
    parts, done = [""], 0
    for start, end, *_ in [*_spans(text, pattern, numbers), (len(text), len(text))]:
        between = text[done:start]
        is_code = parts[-1].rstrip(" ").endswith(("|", "\t")) and _IS_CODE.fullmatch(between)
        if any(map(str.isalpha, between)) and not is_code:
            first, words, last = without_signs(between)
            parts[-1] += first
            parts += [words, last]
        else:
            parts[-1] += between
        parts[-1] += text[start:end]
        done = end
    return parts


def _mask(text, pattern, numbers=frozenset(), clocks=CLOCK_TIMES):
    letters = (letter for letter in LETTERS if letter not in text)
    times = (time for time in clocks if time not in text)
    pictures = (picture for picture in _PICTURES if picture not in text)
    pieces, words, done, rest, is_cut = [], {}, 0, [], False
    for start, end, cuts, is_time in _spans(text, pattern, numbers):
        rest.append(text[done:start])
        is_emoji = not text.isascii() and not emoji().sub("", text[start:end])
        # Where there are more placeables than letters, the text is cut at them.
        letter = next(times, "") if is_time else ""
        letter = letter or next(pictures if is_emoji else letters, "\0")
        words[letter] = text[start:end]
        pieces += [rest[-1], letter]
        done = end
        is_cut |= cuts or letter == "\0"
    rest.append(text[done:])
    with_letters = [part for part in rest if any(map(str.isalpha, part))]
    if len(with_letters) != bool(words) and all(map(_IS_CODE.fullmatch, with_letters)):  # A → B
        return _Masked("", words or {"\0": text}, own=text)
    return _Masked("" if is_cut else "".join([*pieces, rest[-1]]), words)
