"""Texts of any length: to sentences, through `translate`, and back with their layout."""

import itertools

from aiayn_keras.checks import check_texts
from aiayn_keras.decoding.hypotheses import DocumentTranslation
from aiayn_keras.decoding.sentences.splitting import split_strings
from aiayn_keras.decoding.text_batches import TextTooLongError


def translate_documents(texts, translate, tokenizer, max_sequence_length):
    """Translates texts sentence by sentence, see `TransformerSeq2SeqLM.translate_documents`.

    Args:
        texts: List of strings.
        translate: Function of a list of sentences that gives a list of `Translation`.
        tokenizer: A `TransformerTokenizer`.
        max_sequence_length: Most tokens of a sentence, the end token included.

    Returns:
        List of `DocumentTranslation`.
    """
    texts = check_texts("texts", texts)
    documents = split_strings(texts, tokenizer.proto, max_sequence_length - 1)
    rows = [row for row, (_, sentences) in enumerate(documents) for _ in sentences]
    try:
        translations = translate([each for _, sentences in documents for each in sentences])
    except TextTooLongError as error:  # a character of more wordpieces than the model has positions
        raise TextTooLongError("texts", rows[error.index], error.reason) from error
    remaining = iter(translations)
    return [
        _join(separators, sentences, tuple(itertools.islice(remaining, len(sentences))))
        for separators, sentences in documents
    ]


def _join(separators, sentences, translations):
    texts = [*(translation.text for translation in translations), ""]
    parts = itertools.chain.from_iterable(zip(separators, texts, strict=True))
    return DocumentTranslation("".join(parts), tuple(sentences), translations)
