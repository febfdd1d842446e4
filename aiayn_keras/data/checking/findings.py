"""Kinds of faults that a check finds in parallel text, and what a cleaned copy does with them.

A short file of its own, because every check, the report and the command use it.
"""

from typing import NamedTuple

KINDS = {
    "unreadable": "lines that cannot be read: no tab, not UTF-8, too long",
    "empty": "pairs with an empty side",
    "duplicate": "pairs that occur before",
    "near_duplicate": "pairs that occur before, apart from case, spaces and punctuation",
    "copy": "targets that repeat their sources untranslated",
    "language": "sides in a wrong language, or swapped",
    "script": "sides in a wrong script, or with letters of two scripts in a word",
    "ratio": "pairs with one side unusually long for the other",
    "numbers": "pairs whose sides have different numbers",
    "placeables": "pairs whose sides have different URLs, e-mail addresses, {name} and the like",
    "markup": "tags and other markup",
    "mojibake": "characters decoded from a wrong encoding",
    "entities": "HTML entities",
    "invisible": "byte-order marks, zero-width and other invisible characters",
    "leak": "pairs with a sentence of the validation or test text",
}
"""Description of each kind of fault, in the order of a report."""


class Finding(NamedTuple):
    """A fault in a pair.

    Attributes:
        line: Number of the pair's line, from 1.
        kind: A key of `KINDS`.
        reason: What is wrong.
        is_mended: Whether a cleaned copy has the pair without its fault; otherwise it is left out.
    """

    line: int
    kind: str
    reason: str
    is_mended: bool = False
