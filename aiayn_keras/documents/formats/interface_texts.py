"""Texts of user interfaces: accelerators, and values that are for machines.

Accelerators of menus and buttons are `&Open`, `E&xit`, `_Save` and `~Help`. The marker is taken out
before a text is translated, since a model would write a word in two pieces, and put before a letter
of the translation. `Tom & Mary`, `R&D` and `user_name` have none.

Values for machines, such as `user_name`, `en-US` and `12px`, stay as they are. They are single
words. Ordinary words, also with a hyphen or in capitals (`Save`, `check-in`, `OK`, `FAQ`),
are not among them. Tables, JSON and catalogues share this one pattern.
"""

import re
from dataclasses import dataclass

from aiayn_keras.documents.formats.units import Mark, protect
from aiayn_keras_light.placeable_patterns import PATTERN

_MARKERS = ("&", "_", "~")
"""Markers of Qt, Windows and KDE, of GTK, and of LibreOffice."""

_SURE = r"(?<![\w&~])[{}](?=[^\W\d_])"
"""A marker before a word."""
_INSIDE = r"(?<=[^\W\d_])[{}](?=[a-z])"
"""A marker before a lower-case letter in a word."""
_MAX_LETTERS_BEFORE = 2
"""Limit for a marker in a word (`E&xit`, `Fo&rmat`) if none is seen before a whole word."""
_MAX_WORDS = 4
"""Limit for a label whose marker is in a lower-case word, such as `Copy lin_k`."""
_PLACEABLE = re.compile(f"(?x){PATTERN}")
_TOKEN = re.compile(r"\\u[0-9A-Fa-f]{4}|\\.|.", re.DOTALL)
_IDENTIFIER = re.compile(
    r"""(?x)
      (?=\w*[^\W_]) \w*_\w*                              # user_name MAX_SIZE _id
    | [a-z]+(?:[A-Z][a-z0-9]*)+                          # camelCase
    | (?:[A-Z][a-z0-9]+){2,}                             # PascalCase
    | [a-z][a-z0-9]*(?:-[a-z0-9]+){2,}(?<=\d) | [a-z0-9]+(?:--|__)[\w-]+   # col-md-6 btn--wide
    | [A-Za-z_$][\w$-]+(?:\.[A-Za-z_$][\w$-]+)+          # menu.file.open
    | [a-z][\w.-]*(?::[a-z][\w.-]*)+                     # user:read
    | [a-z]{2,3}(?:-[A-Z][a-z]{3})?[-_](?:[A-Z]{2}|\d{3}) | [a-z]{2,3}-[A-Z][a-z]{3}  # en-US
    | (?=[A-Fa-f]*\d)(?:0[xX])?[0-9A-Fa-f]{7,}           # 3f2a9c1
    | (?=\D*\d)(?=.*[a-z])(?=.*[A-Z])[A-Za-z0-9+/_-]{16,}={0,2}                       # base64
    | \#[0-9A-Fa-f]{3,8}                                 # a colour
    | [a-z][a-z-]*\([\d\s.,%/a-z-]*\)                    # rgb(0, 0, 0)
    | -?(?:\d+\.)?\d+(?:px|r?em|v[hwx]|pt|ms|fr|deg|dpi|[kKMGT]i?B)                   # 12px
    | (?:application|audio|font|image|message|model|multipart|text|video)/[\w.+*-]+(?:;.*)?
    | \d{4}-?\d\d-?\d\d[T\s]\d\d:?\d\d(?::?\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?    # a time
    | \d{4}-W\d\d(?:-\d)? | P(?=[T\d])(?:\d+[YMWD])*(?:T(?:\d+[HMS])+)?               # a period
    | (?=.*(?:yy|YY|MM|dd|DD|HH|hh|mm|h:m))                                           # YYYY-MM-DD
      (?:([yYMdDhHmsSaAEzZ])\1{0,4}(?:[-./:,]+|\Z|\s(?!\Z))){2,}
    | [~^<>=v]{0,2}\d+(?:\.[\dx*]+)+(?:[-+][\w.+-]+)?    # ^1.2.0-beta.1
    | (?=[A-Z/._-]*\d)(?=[\d/._-]*[A-Z])[A-Z0-9]+(?:[-_/.][A-Z0-9]+)*                 # SKU-123
    | @[\w.-]+/[\w.-]+ | [\w.-]+(?:/[\w.-]+){2,}         # @scope/package
    | [.\#][A-Za-z][\w-]*                                # .selector
    | \^\S*\$ | 0[xX][0-9A-Fa-f]+ | N/A | true | TRUE | false | FALSE | null | NULL | NaN
    | undefined
    """
)


@dataclass(frozen=True)
class Accelerator:
    """The accelerator of a text.

    Attributes:
        text: The text without the marker.
        marker: `&`, `_` or `~`.
        letter: The letter that it marks.
    """

    text: str
    marker: str
    letter: str

    def put_into(self, translation):
        """Puts the marker before a letter of a translation.

        It is the same letter where a word begins with it, and otherwise the first letter.

        Args:
            translation: A string, perhaps with escapes that begin with a backslash.

        Returns:
            The string with one marker; without letters, it stays as it is.
        """
        tokens = []  # pairs of a string and whether it may be marked
        for part in protect(translation):
            if isinstance(part, Mark):
                tokens.append((part.raw, False))
            else:
                part = re.sub(rf"(?<!\w){self.marker}(?=\w)", "", part)
                tokens += [(token, _is_letter(token)) for token in _TOKEN.findall(part)]
        letters = [place for place, (_, is_letter) in enumerate(tokens) if is_letter]
        if not letters:
            return translation
        begins = [place for place in letters if not place or not tokens[place - 1][1]]
        same = (n for n in begins if tokens[n][0].casefold() == self.letter.casefold())
        tokens.insert(next(same, letters[0]), (self.marker, False))
        return "".join(token for token, _ in tokens)


class Accelerators:
    """Finds accelerators in the texts of one user interface.

    A marker inside a word, as in `Fo&rmat`, counts if others stand before words.

    Args:
        texts: Iterable of all texts.
        markers: The markers that may occur.
        declared: The marker that the catalogue names, if it does.
    """

    def __init__(self, texts, markers=_MARKERS, declared=None):
        self._markers = (declared,) if declared in _MARKERS else markers
        self._used = {declared}
        for text in texts:
            for marker in self._markers:
                if marker in text and _find(rf"(?<![\w&~]){marker}(?=[A-Z])", text):
                    self._used.add(marker)

    def find(self, text):
        """Finds the accelerator of a text.

        Args:
            text: A string.

        Returns:
            An `Accelerator`, or None.
        """
        for marker in self._markers:
            if marker not in text:
                continue
            places = _find(_SURE.format(marker), text) + _find(_INSIDE.format(marker), text)
            if len(places) == 1 and self._is_accelerator(text, places[0]):
                place = places[0]
                return Accelerator(text[:place] + text[place + 1 :], marker, text[place + 1])
        return None

    def _is_accelerator(self, text, place):
        marker = text[place]
        if marker != "&" and text.count(marker) > 1:  # user_name_id, _so_
            return False
        before = re.search(r"\w*\Z", text[:place].replace(marker, " "))[0]
        if not before:
            return marker == "&" or marker in self._used
        if not before[0].isupper():  # not in `rock&roll`, nor in a sentence about `user_name`
            words = text.split()
            is_label = 1 < len(words) <= _MAX_WORDS and text[0].isupper() and text[-1] != "."
            return marker in self._used and is_label
        return marker in self._used or len(before) <= _MAX_LETTERS_BEFORE


def _find(pattern, text):
    """Places of matches outside of placeables, such as URLs and placeholders."""
    kept = [match.span() for match in _PLACEABLE.finditer(text)]
    places = [match.start() for match in re.finditer(pattern, text)]
    return [place for place in places if not any(a <= place < b for a, b in kept)]


def _is_letter(token):
    return token.startswith("\\u") or (len(token) == 1 and token.isalpha())


def is_identifier(text):
    """Tells whether a whole value is for machines, and not text.

    Args:
        text: A string.

    Example:
        >>> [is_identifier(text) for text in ("user_name", "en-US", "check-in", "Save as")]
        [True, True, False, False]
    """
    return _IDENTIFIER.fullmatch(text.strip()) is not None
