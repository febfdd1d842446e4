"""From texts to batches, through a search, and back to texts in order."""

import functools

import numpy as np
from keras import ops

from aiayn_keras.backend import in_parallel
from aiayn_keras.checks import check_integer
from aiayn_keras.decoding.hypotheses import Hypothesis, as_translation, read_hypotheses
from aiayn_keras.decoding.prompts import Prompts
from aiayn_keras.decoding.text_batches import (
    LENGTH_MULTIPLE,
    MOST_TEXTS,
    batch_by_length,
    pad_batch,
    tokenize,
)


class NoTranslationError(ValueError):
    """No translation of some texts keeps the constraint.

    Attributes:
        rows: List of the texts' positions.
        translations: List with the `Translation` (or `DocumentTranslation`) of every other text,
            and `None` for these.
    """

    def __init__(self, translations):
        self.rows = [row for row, found in enumerate(translations) if found is None]
        self.translations = translations
        super().__init__(
            f"There is no translation of `texts[{self.rows[0]}]`: `constraint` "
            "allows none that begins with its prefix and is within `max_length` and the model's "
            "positions, or weights of the model are not finite."
        )


def translate_texts(
    texts,
    *,
    tokenizer,
    search,
    max_sequence_length,
    options,
    batch_size,
    prefixes=None,
    align=None,
    progress=None,
):
    """Translates texts in batches of similar length; see `TransformerSeq2SeqLM.translate`.

    Args:
        texts: List of strings.
        tokenizer: A `TransformerTokenizer`.
        search: Function `(token ids (B, S), padding mask (B, S), prompts (B, L), greatest lengths
            (B,), least length ()) -> (token ids (B, N, L), log-probabilities (B, N))`.
        max_sequence_length: Most tokens of a text, the end token included.
        options: The `SearchOptions` of `search`.
        batch_size: Number of texts searched together.
        prefixes: List of strings that the translations begin with, if any.
        align: Function of encoder ids and mask `(B, S)`, decoder ids and mask `(B, T)` that gives
            alignments `(B, T, S)`, if they are wanted.
        progress: Function called with the number of texts done: those without words, and after
            each batch its own.

    Returns:
        List of `Translation`.

    Raises:
        NoTranslationError: If no translation of a text keeps the constraint.
    """
    batch_size = check_integer("batch_size", batch_size, 1, MOST_TEXTS)
    sources = tokenize(texts, "texts", tokenizer, max_sequence_length)
    prompts = Prompts(sources, prefixes, options, tokenizer, max_sequence_length)

    def search_batch(rows):
        inputs = pad_batch([sources[i] for i in rows])
        outputs = search(*inputs, *prompts.batch(rows, *inputs[0].shape))
        token_ids, log_probs = (ops.convert_to_numpy(output)[: len(rows)] for output in outputs)
        if options.constraint is None:
            _check_finite(log_probs)
        alignments = None if align is None else _align(align, inputs, token_ids)
        return token_ids, log_probs, alignments

    # A text without words has only empty translations.
    empty = as_translation([Hypothesis("", 0.0, 0.0, ())] * options.num_return_sequences)
    translations = [empty] * len(sources)
    with_words = [i for i, source in enumerate(sources) if len(source) > tokenizer.source_end]
    batches = [
        [with_words[i] for i in batch]
        for batch in batch_by_length([sources[i] for i in with_words], batch_size)
    ]
    if progress is not None and len(with_words) < len(sources):
        progress(len(sources) - len(with_words))
    as_token = functools.cache(tokenizer.of_targets().id_to_token)
    for rows, results in zip(batches, in_parallel(search_batch, batches), strict=True):
        found = read_hypotheses(
            tokenizer.of_targets(),
            as_token,
            [sources[i] for i in rows],
            options,
            *results,
        )
        for row, hypotheses in zip(rows, found, strict=True):
            translations[row] = as_translation(hypotheses) if hypotheses else None
        if progress is not None:
            progress(len(rows))
    if any(found is None for found in translations):
        raise NoTranslationError(translations)
    return translations


def _check_finite(log_probs):
    """Refuses `(B, N)` log-probabilities if there is a text for which nothing was found."""
    if not np.isfinite(log_probs[:, 0]).all():
        raise ValueError(
            "The model gives no probabilities, so there is no translation: weights of it are not "
            "finite, or `no_repeat_ngram_size` leaves no token to write."
        )


def _align(align, sources, token_ids):
    """Alignments `(B, N, T, S)` of hypotheses `(B, N, L)`, T the longest's length, rounded up."""
    # Behind it is padding alone, for all of which the model may have no positions.
    width = int((token_ids != 0).sum(axis=2).max()) - 1
    token_ids = token_ids[:, :, : width + -width % LENGTH_MULTIPLE + 1]
    num_rows, num_hypotheses, length = token_ids.shape
    decoder_ids = token_ids[:, :, :-1].reshape(-1, length - 1)
    encoder_ids, encoder_mask = (
        np.repeat(array[:num_rows], num_hypotheses, axis=0) for array in sources
    )
    decoder_mask = (token_ids[:, :, 1:] != 0).astype("int32").reshape(decoder_ids.shape)
    weights = ops.convert_to_numpy(align(encoder_ids, encoder_mask, decoder_ids, decoder_mask))
    return weights.reshape(num_rows, num_hypotheses, length - 1, -1)
