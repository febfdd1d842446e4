"""Emoji within a sentence, without which models translate it better.

Models have read few sentences with pictures. If an emoji is in the middle of one, they often write
different words. So the translation without emoji is used, and each emoji is put where the
translation with emoji has it.
"""

import dataclasses
import difflib
import itertools
import operator
import re

from aiayn_keras_light.spaces import UNSPACED_LETTER, UNSPACED_LETTERS
from aiayn_keras_light.translating import as_translation

_MAX_LOSS = 0.5
"""How much worse the translation without emoji may be, in nats of normalized score.

If an emoji stands for a word (`My 🐶 is sick.`), what is left without it is not a sentence, and its
translation is usually worse by more.
"""
_WORD = re.compile(rf"[{UNSPACED_LETTERS}]|[^\s{UNSPACED_LETTERS}]+")
HEARTS = "♥❤🧡💙💚💛💜🖤🤍🤎"
_FIRST_WORD = re.compile(r"(?:^|[.!?…]\s)\W*\w+\s?\Z")
_LAST_MARKS = re.compile(r"\W*\Z")
_PICTURE = re.compile(
    "[\u2600-\u26ff\u2702-\u2712\u2719-\u2767\U0001f000-\U0001faff\U000f0000-\U000fffff]|.\ufe0f"
)
"""The beginning of an emoji, or a sign of `asides`; not of arrows and ticks, which stand between
parts of a sentence."""
_NO_SPACE_AFTER, _NO_SPACE_BEFORE = "([{«“¿¡。，、！？；：", ".,;:!?…)]}»”。，、！？；："


def without_emoji(text, words):
    """Leaves out the emoji of a text in which pictures stand for them.

    Args:
        text: The text with pictures.
        words: Dictionary from a picture to its emoji.

    Returns:
        The text without the pictures and the spaces before them; None if there are none, or if one
        stands for a verb (`I ❤️ tea`), or is a sign between parts of a sentence (`one ➔ two`).
    """
    if not words or not all(map(_PICTURE.match, words.values())):
        return None
    parts = re.split("(" + "|".join(map(re.escape, words)) + ")", text)
    before = ""
    for part, picture in itertools.pairwise([*parts, ""]):
        before += part
        if picture in words and words[picture][0] in HEARTS and _FIRST_WORD.search(before):
            return None
    return "".join(part.rstrip() for part in parts[:-1:2]) + parts[-1]


def with_emoji(plain, masked, words, source):
    """Puts pictures into the translation of a text without them.

    Args:
        plain: `Translation` of `without_emoji(source, words)`.
        masked: `Translation` of `source`.
        words: Dictionary from a picture to its emoji.
        source: The text with pictures.

    Returns:
        A `Translation`; None if that with pictures is better.
    """
    best, end = masked.hypotheses[0], _LAST_MARKS.search(source)[0].lstrip()
    last = end[:1] if end[:1] in words else None
    if all(best.text.count(picture) == 1 for picture in words):
        if plain.hypotheses[0].normalized_score < best.normalized_score - _MAX_LOSS:
            return None
        source = best.text
    return as_translation(
        [
            dataclasses.replace(each, text=_with_pictures(each.text, source, words, last))
            for each in plain.hypotheses
        ]
    )


def _with_pictures(text, other, pictures, last):
    """A text with pictures beside the same words as in another text, and `last` at its end."""
    parts = re.split("(" + "|".join(map(re.escape, pictures)) + ")", other)
    words, others = list(_WORD.finditer(text)), [_WORD.findall(part) for part in parts[::2]]
    keys = [_key(word) for part in others for word in part], [_key(word[0]) for word in words]
    blocks = difflib.SequenceMatcher(None, *keys, autojunk=False).get_matching_blocks()
    same = {block.a + i: block.b + i for block in blocks for i in range(block.size)}
    count, inserted = 0, []
    for number, picture in enumerate(parts[1::2]):
        before, rest = parts[2 * number], parts[2 * number + 2]
        count += len(others[number])
        if picture == last:
            at = len(words)
        elif count - 1 in same:
            at = same[count - 1] + 1
        elif count in same:
            at = same[count]
        else:
            at = round(count / max(1, len(keys[0])) * len(words))
        is_before_marks = at == len(words) or re.match(r"\s?[^\w\s]", rest) is not None
        offset = _offset(text, words, at, is_before_marks)
        inserted.append((offset, picture, before[-1:] == " ", rest[:1] == " "))
    inserted.sort(key=operator.itemgetter(0))
    for offset, picture, has_left, has_right in reversed(inserted):
        left, right = text[:offset].rstrip(), text[offset:].lstrip()
        first = _space(left[-1:], _NO_SPACE_AFTER, has_left)
        text = f"{left}{first}{picture}{_space(right[:1], _NO_SPACE_BEFORE, has_right)}{right}"
    return text


def _offset(text, words, at, is_before_marks):
    if at == 0:
        return 0
    end = words[at - 1].end()
    return _LAST_MARKS.search(text[:end]).start() if is_before_marks else end


def _space(character, without, has_space):
    if not character or character in without:
        return ""
    return " " if has_space or not UNSPACED_LETTER.match(character) else ""


def _key(word):
    return re.sub(r"\W", "", word).casefold() or word
