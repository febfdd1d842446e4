"""Splits texts into separators and sentences, and joins them again.

`split_texts` cuts texts at line breaks, tabs and the bars of tables, then after sentences, then
where a sentence has too many wordpieces; spaces, bullets and numbers around a sentence go to the
separators, which are not translated. `join_texts` replaces the sentences by their translations.
"""

import importlib.util
import re
from typing import Any, NamedTuple

from aiayn_keras.documents.sentence_ends import (
    NO_END,
    characters,
    cut,
    is_among,
    sentences_of_lines,
)
from aiayn_keras_light.placeable_patterns import AND, ORDERED
from aiayn_keras_light.spaces import UNSPACED_LETTERS

_JOINER = 0x200D


SPACE = r"[\s\x0b\x1c-\x1f\x{85}\p{Z}\x{200b}\x{feff}]"
"""In RE2 `\\s` matches ASCII only."""

# "- ", "* ", "# ", "— ", "[x] " and "1. ", "2.1. ", "2) ", "(3) ", "a) " at the beginning of a
# sentence; and the quotation marks of a mail, also without a space: ">> ".
_BULLET = r"(?:[-*+•·‣⁃◦▪▫■□●○–—#✓✔✗✘]+|\[[ xX]?\]|\(?\d{1,3}(?:\.\d{1,3}){0,4}[.)]|\(?[A-Za-z]\))"
_LEAD = rf"^{SPACE}*(?:{_BULLET}{SPACE}+|>{SPACE}*)*"
# "1. Mai" and "1. und 2. Mai", whose number is a part of the sentence.
_BEHIND_ORDINAL = rf"(?:{ORDERED}(?:[^\p{{L}}\p{{N}}_]|$)|{AND}{SPACE}+\d\d?\.{SPACE}+\p{{L}}{{3}})"
_ORDINAL = rf"({_LEAD}\(?\d\d?)\.({SPACE}+{_BEHIND_ORDINAL})"
_TAIL = rf"{SPACE}+$"
HAS_LETTER = r"\C*\p{L}\C*"
"""Pattern of a whole text that has a letter."""


class _LaidOut(NamedTuple):
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
    """Separates sentences `(N,)` from their layout."""
    import tensorflow as tf

    has_letter = tf.strings.regex_full_match(strings, HAS_LETTER)
    marked = tf.strings.regex_replace(strings, _ORDINAL, rf"\1{NO_END}\2", replace_global=False)
    without_lead = tf.strings.regex_replace(marked, _LEAD, "", replace_global=False)
    length = tf.strings.length(without_lead)
    lead = tf.strings.length(strings) - length
    begun = tf.strings.substr(strings, lead, length)
    sentences = tf.strings.regex_replace(begun, _TAIL, "", replace_global=False)
    zeros = tf.zeros_like(lead)
    return _LaidOut(
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


_SPACES = (0x20, 0xA0, 0x2003, 0x2009, 0x202F, 0x3000)
_MARKS_BEFORE_SPACE = tuple(map(ord, ",;:،؛-–—"))
_MARKS = tuple(map(ord, "，、；：–—"))
# Marks on letters, and joiners and modifiers of emoji, stay with the character before.
_JOINED_RANGES = ((0x300, 0x36F), (0x200C, 0x200D), (0xFE00, 0xFE0F), (0x1F3FB, 0x1F3FF))

_MAX_PIECE_BYTES = 64
"""More bytes than the wordpieces of a sentence have on average."""

# Added to the distance from the middle, a share of the length: a comma may be a quarter of the
# sentence further away than a space.
_SPACE_COST, _CHARACTER_COST, _JOINED_COST, _NO_CUT_COST = 0.25, 1.0, 2.0, 9.0


def _halve_long_sentences(segments, rows, count, limit):
    """Cuts segments of text until no sentence in them has more than `limit` wordpieces.

    A single character with more wordpieces is left as it is.

    Args:
        segments: String tensor `(N,)`, sentences with their layout.
        rows: Int64 tensor `(N,)`, the text of each.
        count: Function of sentences `(M,)` that gives their numbers of wordpieces `(M,)`.
        limit: Maximum number of wordpieces.

    Returns:
        Segments `(P,)` and rows `(P,)`.
    """
    import tensorflow as tf

    pieces = tf.clip_by_value(tf.cast(limit, tf.int64), 256, 1 << 24)
    max_bytes = _MAX_PIECE_BYTES * pieces

    def next_places(segments):
        laid_out = lay_out(segments)
        # Too long in any case, so its pieces are not counted: that would double the time and the
        # memory of all rounds (10 MB: 124 s and 4.3 GB instead of 72 s and 2.3 GB).
        is_huge = tf.cast(tf.strings.length(laid_out.sentence), tf.int64) > max_bytes
        is_long = is_huge | (count(tf.where(is_huge, "", laid_out.sentence)) > limit)
        places = _best_places(tf.boolean_mask(laid_out.sentence, is_long))
        leads = tf.cast(tf.strings.length(tf.boolean_mask(laid_out.lead, is_long)), tf.int64)
        places = tf.where(places > 0, places + leads, 0)
        return tf.scatter_nd(tf.where(is_long), places, tf.shape(segments, out_type=tf.int64))

    def halve(segments, rows, places):
        halves = cut(segments, tf.RaggedTensor.from_tensor(places[:, tf.newaxis]))
        rows = tf.gather(rows, halves.value_rowids())
        return halves.values, rows, next_places(halves.values)

    segments, rows, _ = tf.while_loop(
        lambda segments, rows, places: tf.reduce_any(places > 0),
        halve,
        (segments, rows, next_places(segments)),
        shape_invariants=(tf.TensorShape([None]),) * 3,
    )
    return segments, rows


def _best_places(sentences):
    """Bytes `(M,)` at which the second halves begin; 0 for a sentence of one character."""
    import tensorflow as tf

    codes, offsets = characters(sentences)
    costs = codes.with_values(_costs(codes))
    best = tf.reduce_min(costs, axis=1)
    is_best = costs.values == tf.gather(best, costs.value_rowids())
    candidates = tf.where(is_best, offsets.values, tf.int64.max)
    return tf.reduce_min(codes.with_values(candidates), axis=1)


def _costs(codes):
    """Float32 cost of a cut before each character; before the first one, that of no cut."""
    import tensorflow as tf

    values = codes.values
    before = tf.roll(values, 1, axis=0)
    is_space = is_among(before, _SPACES)
    is_clause = is_among(before, _MARKS)
    is_clause |= is_space & is_among(tf.roll(values, 2, axis=0), _MARKS_BEFORE_SPACE)
    is_joined = before == _JOINER
    for first, last in _JOINED_RANGES:
        is_joined |= (values >= first) & (values <= last)
    cost = tf.where(is_space, _SPACE_COST, _CHARACTER_COST)
    cost = tf.where(is_clause, 0.0, cost)
    cost = tf.where(is_joined, _JOINED_COST, cost)
    rows = codes.value_rowids()
    index = tf.range(tf.size(values, tf.int64)) - tf.gather(codes.row_starts(), rows)
    share = tf.cast(index, tf.float32) / tf.cast(tf.gather(codes.row_lengths(), rows), tf.float32)
    return tf.where(index == 0, _NO_CUT_COST, cost + tf.abs(share - 0.5))


_LINE_BREAKS = (0x0A, 0x0B, 0x0C, 0x0D, 0x85, 0x2028, 0x2029)
_CELL_BREAKS = (0x09, 0x7C, 0x2502, 0x2503, 0x2551, 0xFF5C)
"""Tabs and the bars of tables, which stand between cells."""


class SplitTexts(NamedTuple):
    """B texts as separators and sentences in turn.

    Attributes:
        separators: Ragged string tensor `(B, (S + 1))`, the parts that are not translated: spaces,
            line breaks, bullets, and text without letters. The first and last may be empty, and so
            may those between parts of a long sentence.
        sentences: Ragged string tensor `(B, (S))`.
    """

    separators: Any
    sentences: Any


def split_texts(texts, count, limit):
    """Splits texts into sentences.

    Line breaks, tabs and bars always separate. Text between them is split at the marks that end
    sentences, see `aiayn_keras.documents.sentence_ends`, and then where it is too long.

    Args:
        texts: String tensor `(B,)`. Bytes that are not valid UTF-8 come back as they are.
        count: Function of sentences `(M,)` that gives their numbers of wordpieces `(M,)`.
        limit: Maximum number of wordpieces of a sentence. A single character may have more.

    Returns:
        `SplitTexts`, whose strings, joined, are the texts.
    """
    import tensorflow as tf

    lines = _lines(texts)
    segments = sentences_of_lines(lines.values)
    rows = tf.gather(lines.value_rowids(), segments.value_rowids())
    segments, rows = _halve_long_sentences(segments.values, rows, count, limit)
    lead, sentences, tail = lay_out(segments)
    is_sentence = sentences != ""
    # A separator more than sentences in every text: the one before each, and the last one.
    numbers = tf.cumsum(tf.cast(is_sentence, tf.int64), exclusive=True) + rows
    separators = tf.strings.unsorted_segment_join(
        tf.reshape(tf.stack([lead, tail], axis=1), [-1]),
        tf.reshape(tf.stack([numbers, numbers + tf.cast(is_sentence, tf.int64)], axis=1), [-1]),
        tf.math.count_nonzero(is_sentence) + tf.size(texts, tf.int64),
    )
    sentences = tf.RaggedTensor.from_value_rowids(
        tf.boolean_mask(sentences, is_sentence),
        tf.boolean_mask(rows, is_sentence),
        tf.size(texts, tf.int64),
    )
    separators = tf.RaggedTensor.from_row_lengths(separators, sentences.row_lengths() + 1)
    return SplitTexts(separators, sentences)


# Beside these, sentences need no space between them: spaces, and letters and marks of scripts
# without spaces. The class is the same in RE2 and in Python.
_BETWEEN_WORDS = (
    f"[^\\s\u0085\u00a0\u2000-\u200b\u2028-\u202f\u3000-\u303f\uff01-\uff65{UNSPACED_LETTERS}]"
)
_IS_BETWEEN_WORDS = re.compile(_BETWEEN_WORDS).fullmatch


def join_strings(separators, sentences, translations):
    """Joins translations of sentences to a text.

    Where nothing is between two sentences, as in Chinese and Japanese, a space comes between their
    translations into a language that has spaces.

    Args:
        separators: Strings, one more than sentences; see `SplitTexts`.
        sentences: Strings.
        translations: Their translations, strings.

    Example:
    >>> join_strings(["", "", ""], ["我回家。", "她看书。"], ["I go home.", "She reads."])
    'I go home. She reads.'
    """
    pieces = [separators[0]]
    for place, separator in enumerate(separators[1:]):
        pieces += [translations[place], separator]
        following = place + 1
        if separator == "" and following < len(sentences):
            pairs = (each[place : place + 2] for each in (sentences, translations))
            were_words, are_words = (_are_words_beside(*pair) for pair in pairs)
            pieces.append(" " if are_words and not were_words else "")
    return "".join(pieces)


def _are_words_beside(left, right):
    """True if strings end, and others begin, so that a space belongs between them."""
    return all(map(_IS_BETWEEN_WORDS, (left[-1:], right[:1])))


def are_words_beside(left, right):
    """As `_are_words_beside`, with tensors."""
    import tensorflow as tf

    ends = tf.strings.regex_full_match(left, rf"\C*{_BETWEEN_WORDS}")
    return ends & tf.strings.regex_full_match(right, rf"{_BETWEEN_WORDS}\C*")


def join_texts(separators, sentences, translations):
    """Texts `(B,)` of separators, sentences and their translations, as `join_strings`."""
    import tensorflow as tf

    nothing = tf.RaggedTensor.from_tensor(tf.fill([separators.nrows(), 1], ""))
    padded = [tf.concat([each, nothing], axis=1).values for each in (sentences, translations)]
    were_words, are_words = (are_words_beside(tf.roll(each, 1, axis=0), each) for each in padded)
    need_space = (separators.values == "") & are_words & ~were_words
    return tf.strings.unsorted_segment_join(
        tf.strings.join([tf.where(need_space, " ", separators.values), padded[1]]),
        separators.value_rowids(),
        separators.nrows(),
    )


def piece_counter(tokenizer):
    """Function of sentences `(M,)` that gives their numbers of wordpieces `(M,)`.

    Args:
        tokenizer: A `tensorflow_text.SentencepieceTokenizer`.
    """
    return lambda sentences: tokenizer.tokenize(sentences).row_lengths()


def can_split():
    """Returns whether TensorFlow Text, which finds the sentences, is installed."""
    return not _missing_modules()


def split_strings(texts, proto, limit):
    """Splits a list of strings with any Keras backend, where TensorFlow is installed.

    Args:
        texts: List of strings.
        proto: Bytes of the SentencePiece model.
        limit: Maximum number of wordpieces of a sentence.

    Returns:
        Lists of separators and lists of sentences, a pair for each text.

    Raises:
        ImportError: If TensorFlow Text is not installed.
    """
    for name in _missing_modules():
        raise ImportError(
            f"Sentences are split by TensorFlow Text, but `{name}` is not installed: "
            "pip install tensorflow-text."
        )
    import tensorflow as tf
    import tensorflow_text

    tokenizer = tensorflow_text.SentencepieceTokenizer(model=proto, out_type=tf.int32)
    split = split_texts(tf.constant(texts, tf.string), piece_counter(tokenizer), limit)
    separators, sentences = ([_strings(row) for row in part.to_list()] for part in split)
    return list(zip(separators, sentences, strict=True))


def _missing_modules():
    names = ("tensorflow", "tensorflow_text")
    return [name for name in names if importlib.util.find_spec(name) is None]


def _strings(values):
    return [value.decode("utf-8") for value in values]


def _lines(texts):
    """Texts cut after line breaks, which stay at the ends of the lines, and around cell breaks."""
    import tensorflow as tf

    codes, offsets = characters(texts)
    before = tf.roll(codes.values, 1, axis=0)
    is_begin = is_among(before, _LINE_BREAKS + _CELL_BREAKS) | is_among(codes.values, _CELL_BREAKS)
    return cut(texts, tf.ragged.boolean_mask(offsets, codes.with_values(is_begin)))
