"""Rules that rewrite characters of a text before it is split into wordpieces.

A SentencePiece model holds its rules, compiled, so that Python, the SavedModel and every other
program that reads the model rewrites a text in the same way. The longest rule that fits is applied
at each place; what it writes is not rewritten again. See
https://github.com/google/sentencepiece/blob/master/doc/normalization.md.
"""

import functools
import io
import itertools
import string
import sys
import tempfile
import unicodedata
from pathlib import Path

import numpy as np
import sentencepiece
from sentencepiece import sentencepiece_model_pb2

from aiayn_keras_light.files import errors_of

NORMALIZATIONS = ("clean_nfkc", "nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "nfc", "identity")
"""Names of normalizations: SentencePiece's, and two of ours.

`"clean_nfkc"` is `"nmt_nfkc"` for sources as people type and paste them: typographic quotation
marks and dashes become those of a typewriter, and invisible ones are removed; but superscripts,
fractions and signs such as ™, which would become other numbers and words, stay. `"nfc"` composes
letters and their marks, and changes nothing else.
"""

OWN_NORMALIZATIONS = ("clean_nfkc", "nfc")
"""Normalizations that SentencePiece does not know by name."""

_DOUBLE_QUOTES = "“”„‟«»″‶〃＂❝❞〝〞〟"
_SINGLE_QUOTES = "‘’‚‛‹›′‵`´ʼˈ＇❛❜"
_DASHES = "–—―‒‐‑⁃−﹘﹣－"
_LONG_DASHES = ("—", "--")
_PAUSES = ("--", "---", *_DASHES)
_SPACED = (" ", "\u00a0", "\u2009", "\u200a", "\u202f")
"""Spaces around a dash that is a pause, and within French quotation marks."""
# Vertical tabs are Word's line breaks; fillers of Hangul and empty Braille cells are typed to be
# invisible.
_SPACES = "\x0b\x85\u1680\u2028\u2029\u2800\u3164\uffa0"
_FRACTIONS = "¼½¾⅐⅑⅒⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞⅟↉"
_KEPT = f"²³¹⁰ⁱ⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿ{_FRACTIONS}™℠№"
"""Signs that would become other numbers and words: 10⁶ is not 106, and 1½ is 1 1/2, not 11/2."""
_JOINERS = "\u200c\u200d"
_MAX_NODES = 4096
"""Maximum number of a trie's nodes whose 255 possible children are looked up at once."""
_SCALES = "CF"
"""Units of temperature; their degree sign is often typed as the sign of an ordinal (º)."""
# Soft hyphen, marks of direction, invisible operators, variation selectors, tags, and the like.
_INVISIBLE = (
    *(0x00AD, 0x034F, 0x061C, 0x180E, 0x200B, 0x200E, 0x200F, 0xFEFF),
    *range(0x0001, 0x0009),
    *range(0x000E, 0x0020),
    *range(0x007F, 0x0085),
    *range(0x0086, 0x00A0),
    *range(0x180B, 0x180E),
    *range(0x202A, 0x202F),
    *range(0x2060, 0x2065),
    *range(0x2066, 0x2070),
    *range(0xFE00, 0xFE10),
    *(0x0305, 0x0332, 0x0333, 0x0335, 0x0336, 0x0337, 0x0338),  # lines through and under letters
    *range(0xFDD0, 0xFDF0),
    *range(0xFFF9, 0xFFFD),
    *(0xFFFE, 0xFFFF),
    *range(0xE0000, 0xE01F0),
)
# Scripts of Europe, where a joiner does nothing; elsewhere, and in emoji, it changes what is read.
_WITHOUT_JOINERS = (range(0x20, 0x0590), range(0x1D00, 0x2070))


def set_normalization(proto, normalization):
    """Returns a SentencePiece model with another normalization and the same pieces.

    Args:
        proto: Bytes of a SentencePiece model.
        normalization: One of `NORMALIZATIONS`.

    Returns:
        Bytes of the model.
    """
    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString(proto)
    model.normalizer_spec.name = normalization
    model.normalizer_spec.precompiled_charsmap = _compiled_rules(normalization)
    return model.SerializeToString()


@functools.cache
def _compiled_rules(normalization):
    """Returns a normalization's rules as bytes, in SentencePiece's own format."""
    if normalization not in OWN_NORMALIZATIONS:
        return _compile(normalization_rule_name=normalization)
    rules = _clean_rules() if normalization == "clean_nfkc" else _nfc_rules()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rules.tsv"
        with errors_of(path):
            path.write_text("".join(map(_as_line, sorted(rules.items()))), encoding="ascii")
        return _compile(normalization_rule_tsv=str(path))


def normalizer(normalization):
    """Returns a function that rewrites a string and trims and joins its spaces."""
    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString(_train())
    model.normalizer_spec.precompiled_charsmap = _compiled_rules(normalization)
    model.normalizer_spec.add_dummy_prefix = False
    model.normalizer_spec.escape_whitespaces = False
    processor = sentencepiece.SentencePieceProcessor(model_proto=model.SerializeToString())
    return processor.normalize


def changed_texts(proto, texts):
    """Finds the texts that a SentencePiece model rewrites, other than in their spaces.

    Args:
        proto: Bytes of a SentencePiece model.
        texts: List of strings.

    Returns:
        List of pairs of a text and what the model makes of it.
    """
    normalize = sentencepiece.SentencePieceProcessor(model_proto=proto).normalize
    rewritten = (" ".join(normalize(text).replace("▁", " ").split()) for text in texts)
    pairs = zip(texts, rewritten, strict=True)
    return [(old, new) for old, new in pairs if " ".join(old.split()) != new]


def _compile(**options):
    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString(_train(**options))
    return model.normalizer_spec.precompiled_charsmap


def _train(**options):
    """A SentencePiece model of one word; only its rules are needed."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["ab"]),
        model_writer=model,
        vocab_size=6,
        model_type="char",
        minloglevel=2,
        **options,
    )
    return model.getvalue()


def _as_line(rule):
    source, target = ([f"{ord(character):X}" for character in text] for text in rule)
    return f"{' '.join(source)}\t{' '.join(target)}\n"


def _clean_rules():
    """Rules by the string that they rewrite: `nmt_nfkc` with typing and pasting in mind."""
    rules = _read_compiled(_compiled_rules("nmt_nfkc"))
    rules |= dict.fromkeys(map(chr, _INVISIBLE), "") | dict.fromkeys(_SPACES, " ")
    rules |= dict.fromkeys(_DOUBLE_QUOTES, '"') | dict.fromkeys(_SINGLE_QUOTES, "'")
    rules |= dict.fromkeys(_DASHES, "-")
    # A dash between spaces, or a long one after a word, is a pause, which a comma always shows.
    # Before a digit it is a minus sign, or means "to".
    for space, dash, after in itertools.product(_SPACED, _PAUSES, _SPACED):
        rules[f"{space}{dash}{after}"] = ", "
        rules |= {f"{space}{dash}{after}{digit}": f" - {digit}" for digit in string.digits}
    for space in _SPACED:
        rules |= {f"«{space}": '"', f"{space}»": '"'}
    for sign in _KEPT:
        rules.pop(sign, None)
    for digit, fraction in itertools.product(string.digits, _FRACTIONS):
        rules[f"{digit}{fraction}"] = f"{digit} {_with_slash(fraction)}"
    rules |= {f"º{scale}": f"°{scale}" for scale in _SCALES}
    for letter in _letters():
        rules |= {f"{space}- {letter}": f", {rules.get(letter, letter)}" for space in _SPACED}
        rules |= {f"{letter}{dash}": f"{rules.get(letter, letter)}, " for dash in _LONG_DASHES}
    for joiner in _JOINERS:  # `nmt_nfkc` turns one of them into a space
        rules.pop(joiner, None)
        for character in map(chr, itertools.chain(*_WITHOUT_JOINERS)):
            if unicodedata.category(character)[0] in "LNPSZM":
                rules[character + joiner] = rules.get(character, character)
    return rules


def _with_slash(fraction):
    return unicodedata.normalize("NFKC", fraction).replace("\u2044", "/")


def _letters():
    """Letters after which a long dash is a pause."""
    return [letter for letter in map(chr, itertools.chain(*_WITHOUT_JOINERS)) if letter.isalpha()]


def rules_across_characters(normalization):
    """Returns the rules that look at more than one letter with its marks, as regular expressions.

    They are for programs that read compiled rules a letter at a time, as Hugging Face's tokenizers
    do, and are applied before the other rules.

    Returns:
        List of pairs of a pattern and what to write in its place.
    """
    if normalization != "clean_nfkc":
        return []
    pauses, long_dashes = (
        "|".join(sorted(dashes, key=len, reverse=True)) for dashes in (_PAUSES, _LONG_DASHES)
    )
    spaces, letters = "".join(_SPACED), "".join(_letters())
    return [
        (f"[{spaces}](?:{pauses})[{spaces}](?=[0-9])", " - "),
        (f"[{spaces}](?:{pauses})[{spaces}]|[{spaces}]- (?=[{letters}])", ", "),
        (f"(?<=[{letters}])(?:{long_dashes})", ", "),
        (f"«[{spaces}]|[{spaces}]»", '"'),
        *((f"(?<=[0-9]){fraction}", f" {_with_slash(fraction)}") for fraction in _FRACTIONS),
        (f"º(?=[{_SCALES}])", "°"),
    ]


def _nfc_rules():
    """Rules for the composition of canonically equivalent letters (Unicode, annex 15)."""
    rules = {}
    for character in map(chr, range(sys.maxunicode + 1)):
        if unicodedata.is_normalized("NFD", character):  # and so composed of nothing
            continue
        letter, *marks = unicodedata.normalize("NFD", character)
        for order in itertools.permutations(marks):
            for end in range(len(order) + 1):  # the first marks may be composed with the letter
                begun = unicodedata.normalize("NFC", "".join((letter, *order[:end])))
                source = "".join((begun, *order[end:]))
                rules[source] = unicodedata.normalize("NFC", source)
        rules[character] = unicodedata.normalize("NFC", character)
    return {source: target for source, target in rules.items() if source != target}


def _read_compiled(blob):
    """Reads compiled rules: the size of a double-array trie, the trie, and the strings to write.

    Format: https://github.com/s-yata/darts-clone, and `Normalizer::DecodePrecompiledCharsMap`.
    """
    num_bytes = int(np.frombuffer(blob, "<u4", 1)[0])
    units = np.frombuffer(blob, "<u4", num_bytes // 4, 4)
    texts = blob[4 + num_bytes :]
    labels = np.arange(1, 256, dtype="uint32")
    rules, waiting = {}, [(np.zeros(1, "int64"), [b""])]
    while waiting:
        nodes, keys = waiting.pop()
        if len(nodes) > _MAX_NODES:
            waiting.append((nodes[_MAX_NODES:], keys[_MAX_NODES:]))
            nodes, keys = nodes[:_MAX_NODES], keys[:_MAX_NODES]
        offsets = _offsets(units[nodes])
        children = (nodes ^ offsets)[:, None] ^ labels
        valid = children < len(units)
        found = np.where(valid, units[np.where(valid, children, 0)] & 0x800000FF, 0) == labels
        rows, columns = np.nonzero(found & valid)
        nodes = children[rows, columns].astype("int64")
        keys = [
            keys[row] + bytes([labels[column]]) for row, column in zip(rows, columns, strict=True)
        ]
        ends = np.nonzero(units[nodes] >> 8 & 1)[0]
        places = nodes[ends] ^ _offsets(units[nodes[ends]])
        starts = (units[places] & 0x7FFFFFFF).tolist()
        for index, start in zip(ends.tolist(), starts, strict=True):
            target = texts[start : texts.index(b"\0", start)]
            rules[keys[index].decode()] = target.decode()
        if len(nodes):
            waiting.append((nodes, keys))
    return rules


def _offsets(units):
    return ((units >> 10) << ((units & (1 << 9)) >> 6)).astype("int64")
