"""Spaces between words: the scripts that have none, and spaces that a text lacks.

Spaces are put after marks, and between a number and its unit: models have read texts with these
spaces, and write other words without them.
"""

import itertools
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
"""Counts as a space in regular expressions, but is in no pattern of a number or a name."""
_SMALL, _CAPITAL = "a-zß-öø-ÿа-яё", "A-ZÀ-ÖØ-ÞА-ЯЁ"
_MARK = re.compile(
    rf"""(?x)
        (?<=[^\W\d_]{{2}})(?<![{UNSPACED_LETTERS}])                       # at least two letters
        (?:,(?=[^\W\d_]) | [!?]++(?=[^\W\d_a-z]) | (?:\.{{3}}|…)(?=[^\W\d_]{{2}}))
        (?![{UNSPACED_LETTERS}])
      | (?<=[^\W\d_]{{3}})(?=\([^\W\d_]+[ ][^()=,;\n]*\))                # left(she was tired)
      | (?<=[^\W\d_]{{3}})[!?]++(?=[a-z]{{2}})(?!\w+=)                  # not sh!t, page?id=3
      | (?<![\w.@/-])[{_SMALL}]{{2,}}\.                               # it.He, not System.Out, is.A(
        (?=(?:I|[{_CAPITAL}][{_SMALL}]+)(?![\w./@(\[-]|[ ]?=))
    """
)
_NUMBER_BEFORE_UNIT = re.compile(r"\d(?=[ckmh€£¥₽₹₺₩₪])")
_COMMA = re.compile(r"[\w.!?],[^\W_]")
_SENTENCE = re.compile(
    r"""(?x)(?!.*(?:",|,"))(?:
        .*,[ ]
      | (?!.*(?<!\d),[$€£]?[\d.]++(?:,|\Z)) (?=(?>[^,]*?[^,\s]\s)[^,]*+,)
        .*[.!?…]["'”’)]*\s*\Z
    )"""
)
"""Not a row of a table: a space is after a comma, or the line ends like a sentence, its first cell
has several words, and no cell is a number."""


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


def with_spaces(text, pattern):
    """Adds the spaces that are missing in a text after marks and before units.

    Placeables such as URLs stay as they are, and so do the commas of a row of a table.

    Args:
        text: A string, perhaps of several lines.
        pattern: Compiled pattern of placeables. Its group `unit` matches a number beside its unit,
            and `cut` the marks at which a line is cut, such as commas between cells.

    Returns:
        A string.
    """
    if not any(each.search(text) for each in (_NUMBER_BEFORE_UNIT, _MARK, _COMMA)):
        return text
    lines = text.split("\n")
    sentences = {n for n, line in enumerate(lines) if "," in line and _SENTENCE.match(line)}
    rows = {n for n, line in enumerate(lines) if line.count(",") > 1 and len(line.split()) == 1}
    kept, places, done, line = bytearray(len(text)), [0], 0, 0
    for match in pattern.finditer(spaced_from_latin(text)):
        start, end = match.span()
        line += text.count("\n", done, start)
        kept[start:end] = b"\1" * (end - start)
        if match["unit"]:
            places.append(_NUMBER_BEFORE_UNIT.search(text, start, end).end())
        elif match["cut"] and text[start:end] == "," and line in sentences:
            places.append(end)
        elif match["cut"] and text[start:end] in (",", ";"):
            rows.add(line)
        done = start
    done = line = 0
    for match in _MARK.finditer(text):
        start, end = match.span()
        line += text.count("\n", done, start)
        if not kept[start] and not (match[0] == "," and line in rows):
            places.append(end)
        done = start
    places = [*sorted(set(places)), len(text)]
    return " ".join(text[first:last] for first, last in itertools.pairwise(places))
