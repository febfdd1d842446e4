"""Pairs that occur again, and sentences of the validation and test text in the training text."""

import unicodedata


class _Essentials(dict):
    """Table for `str.translate` that keeps letters, digits and marks, such as Indic vowels."""

    def __missing__(self, code):
        self[code] = code if unicodedata.category(chr(code))[0] in "LNM" else None
        return self[code]


_ESSENTIALS = _Essentials()


def essence_of(text):
    """Reduces a text to its letters, with their marks, and digits, in lower case.

    A text without any is returned as it is, except for spaces at its ends.

    Example:
        >>> essence_of("¡Cállate, Tom!")
        'cállatetom'
    """
    return text.casefold().translate(_ESSENTIALS) or text.strip()


class Repeats:
    """Finds pairs that occurred before.

    Memory grows with the number of pairs: 16 bytes for the hashes, and a dictionary's share.
    """

    def __init__(self):
        self._seen, self._essences = {}, {}

    def find(self, line, source, target, essences):
        """Takes the next pair.

        Args:
            line: Number of its line.
            source: The source.
            target: The target.
            essences: Tuple of `essence_of` both.

        Returns:
            Tuple of a kind of `KINDS` and the reason, or `None`.
        """
        first = self._seen.setdefault(hash((source.strip(), target.strip())), line)
        nearest = self._essences.setdefault(hash(essences), line)
        if first != line:
            return "duplicate", f"the same as line {first:,}"
        if nearest != line:
            return "near_duplicate", f"nearly the same as line {nearest:,}"
        return None


class HeldOut:
    """The sentences of the validation and test text.

    Args:
        texts: Dictionary from the name of a text, such as `"test"`, to its `ReadPairs`.
    """

    def __init__(self, texts):
        self._places = {}, {}
        for name, read in texts.items():
            for line, pair in zip(read.lines, read.text, strict=True):
                for places, side in zip(self._places, pair, strict=True):
                    places.setdefault(essence_of(side), (name, line))

    def find(self, essences):
        """Returns where either side of a pair, given by `essence_of` both, is held out, or None."""
        for side, places, essence in zip(("source", "target"), self._places, essences, strict=True):
            if essence in places:
                name, line = places[essence]
                return f"its {side} is in the {name} text, line {line:,}"
        return None
