"""Texts of any length: to sentences, through `translate`, and back with their layout."""

import itertools

from aiayn_keras.documents.splitting import join_strings, split_strings
from aiayn_keras_light.checks import check_texts
from aiayn_keras_light.text_batches import TextTooLongError
from aiayn_keras_light.translating import DocumentTranslation, NoTranslationError


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
    except TextTooLongError as error:  # a character of more wordpieces than the model has positions
        raise TextTooLongError("texts", rows[error.index], error.reason) from error
    except NoTranslationError as error:
        translations = error.translations
    remaining = iter(translations)
    translated = [
        _join(separators, sentences, tuple(itertools.islice(remaining, len(sentences))))
        for separators, sentences in documents
    ]
    if any(document is None for document in translated):
        raise NoTranslationError(translated)
    return translated


def _join(separators, sentences, translations):
    """The `DocumentTranslation`; `None` if a sentence has no translation."""
    if any(translation is None for translation in translations):
        return None
    text = join_strings(separators, sentences, [each.text for each in translations])
    return DocumentTranslation(text, tuple(sentences), translations)
