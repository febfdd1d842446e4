"""Placeables of texts: what stays as it is in a translation, such as URLs and names of files.

The word is that of translation tools. A placeable is translated with its text as a foreign letter,
which models of this package learn to copy, and then put back.
"""

import dataclasses
import itertools
import re
import unicodedata

from aiayn_keras_light.checks import check_texts
from aiayn_keras_light.text_batches import TextError
from aiayn_keras_light.translating import Hypothesis, as_translation

PLACEABLES = ("translate", "keep")
"""Treatments: the model translates them like other words, or they stay as they are."""

LETTERS = "ヌメソラワチホユケトムイ"
"""The letters that stand for placeables."""

_IN_BRACKETS = r"""\([^\s<>"'|`()]*\)|\[[^\s<>"'|`\[\]]*\]"""
_ADDRESS = (
    rf"""(?:[^\s<>"'|`()\[\]]|{_IN_BRACKETS})*(?:[^\s<>"'|`.,;:!?()\[\]}}*_]|{_IN_BRACKETS})"""
)
"""The rest of an address: brackets in pairs, and no sign that ends a sentence at its end."""
_FILE_ENDINGS = (
    "7z|avi|bash|bat|bib|bz2|cfg|conf|cpp|css|csv|dll|docx?|epub|exe|flac|gif|gz|html?|ini|ipynb|"
    "iso|jar|java|jpe?g|jsx?|json|jsonl|log|md|mkv|mov|mp[34]|od[pst]|ogg|parquet|pdf|php|png|po|"
    "pptx?|ps1|py|rar|rs|rst|rtf|sh|sql|srt|svg|tar|tex|tgz|tiff?|tmp|toml|tsv|tsx?|txt|vtt|wav|"
    "webp|whl|xlsx?|xml|xz|ya?ml|zip"
)
_NUMBERS = r"""
        (?<![\w.:-])(?:\d{1,3}\.){3}\d{1,3}(?:/\d{1,2}|:\d{1,5})?(?![\w-]|[.:]\d)  # 192.168.0.1
      | (?<![\w.:])(?:(?:[0-9A-Fa-f]{1,4}:){7}[0-9A-Fa-f]{1,4}          # 2001:db8::1
        |(?=:*[0-9A-Fa-f])(?:[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{1,4}){0,6})?
        ::(?:[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{1,4}){0,6})?)(?:/\d{1,3})?(?![\w:])
      | (?<![\w:-])(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}(?![\w:-])    # a MAC address
      | (?<![\w.-])(?:v\d+(?:\.(?:\d+|x\b))*|V\d+(?:\.\d+)+
        |(?!\d{1,2}\.\d{1,2}\.\d{4}(?!\d)|\d{1,3}(?:\.\d{3})+(?![\d.]))\d+(?:\.\d+){2,})
        (?:(?:a|b|rc|\.?dev|\.post)\d+|[-+][A-Za-z][\w.]*\w)?(?![\w-]|\.\d)  # v2.1.3
      | (?<![\w+])\+\d(?:[ \xa0.()/-]{0,2}\d){7,14}(?![\w-])            # +1 (555) 010-9999
      | \bISBN(?:-1[03])?:?[ ]?(?:[\d][- ]?){9,12}[\dXx]\b | (?<![\w-])97[89]-(?:\d+-){3}\d(?![\w-])
      | (?<![\w-])[A-Z]{2}\d{2}(?:[ ]?[A-Z\d]{4}){3,7}(?:[ ]?[A-Z\d]{1,3})?(?![\w-])  # an IBAN
      | (?<![\w/.])(?:doi:[ ]?)?10\.\d{4,9}/[\w.()/;:-]*\w
      | (?<![\w-])[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}(?![\w-])  # a UUID
      | (?<![\w-])(?:(?i:sha\d+|md5):)?(?=[a-fA-F]*\d)(?=\d*[a-fA-F])
        (?:[0-9a-f]{7,128}|[0-9A-F]{7,128})(?![\w-])                   # a hash
"""
"""Numbers that name a thing, the same in all languages; prices, times and dates are not of them."""
PATTERN = (
    r"""(?:
        (?i:https?|ftp|file|mailto|git|ssh)://ADDRESS
      | \b(?i:www)\.ADDRESS
      | \bmailto:ADDRESS
      | (?<![\w.+%-])[\w.+%-]{1,64}@[\w-]+(?:\.[\w-]+)+
      | (?<![\w@.-])(?:[A-Za-z0-9-]+\.)+(?:com|org|net|edu|gov|io|info)\b(?:/ADDRESS)?
      | (?<![\w@&\#])(?:@[A-Za-z_]|\#\d*[A-Za-z_])\w*               # @name #topic
      | (?<=")[A-Za-z]:\\[^"\n<>|]+(?=")                             # "C:\a folder\file"
      | (?<![\w\\])(?:[A-Za-z]:|\\\\[\w.-]+)\\ADDRESS                # C:\folder\file
      | (?<![^\s"'`(\[{=:,;«“‘])(?:~|\.{1,2})?(?:/[\w.+~-]*[\w~-]){2,}/?  # /folder/file
      | (?<![^\s"'`(\[{=:,;«“‘])/[\w.+-]+/(?!\w)                    # /folder/
      | (?<![^\s"'`(\[{=:,;«“‘])(?:~|\.{1,2})/(?:[\w.+~-]*[\w~-])?   # ~/file
      | (?<![\w.@/\\-])[\w-]+(?:\.[\w-]+)*\.(?i:FILE_ENDINGS)\b(?!\.\w)  # file.txt
      | (?<!\S)(?:[:;=]['’]?-?[)(\]\[DPpOo/\\|*]+|<3|\^_?\^|[xX]D)(?=[\s.,!?]|$)  # :-) <3
      | \{\{[^{}]*\}\} | [$%\#]?\{[^{}\s]*\}                         # {{name}} {name} %{name}
      | \{%[^{}]*%\} | \{\#[^{}]*\#\}                                # {% if a %} {# note #}
      | (?<![\d%])%\([\w.-]+\)[-#0+]*\d*(?:\.\d+)?[a-zA-Z]           # %(name)s
      | (?<![\d%])%(?:\d+\$)?[-#0+']*\d*(?:\.\d+)?(?:hh?|ll?|[zjtLq])?
        [diouxXeEfFgGcsrap@](?![a-z])                                # %s %1$d
      | %[A-Za-z_]\w*%                                               # %PATH%
      | %% | %\d(?!\d) | %L?[1-9]\b | %n\b
      | \$[A-Z_][A-Z0-9_]+\b\$?                                      # $HOME $NAME$
      | &(?:[A-Za-z][A-Za-z0-9]*|\#\d+|\#x[0-9A-Fa-f]+);
      | NUMBERS
    )""".replace("NUMBERS", _NUMBERS)
    .replace("ADDRESS", _ADDRESS)
    .replace("FILE_ENDINGS", _FILE_ENDINGS)
)
"""What a placeable is, as a verbose regular expression."""
_PLACEABLE = re.compile(
    rf"""(?x)
        (?<![\w`])`[^`\s][^`\n]*`(?![\w`])
      | </?[A-Za-z][\w:.-]*(?:\s[^<>\n]*)?/?>
      | {PATTERN}"""
)
"""In a line, with code and tags."""
_SIGN_OF_ONE = re.compile(r"[/@#\\:;=<{}%$&^`~+0-9]|\.\w|[xX]D|[0-9A-Fa-f]-[0-9A-Fa-f]{2}")
"""A part of every placeable. Most lines have none, which is faster to find out."""
PAIRS = dict(zip("([{<\"'“‘«„", ")]}>\"'”’»“", strict=True))
"""Brackets and quotation marks, which stay with what is alone between them."""
_FIRST_SIGNS = re.compile(r"\W*")
_SPACES = "".join(chr(n) for n in range(0x3001) if chr(n).isspace())
_LAST_SIGNS = _SPACES + "([{\"'“‘«:;,–—-"
_JOINERS = "\u200d\ufe0f\ufe0e\u20e3" + "".join(map(chr, range(0x1F3FB, 0x1F400)))
"""Parts of emoji: the joiner, variation selectors, the box of a key, and colours of skin."""
_SECONDS = ("</", "{{/", "{%")
"""Beginnings of the second ones of pairs, between which a model would lose words."""


@dataclasses.dataclass(frozen=True)
class _Masked:
    """A text with letters for its placeables.

    Attributes:
        text: The text for the model; empty if nothing but placeables has letters, or if it must be
            cut.
        words: Dictionary from a letter to its placeable; from a zero byte, which no translation
            has, where there are more than letters.
        own: The text itself if it is its own translation; else None.
    """

    text: str
    words: dict
    own: str | None = None

    def restore(self, translation):
        """A `Translation` with the placeables in it; None if no hypothesis has each of them once.

        Hypotheses that do not are left out.
        """
        if self.own is not None:
            return as_translation(
                [dataclasses.replace(each, text=self.own) for each in translation.hypotheses]
            )
        kept = [
            dataclasses.replace(each, text=self._fill(each.text))
            for each in translation.hypotheses
            if all(each.text.count(letter) == 1 for letter in self.words)
        ]
        return as_translation(kept) if kept else None

    def _fill(self, text):
        return "".join(self.words.get(character, character) for character in text)


def translate_placeables(texts, translate, progress=None):
    """Translates texts, and keeps their placeables, and emoji and notes at their ends.

    A text whose placeables do not come back, each once, is cut at them, and what is between them is
    translated alone.

    Args:
        texts: List of strings.
        translate: Function of a list of strings and of `progress` that gives a `Translation` for
            each.
        progress: As in `TransformerSeq2SeqLM.translate`.

    Returns:
        List of `Translation`. Scores and wordpieces are those of the texts with letters.

    Raises:
        TextError: As `translate`, with the place of the text in `texts`.
    """
    framed = [_framed(text) for text in check_texts("texts", texts)]
    texts = [text for _, text, _ in framed]
    masked = [_mask(text) for text in texts]
    found = translate([each.text for each in masked], progress)
    failed = []
    for row, each in enumerate(masked):
        if each.words and found[row] is not None:
            found[row] = each.restore(found[row])
            failed += [row] * (found[row] is None)
    if failed:
        cut = [_cut(texts[row]) for row in failed]
        rows = [row for row, parts in zip(failed, cut, strict=True) for _ in parts[1::2]]
        try:
            translated = translate([part for parts in cut for part in parts[1::2]], None)
        except TextError as error:
            raise type(error)(error.argument, rows[error.index], error.reason) from error
        remaining = iter(translated)
        for row, parts in zip(failed, cut, strict=True):
            found[row] = _joined(parts, [next(remaining) for _ in parts[1::2]])
    return [
        each if each is None else _between(first, each, last)
        for (first, _, last), each in zip(framed, found, strict=True)
    ]


def _framed(text):
    """A text's first signs such as emoji, its words, and its last such signs, with the spaces.

    A small model would lose variation selectors, and translate some sentences differently.
    """
    first = "".join(itertools.takewhile(_is_picture, text))
    last = "".join(itertools.takewhile(_is_picture, reversed(text)))[::-1]
    words = text[len(first) : len(text) - len(last)]
    if not words or not (first + last).strip():
        return "", text, ""
    return first, words, last


def _is_picture(character):
    is_sign = unicodedata.category(character) == "So" or character in _JOINERS
    return is_sign or character.isspace()


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
        ValueError: For another value, or another option beside `"keep"`.
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


def _spans(text):
    """Yields where each placeable begins and ends, with brackets and quotation marks around it."""
    for match in _PLACEABLE.finditer(text) if _SIGN_OF_ONE.search(text) else ():
        start, end = match.span()
        while start and end < len(text) and PAIRS.get(text[start - 1]) == text[end]:
            start, end = start - 1, end + 1
        yield start, end


def without_signs(text):
    """Cuts a part of a sentence into first signs, what is translated, and last signs."""
    first = _FIRST_SIGNS.match(text)[0]
    rest = text[len(first) :]
    words = rest.rstrip(_LAST_SIGNS)
    return first, words, rest[len(words) :]


def _cut(text):
    """Parts of a text that are kept and translated, in turn; signs beside words are kept."""
    parts, done = [""], 0
    for start, end in [*_spans(text), (len(text), len(text))]:
        between = text[done:start]
        if any(map(str.isalpha, between)):
            first, words, last = without_signs(between)
            parts[-1] += first
            parts += [words, last]
        else:
            parts[-1] += between
        parts[-1] += text[start:end]
        done = end
    return parts


def begin_alike(source, text):
    """A translated part of a sentence, with a small letter first if the source begins with one."""
    if source[:1].islower() and text[:1].isupper() and not text[1:2].isupper():
        return text[0].lower() + text[1:]
    return text


def _joined(parts, translations):
    """The `Translation` of a text in parts: one hypothesis, with the best of each part."""
    found = [each.text for each in translations]
    texts = [*map(begin_alike, parts[1::2], found), ""]
    return as_translation(
        [
            Hypothesis(
                "".join(kept + text for kept, text in zip(parts[::2], texts, strict=True)),
                sum(each.score for each in translations),
                sum(each.normalized_score for each in translations),
                tuple(token for each in translations for token in each.tokens),
            )
        ]
    )


def _mask(text):
    letters = (letter for letter in LETTERS if letter not in text)
    pieces, words, done, rest = [], {}, 0, []
    for start, end in _spans(text):
        rest.append(text[done:start])
        letter = next(letters, "\0")  # too many to be kept so: `_cut` has the text
        words[letter] = text[start:end]
        pieces += [rest[-1], letter]
        done = end
    rest.append(text[done:])
    if words and not any(any(map(str.isalpha, part)) for part in rest):
        return _Masked("", words, own=text)
    is_cut = "\0" in words or any(word.startswith(_SECONDS) for word in words.values())
    return _Masked("" if is_cut else "".join([*pieces, rest[-1]]), words)
