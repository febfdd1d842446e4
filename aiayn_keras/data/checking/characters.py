"""Faults in the characters of a sentence: mojibake, HTML entities, markup, invisible characters."""

import html
import re
import unicodedata

import ftfy
from ftfy.badness import is_bad

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
