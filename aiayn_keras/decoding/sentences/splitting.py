"""Texts to separators and sentences, and back, byte for byte."""

import importlib.util
from typing import Any, NamedTuple

from aiayn_keras.decoding.sentences.cutting import characters, cut, is_among
from aiayn_keras.decoding.sentences.layout import lay_out
from aiayn_keras.decoding.sentences.long_sentences import halve_long_sentences
from aiayn_keras.decoding.sentences.marks import sentences_of_lines

LINE_BREAKS = (0x0A, 0x0B, 0x0C, 0x0D, 0x85, 0x2028, 0x2029)


class SplitTexts(NamedTuple):
    """B texts as separators and sentences in turn.

    Attributes:
        separators: Ragged string tensor `(B, (S + 1))`, of what is not translated: spaces, line
            breaks, bullets, and what has no letters. The first and last may be empty, and so may
            those between parts of a long sentence.
        sentences: Ragged string tensor `(B, (S))`.
    """

    separators: Any
    sentences: Any


def split_texts(texts, count, limit):
    """Splits texts into sentences.

    Line breaks always separate. Text between them is split at the marks that end sentences, see
    `aiayn_keras.decoding.sentences.marks`, and then where it is too long.

    Args:
        texts: String tensor `(B,)`. Bytes that are no UTF-8 come back as they are.
        count: Function of sentences `(M,)` that gives their numbers of wordpieces `(M,)`.
        limit: Greatest number of wordpieces of a sentence. A single character may have more.

    Returns:
        `SplitTexts`; joined, they are the texts.
    """
    import tensorflow as tf

    lines = _lines(texts)
    segments = sentences_of_lines(lines.values)
    rows = tf.gather(lines.value_rowids(), segments.value_rowids())
    segments, rows = halve_long_sentences(segments.values, rows, count, limit)
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


def join_texts(separators, sentences):
    """Texts `(B,)` of separators and sentences, or of their translations; see `SplitTexts`."""
    import tensorflow as tf

    nothing = tf.fill([separators.nrows(), 1], "")
    padded = tf.concat([sentences, tf.RaggedTensor.from_tensor(nothing)], axis=1)
    return tf.strings.unsorted_segment_join(
        tf.strings.join([separators.values, padded.values]),
        separators.value_rowids(),
        separators.nrows(),
    )


def piece_counter(tokenizer):
    """Function of sentences `(M,)` that gives their numbers of wordpieces `(M,)`.

    Args:
        tokenizer: A `tensorflow_text.SentencepieceTokenizer`.
    """
    return lambda sentences: tokenizer.tokenize(sentences).row_lengths()


def split_strings(texts, proto, limit):
    """Splits a list of strings with any Keras backend, where TensorFlow is installed.

    Args:
        texts: List of strings.
        proto: Bytes of the SentencePiece model.
        limit: Greatest number of wordpieces of a sentence.

    Returns:
        Lists of separators and lists of sentences, a pair for each text.

    Raises:
        ImportError: If TensorFlow Text is not installed.
    """
    for name in ("tensorflow", "tensorflow_text"):
        if importlib.util.find_spec(name) is None:
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


def _strings(values):
    return [value.decode("utf-8") for value in values]


def _lines(texts):
    """Texts cut behind line breaks, which stay at the ends of the lines."""
    import tensorflow as tf

    codes, offsets = characters(texts)
    is_begin = is_among(tf.roll(codes.values, 1, axis=0), LINE_BREAKS)
    return cut(texts, tf.ragged.boolean_mask(offsets, codes.with_values(is_begin)))
