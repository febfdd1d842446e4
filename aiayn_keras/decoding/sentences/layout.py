"""Spaces, bullets and numbers around a sentence, which are not translated."""

from typing import Any, NamedTuple

SPACE = r"[\s\x0b\x1c-\x1f\x{85}\p{Z}\x{200b}\x{feff}]"
"""RE2's `\\s` is that of ASCII."""

# "- ", "* ", "# ", "> ", "— " and "1. ", "2) ", "(3) ", "a) " at the beginning of a sentence.
_BULLET = r"(?:[-*+•·–—>#]+|\(?\d{1,3}[.)]|\(?[A-Za-z]\))"
_LEAD = rf"^{SPACE}*(?:{_BULLET}{SPACE}+)*"
_TAIL = rf"{SPACE}+$"
_HAS_LETTER = r"\C*\p{L}\C*"


class LaidOut(NamedTuple):
    """Strings `(N,)` in three; a string without letters is all `lead`.

    Attributes:
        lead: String tensor `(N,)`, spaces, bullets and numbers.
        sentence: String tensor `(N,)`, empty or with a letter in it.
        tail: String tensor `(N,)`, spaces.
    """

    lead: Any
    sentence: Any
    tail: Any


def lay_out(strings):
    """Tells sentences `(N,)` from their layout."""
    import tensorflow as tf

    has_letter = tf.strings.regex_full_match(strings, _HAS_LETTER)
    begun = tf.strings.regex_replace(strings, _LEAD, "", replace_global=False)
    sentences = tf.strings.regex_replace(begun, _TAIL, "", replace_global=False)
    lead = tf.strings.length(strings) - tf.strings.length(begun)
    zeros = tf.zeros_like(lead)
    return LaidOut(
        tf.where(has_letter, tf.strings.substr(strings, zeros, lead), strings),
        tf.where(has_letter, sentences, ""),
        tf.where(
            has_letter,
            tf.strings.substr(
                begun,
                tf.strings.length(sentences),
                tf.strings.length(begun) - tf.strings.length(sentences),
            ),
            "",
        ),
    )
