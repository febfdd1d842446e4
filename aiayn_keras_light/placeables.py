"""Placeables of texts: what stays as it is in a translation, such as URLs and names of files.

The word is that of translation tools. A placeable is translated with its text as a foreign letter,
which models of this package learn to copy, and then put back.
"""

import dataclasses
import re

from aiayn_keras_light.checks import check_texts
from aiayn_keras_light.text_batches import TextError
from aiayn_keras_light.translating import as_translation

PLACEABLES = ("translate", "keep")
"""Treatments: the model translates them like other words, or they stay as they are."""

LETTERS = "ヌメソラワチホユケトムイ"
"""The letters that stand for placeables; a text with more of them has others translated."""

_ADDRESS = r"""[^\s<>"'|`]*[^\s<>"'|`.,;:!?)\]}*_]"""
"""The rest of an address, without a sign that ends a sentence or a bracket."""
_FILE_ENDINGS = (
    "7z|avi|bash|bat|bib|bz2|cfg|conf|cpp|css|csv|dll|docx?|epub|exe|flac|gif|gz|html?|ini|ipynb|"
    "iso|jar|java|jpe?g|jsx?|json|jsonl|log|md|mkv|mov|mp[34]|od[pst]|ogg|parquet|pdf|php|png|po|"
    "pptx?|ps1|py|rar|rs|rst|rtf|sh|sql|srt|svg|tar|tex|tgz|tiff?|tmp|toml|tsv|tsx?|txt|vtt|wav|"
    "webp|whl|xlsx?|xml|xz|ya?ml|zip"
)
PATTERN = r"""(?:
        (?:https?|ftp|file|mailto|git|ssh)://ADDRESS
      | \bwww\.ADDRESS
      | \bmailto:ADDRESS
      | (?<![\w.+%-])[\w.+%-]{1,64}@[\w-]+(?:\.[\w-]+)+
      | (?<![\w@.-])(?:[A-Za-z0-9-]+\.)+(?:com|org|net|edu|gov|io|info)\b(?:/ADDRESS)?
      | (?<![\w@&\#])[@\#][A-Za-z_]\w*                               # @name #topic
      | (?<![\w\\])(?:[A-Za-z]:|\\\\[\w.-]+)\\ADDRESS                # C:\folder\file
      | (?<![^\s"'`(\[{=:,;«“‘])(?:~|\.{1,2})?(?:/[\w.+~-]*[\w~-]){2,}/?  # /folder/file
      | (?<![^\s"'`(\[{=:,;«“‘])(?:~|\.{1,2})/(?:[\w.+~-]*[\w~-])?   # ~/file
      | (?<![\w.@/\\-])[\w-]+(?:\.[\w-]+)*\.(?:FILE_ENDINGS)\b(?!\.\w)    # file.txt
      | (?<!\S)(?:[:;=]['’]?-?[)(\]\[DPpOo/\\|*]+|<3|\^_?\^|[xX]D)(?=[\s.,!?]|$)  # :-) <3
      | \{\{[^{}]*\}\} | \$?\{[^{}\s]*\}                             # {{name}} {name} ${name}
      | \{%[^{}]*%\} | \{\#[^{}]*\#\}                                # {% if a %} {# note #}
      | (?<![\d%])%\([\w.-]+\)[-#0+]*\d*(?:\.\d+)?[a-zA-Z]           # %(name)s
      | (?<![\d%])%(?:\d+\$)?[-#0+']*\d*(?:\.\d+)?(?:hh?|ll?|[zjtLq])?
        [diouxXeEfFgGcsrap@](?![a-z])                                # %s %1$d
      | %% | %\d(?!\d) | %L?[1-9]\b | %n\b
      | \$[A-Z_][A-Z0-9_]+\b
      | &(?:[A-Za-z][A-Za-z0-9]*|\#\d+|\#x[0-9A-Fa-f]+);
    )""".replace("ADDRESS", _ADDRESS).replace("FILE_ENDINGS", _FILE_ENDINGS)
"""What a placeable is, as a verbose regular expression."""
_PLACEABLE = re.compile(f"(?x){PATTERN}")


@dataclasses.dataclass(frozen=True)
class _Masked:
    """A text with letters for its placeables.

    Attributes:
        text: The text for the model; empty if nothing but placeables has letters.
        words: Dictionary from a letter to its placeable.
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
    """Translates texts, and keeps their placeables.

    A text whose placeables do not come back, each once, is translated as it is.

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
    texts = check_texts("texts", texts)
    masked = [_mask(text) for text in texts]
    found = translate([each.text for each in masked], progress)
    failed = []
    for row, each in enumerate(masked):
        if each.words and found[row] is not None:
            found[row] = each.restore(found[row])
            failed += [row] * (found[row] is None)
    if failed:
        try:
            as_they_are = translate([texts[row] for row in failed], None)
        except TextError as error:
            raise type(error)(error.argument, failed[error.index], error.reason) from error
        for row, translation in zip(failed, as_they_are, strict=True):
            found[row] = translation
    return found


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


def _mask(text):
    letters = [letter for letter in LETTERS if letter not in text]
    pieces, words, done, rest = [], {}, 0, []
    for match in _PLACEABLE.finditer(text):
        rest.append(text[done : match.start()])
        letter = letters[len(words)] if len(words) < len(letters) else None
        if letter is not None:
            words[letter] = match[0]
        pieces += [rest[-1], match[0] if letter is None else letter]
        done = match.end()
    rest.append(text[done:])
    if words and not any(any(map(str.isalpha, part)) for part in rest):
        return _Masked("", words, own=text)
    return _Masked("".join([*pieces, rest[-1]]), words)
