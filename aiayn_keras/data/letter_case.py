"""Capital and lower-case letters of languages for which Python's own rules are wrong."""

import re
import unicodedata

_TURKIC_SHARE = 0.1
"""Share of texts with ı or İ from which on a language is one that has both i and ı."""
_GREEK = re.compile("[\u0370-\u03ff\u1f00-\u1fff]")
# The word Ή ("or") keeps its accent, which tells it from the article.
_ACCENTS_OF_GREEK_CAPITALS = re.compile(
    r"(?<![\w\u0300-\u036f])(\u0397\u0301)(?![\w\u0300-\u036f])|"
    r"([\u0391-\u03a9]\u0308?)[\u0300\u0301\u0313\u0314\u0342\u0345]+"
)


class LetterCase:
    """The rules for capitals in one side of a corpus.

    Turkish, Azerbaijani and others have i with İ and ı with I; Greek capitals have no accents; a
    Georgian word never begins with a capital, though whole words may be in capitals.

    Args:
        texts: Sequence of the side's texts, which show whether it is such a language.

    Example:
    >>> LetterCase(["ılık su"]).upper("istanbul"), LetterCase(["warm"]).upper("istanbul")
    ('İSTANBUL', 'ISTANBUL')
    """

    def __init__(self, texts):
        num_turkic = sum("ı" in text or "İ" in text for text in texts)
        self._is_turkic = num_turkic > _TURKIC_SHARE * len(texts)

    def upper(self, text):
        """Writes a text in capitals."""
        if self._is_turkic:
            text = text.replace("i", "İ")  # Python makes ı an I.
        return _without_greek_accents(text.upper())

    def lower(self, text):
        """Writes a text in lower case."""
        text = text.replace("İ", "i")  # Python writes i and a second dot.
        if self._is_turkic:
            text = text.replace("I", "ı")
        return text.lower()

    def capitalized(self, text):
        """Writes the first letter of a text as a capital."""
        first = "İ" if self._is_turkic and text[:1] == "i" else text[:1].title()
        return first + text[1:]

    def title(self, text):
        """Capitalizes the words of a text, and writes their other letters small."""
        return " ".join(self.capitalized(self.lower(word)) for word in text.split(" "))


def has_case(text):
    """Returns whether a text has letters that may be capital or small."""
    return text.upper() != text.lower()


def _without_greek_accents(capitals):
    if not _GREEK.search(capitals):
        return capitals
    decomposed = unicodedata.normalize("NFD", capitals)
    return unicodedata.normalize("NFC", _ACCENTS_OF_GREEK_CAPITALS.sub(r"\1\2", decomposed))
