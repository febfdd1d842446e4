"""Texts of any length: split into sentences, translated, and joined again with their layout.

A text may have more tokens than the model has positions. Or it may have so many sentences that it
is longer than any text the model has learned to read; the model would leave some of them out. Such
texts are split as documents are, and the translations of their parts are joined.
"""

import functools
import heapq
import itertools
import re
import warnings

import numpy as np

from aiayn_keras.documents.splitting import can_split, join_strings, split_strings
from aiayn_keras_light.checks import check_function, check_texts
from aiayn_keras_light.placeables import check_placeables, translate_placeables
from aiayn_keras_light.text_batches import (
    TextTooLongError,
    check_equal_lengths,
    is_to_split,
    tokenize,
)
from aiayn_keras_light.translating import (
    DocumentTranslation,
    Hypothesis,
    NoTranslationError,
    TextSearch,
    as_translation,
    translate_in_batches,
)

_LONG_TEXTS = ("error", "split", "cut")
"""Treatments of a text that is too long."""
_END_WITHIN = re.compile(r"[.!?…]['\"”’»)\]]*\s+\S|[。！？].")
"""What may be the end of a sentence within a text."""


def translate_by_sentence(texts, translate, tokenizer, max_sequence_length):
    """Translates texts sentence by sentence, see `TransformerSeq2SeqLM.translate_documents`.

    Args:
        texts: List of strings.
        translate: Function of a list of sentences that gives a list of `Translation`.
        tokenizer: A `TransformerTokenizer`.
        max_sequence_length: Maximum number of tokens of a sentence, the end token included.

    Returns:
        List of `DocumentTranslation`.

    Raises:
        TextTooLongError: For a text with a word that is longer than the model has positions.
        NoTranslationError: If no translation of a sentence satisfies the constraint.
    """
    texts = check_texts("texts", texts)
    documents = split_strings(texts, tokenizer.proto, max_sequence_length - 1)
    rows = [row for row, (_, sentences) in enumerate(documents) for _ in sentences]
    try:
        translations = translate([each for _, sentences in documents for each in sentences])
    except TextTooLongError as error:  # one character has more wordpieces than there are positions
        raise TextTooLongError("texts", rows[error.index], error.reason) from error
    except NoTranslationError as error:
        translations = error.translations
    remaining = iter(translations)
    translated = [
        _joined_document(separators, sentences, tuple(itertools.islice(remaining, len(sentences))))
        for separators, sentences in documents
    ]
    if any(document is None for document in translated):
        raise NoTranslationError(translated)
    return translated


def _joined_document(separators, sentences, translations):
    """The `DocumentTranslation`; `None` if a sentence has no translation."""
    if any(translation is None for translation in translations):
        return None
    text = join_strings(separators, sentences, [each.text for each in translations])
    return DocumentTranslation(text, tuple(sentences), translations)


def translate_any_length(
    texts, long_text, placeables, search, find, *, prefixes, align, progress, **options
):
    """Translates texts, some of them perhaps too long; see `TransformerSeq2SeqLM.translate`.

    The hypotheses of a text of several parts are combinations of the parts' hypotheses: scores and
    normalized scores are added, and alignments become the blocks of a larger one.

    Args:
        texts: List of strings.
        long_text: `"error"`, `"split"` or `"cut"`.
        placeables: One of `PLACEABLES`.
        search: A `TranslationSearch`.
        find: Its `find`, compiled.
        prefixes: List of strings, one for each text, that the translations begin with, or None.
        align: As in `translate_in_batches`.
        progress: Function called with the number of texts done, or None.
        **options: The other options of `translate_in_batches`.

    Returns:
        List of `Translation`, one for each text.

    Raises:
        TypeError: If `progress` is not a function.
        ValueError: For an unknown treatment, `"split"` with a constraint, or `"keep"` with a
            constraint, prefixes or alignments.
        TextTooLongError: For a text that is too long, or has a character that is.
        NoTranslationError: If a text has no translation.
        ImportError: If a text is to be split and TensorFlow Text is not installed.
    """
    if long_text not in _LONG_TEXTS:
        raise ValueError(
            f'`long_text` must be "error", "split" or "cut". Received: long_text={long_text!r:.60}.'
        )
    check_function("progress", progress)
    constraint = search.options.constraint
    check_placeables(placeables, constraint=constraint, prefixes=prefixes, return_alignments=align)
    of_texts = TextSearch(
        search.tokenizer.without_layer(), search.options, search.max_sequence_length
    )
    translate = functools.partial(
        translate_in_batches, search=of_texts, find=find, align=align, **options
    )
    if placeables == "keep":
        of_length = functools.partial(_translate_any_length, long_text, search, translate, None)
        return translate_placeables(texts, of_length, progress)
    return _translate_any_length(long_text, search, translate, prefixes, texts, progress)


def _translate_any_length(long_text, search, translate, prefixes, texts, progress):
    translate = functools.partial(translate, is_cut=long_text == "cut")
    is_constrained = search.options.constraint is not None
    if is_constrained and long_text == "split":
        raise ValueError(
            '`long_text="split"` cannot be combined with `constraint`, which every part of a text '
            'would keep and the whole would not. Choose "error" or "cut".'
        )
    splits = {}
    if long_text != "cut" and not is_constrained:
        splits = _split_long_texts(
            texts, search.tokenizer, search.max_sequence_length, long_text == "split"
        )
    if not splits:
        return translate(texts, prefixes=prefixes, progress=progress)
    return _translate_parts(list(texts), splits, translate, prefixes, progress)


def _split_long_texts(texts, tokenizer, max_sequence_length, of_any_length):
    """Separators and sentences of the texts that are too long, by their rows.

    Without `of_any_length`, texts with more tokens than the model has positions are left out.
    """
    if tokenizer.learned_length is None and not of_any_length:
        return {}
    lengths = map(len, tokenize(texts, "texts", tokenizer.without_layer()))
    limits = max_sequence_length, tokenizer.learned_length, of_any_length
    rows = [row for row, length in enumerate(lengths) if is_to_split(length, *limits)]
    if not rows:
        return {}
    if not of_any_length and not can_split():
        rows = [row for row in rows if _END_WITHIN.search(str(texts[row]))]
        if rows:
            warnings.warn(
                f"`texts[{rows[0]}]` has more tokens than the {tokenizer.learned_length} that the "
                "model has learned to read, so its translation may leave sentences out. TensorFlow "
                "Text would split it into sentences: pip install tensorflow-text.",
                stacklevel=2,
            )
        return {}
    limit = max_sequence_length - len(tokenizer.source_ids)
    splits = split_strings([str(texts[row]) for row in rows], tokenizer.proto, limit)
    return dict(zip(rows, splits, strict=True))


def _translate_parts(texts, splits, translate, prefixes, progress):
    if prefixes is not None:
        check_equal_lengths(texts=texts, prefixes=prefixes)
    parts, rows, part_prefixes = [], [], []
    for row, text in enumerate(texts):
        sentences = splits[row][1] if row in splits else [text]
        parts += sentences
        rows += [row] * len(sentences)
        if prefixes is not None:
            part_prefixes += [prefixes[row], *[""] * (len(sentences) - 1)][: len(sentences)]
    try:
        found = translate(
            parts,
            prefixes=None if prefixes is None else part_prefixes,
            progress=None if progress is None else _count_texts(progress, len(texts), len(parts)),
        )
    except TextTooLongError as error:
        raise TextTooLongError(error.argument, rows[error.index], error.reason) from error
    except NoTranslationError as error:
        found = error.translations
    remaining, translations = iter(found), []
    for row in range(len(texts)):
        if row not in splits:
            translations.append(next(remaining))
            continue
        separators, sentences = splits[row]
        of_parts = list(itertools.islice(remaining, len(sentences)))
        has_all = all(each is not None for each in of_parts)
        translations.append(_combine(separators, sentences, of_parts) if has_all else None)
    if any(each is None for each in translations):
        raise NoTranslationError(translations)
    return translations


def _count_texts(progress, num_texts, num_parts):
    """A `progress` for parts; the longest parts are translated first."""
    done_parts = done_texts = 0

    def count(done):
        nonlocal done_parts, done_texts
        done_parts += done
        now = max(0, num_texts - (num_parts - done_parts))
        if now > done_texts:
            progress(now - done_texts)
            done_texts = now

    return count


def _combine(separators, sentences, translations):
    """The `Translation` of a text from those of its parts, none or more."""
    number = max((len(each.hypotheses) for each in translations), default=1)
    chosen = [()]  # combinations of the parts so far, best first
    for translation in translations:
        chosen = heapq.nlargest(
            number,
            itertools.starmap(
                lambda start, hypothesis: (*start, hypothesis),
                itertools.product(chosen, translation.hypotheses),
            ),
            key=lambda parts: sum(part.normalized_score for part in parts),
        )
    return as_translation([_join(separators, sentences, parts) for parts in chosen])


def _join(separators, sentences, parts):
    aligned = [part for part in parts if part.alignment is not None]
    return Hypothesis(
        join_strings(separators, sentences, [part.text for part in parts]),
        sum(part.score for part in parts),
        sum(part.normalized_score for part in parts),
        tuple(token for part in parts for token in part.tokens),
        _blocks(aligned) if aligned else None,
        source_tokens=(
            tuple(token for part in aligned for token in part.source_tokens) if aligned else None
        ),
    )


def _blocks(parts):
    """Joins alignments of parts: a row for each wordpiece, and one for the last end token."""
    blocks = [part.alignment[:-1] for part in parts[:-1]] + [parts[-1].alignment]
    whole = np.zeros((sum(map(len, blocks)), sum(each.shape[1] for each in blocks)), "float32")
    row = column = 0
    for block in blocks:
        whole[row : row + block.shape[0], column : column + block.shape[1]] = block
        row, column = row + block.shape[0], column + block.shape[1]
    return whole
