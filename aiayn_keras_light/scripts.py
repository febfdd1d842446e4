"""Scripts without spaces between words, whose texts need to be treated differently."""

import re

UNSPACED_LETTERS = (
    "\u0e00-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Letters of Thai, Lao, Tibetan, Burmese, Khmer, Japanese and Chinese, as ranges in a class of a
regular expression."""
UNSPACED_LETTER = re.compile(f"[{UNSPACED_LETTERS}]")
_UNSPACED = re.compile(rf"[{UNSPACED_LETTERS}\u3001-\u303f\uff01-\uff65]")
_APART = re.compile(
    rf"(?<![!-~{UNSPACED_LETTERS}])[{UNSPACED_LETTERS}]++(?=[A-Za-z0-9$€£¥@])"
    rf"|(?<=[A-Za-z0-9])[{UNSPACED_LETTERS}]+"
    "|[。，、；：！？「」『』【】《》〈〉（）]+"
)
_APART_AS = "\x1f"
"""A space to regular expressions, and in no pattern of a number or a name."""


def is_spaced_letter(character):
    """Returns whether a character, or nothing, is a letter of a script with spaces."""
    return character.isalpha() and not UNSPACED_LETTER.match(character)


def spaced_from_latin(text):
    """Replaces letters that stand directly beside Latin ones, digits or prices, and wide marks.

    In `请看a.com谢谢。`, the host's name ends before `谢谢`; patterns that are made for texts with
    spaces take it as a part of the name.

    Args:
        text: A string.

    Returns:
        A string as long as the text, with separators in their places.
    """
    if text.isascii():
        return text
    return _APART.sub(lambda match: _APART_AS * len(match[0]), text)


def space_of_break(left, right):
    """Returns a space for a line break within a sentence, or nothing where words have none.

    Args:
        left: The text before it.
        right: The text after it.
    """
    sides = left[-1:], right[:1]
    return "" if all(map(_UNSPACED.match, sides)) else " "
