"""Translations of texts: to batches of token ids, through a search, and back."""

import functools
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from aiayn_keras_light.checks import check_integer
from aiayn_keras_light.search_numbers import SearchNumbers, length_penalty, max_pieces
from aiayn_keras_light.text_batches import (
    LENGTH_MULTIPLE,
    MAX_TEXTS,
    TextError,
    TextTooLongError,
    batch_by_length,
    check_equal_lengths,
    pad_batch,
    tokenize,
)

SMALL_HIDDEN_DIM = 256
"""Maximum width of a model whose products are too small to be shared by cores."""


@dataclass(frozen=True)
class Hypothesis:
    """One translation of a text.

    Attributes:
        text: The translation.
        score: Its log-probability in nats, the end token included, without penalties.
        normalized_score: The score divided by the length penalty. Hypotheses are ranked by it; with
            a coverage penalty, by its sum with that penalty.
        tokens: Its wordpieces.
        alignment: Float32 array `(T, S)`, the attention of each wordpiece and of the end token to
            each source wordpiece and its end token (the decoder's last layer, mean of the heads);
            None if not asked for, and for a text without words.
        source_tokens: The S wordpieces of the source that the alignment's columns stand for, its
            end token included; None where `alignment` is.
    """

    text: str
    score: float
    normalized_score: float
    tokens: tuple[str, ...]
    alignment: np.ndarray | None = field(default=None, compare=False, repr=False)
    source_tokens: tuple[str, ...] | None = field(
        default=None, compare=False, repr=False, kw_only=True
    )


@dataclass(frozen=True)
class Translation(Hypothesis):
    """The best translation of a text, and the runners-up.

    Attributes:
        hypotheses: `num_return_sequences` hypotheses, or fewer if fewer exist (under a constraint,
            or for very short translations), best first; the first repeats this one. They differ in
            wordpieces; two of them may spell one text.
    """

    hypotheses: tuple[Hypothesis, ...] = ()


@dataclass(frozen=True)
class DocumentTranslation:
    """The translation of a text of any length, sentence by sentence.

    Attributes:
        text: The translation, with line breaks, spaces and bullets as in the source.
        sources: The sentences that the source was split into.
        translations: A `Translation` for each sentence.
    """

    text: str
    sources: tuple[str, ...]
    translations: tuple[Translation, ...]

    @property
    def score(self):
        """Sum of the sentences' log-probabilities in nats."""
        return sum(translation.score for translation in self.translations)


@dataclass(frozen=True)
class TextSearch:
    """The facts of a model that texts and translations depend on.

    Attributes:
        tokenizer: A `PieceTokenizer`, or a `TransformerTokenizer`.
        options: `SearchNumbers`.
        max_sequence_length: Maximum number of tokens of a text: the positions of the model.
    """

    tokenizer: Any
    options: SearchNumbers
    max_sequence_length: int


class NoTranslationError(ValueError):
    """Some texts have no translation that satisfies the constraint.

    Attributes:
        rows: List of the texts' positions.
        translations: List with the `Translation` (or `DocumentTranslation`) of each text, `None`
            for those without one.
    """

    def __init__(self, translations):
        self.rows = [row for row, found in enumerate(translations) if found is None]
        self.translations = translations
        super().__init__(
            f"There is no translation of `texts[{self.rows[0]}]`: `constraint` "
            "allows none that begins with its prefix, has at least `min_length` wordpieces and is "
            "within `max_length` and the model's positions, or weights of the model are not finite."
        )


def translate_in_batches(
    texts,
    search,
    find,
    *,
    batch_size,
    is_cut,
    prefixes=None,
    align=None,
    progress=None,
    in_turn=map,
):
    """Translates texts in batches of similar length; see `TransformerSeq2SeqLM.translate`.

    Args:
        texts: List of strings.
        search: A `TextSearch`, or a `TranslationSearch`.
        find: The search of a batch: a function of NumPy arrays `(token ids (B, S), padding mask
            (B, S), prompts (B, L), maximum lengths (B,), minimum length ()) -> (token ids
            (B, N, L), log-probabilities (B, N))`.
        batch_size: Number of texts searched together.
        is_cut: Whether texts with too many tokens are cut; otherwise they are refused.
        prefixes: List of strings that the translations begin with, if any.
        align: Function of encoder ids and mask `(B, S)`, decoder ids and mask `(B, T)` that gives
            alignments `(B, T, S)`, all NumPy arrays, if they are wanted.
        progress: Function called with the number of texts done: first those without words, then
            those of each batch.
        in_turn: Function like `map`, which may search for several batches at once.

    Returns:
        List of `Translation`.

    Raises:
        NoTranslationError: If no translation of a text satisfies the constraint.
    """
    batch_size = check_integer("batch_size", batch_size, 1, MAX_TEXTS)
    tokenizer, options = search.tokenizer, search.options
    sources = tokenize(texts, "texts", tokenizer, search.max_sequence_length, is_cut)
    prompts = _Prompts(sources, prefixes, search)

    def find_batch(rows):  # Perhaps called in threads, so that two batches share the cores.
        inputs = pad_batch([sources[i] for i in rows])
        outputs = find(*inputs, *prompts.batch(rows, *inputs[0].shape))
        token_ids, log_probs = (output[: len(rows)] for output in outputs)
        if options.constraint is None:
            _check_finite(log_probs)
        alignments = None if align is None else _align(align, inputs, token_ids)
        return token_ids, log_probs, alignments

    # A text without words has only empty translations; one without letters may be its own.
    translations, with_words = [], []
    for i, (text, source) in enumerate(zip(texts, sources, strict=True)):
        known = None
        if len(source) == tokenizer.source_end:
            known = ""
        elif _is_copied(text, tokenizer, options) and not (prefixes and prefixes[i]):
            known = str(text).replace("\0", "")  # as the tokenizer
        if known is None:
            with_words.append(i)
        hypothesis = Hypothesis(known or "", 0.0, 0.0, ())
        translations.append(as_translation([hypothesis] * options.num_return_sequences))
    batches = [
        [with_words[i] for i in batch]
        for batch in batch_by_length([sources[i] for i in with_words], batch_size)
    ]
    if progress is not None and len(with_words) < len(sources):
        progress(len(sources) - len(with_words))
    as_token = functools.cache(tokenizer.of_targets().id_to_token)
    as_source_token = functools.cache(tokenizer.id_to_token)
    for rows, results in zip(batches, in_turn(find_batch, batches), strict=True):
        found = _read_hypotheses(
            tokenizer.of_targets(),
            as_token,
            [tuple(map(as_source_token, sources[i])) for i in rows],
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


def map_in_threads(function, items, num_threads=2):
    """Calls a function with each item in threads, and yields the results in order.

    Once a call has raised an exception, no further ones begin.

    Args:
        function: Takes an item.
        items: List of items.
        num_threads: Number of threads.

    Yields:
        `function(item)` for every item.
    """
    if len(items) < 2:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(num_threads) as executor:
        try:
            yield from executor.map(function, items)
        except BaseException:
            executor.shutdown(cancel_futures=True)
            raise


def _is_copied(text, tokenizer, options):
    """True if a text is its own translation; a constraint may not allow it."""
    return (
        tokenizer.copy_without_letters
        and options.constraint is None
        and not any(map(str.isalpha, text))
    )


def _check_finite(log_probs):
    """Refuses log-probabilities `(B, N)` if nothing was found for one of the texts."""
    if not np.isfinite(log_probs[:, 0]).all():
        raise ValueError(
            "The model gives no probabilities and cannot translate: some of its weights are not "
            "finite, or `no_repeat_ngram_size` leaves no token to write."
        )


def _align(align, sources, token_ids):
    """Alignments `(B, N, T, S)` of hypotheses `(B, N, L)`, T the longest's length, rounded up."""
    # Only padding follows, and it may exceed the positions of the model.
    width = int((token_ids != 0).sum(axis=2).max()) - 1
    token_ids = token_ids[:, :, : width + -width % LENGTH_MULTIPLE + 1]
    num_rows, num_hypotheses, length = token_ids.shape
    decoder_ids = token_ids[:, :, :-1].reshape(-1, length - 1)
    encoder_ids, encoder_mask = (
        np.repeat(array[:num_rows], num_hypotheses, axis=0) for array in sources
    )
    decoder_mask = (token_ids[:, :, 1:] != 0).astype("int32").reshape(decoder_ids.shape)
    weights = align(encoder_ids, encoder_mask, decoder_ids, decoder_mask)
    return weights.reshape(num_rows, num_hypotheses, length - 1, -1)


class _Prompts:
    """Start tokens, prefixes and limits of the translations of some texts.

    Args:
        sources: List of lists of token ids, as `tokenize` gives them.
        prefixes: List of strings that the translations begin with, or None.
        search: As in `translate_in_batches`.

    Raises:
        ValueError: If the numbers of prefixes and texts differ.
        TextError: For a prefix with characters that are not in the vocabulary.
        TextTooLongError: For a prefix that is longer than the translation may be.
    """

    def __init__(self, sources, prefixes, search):
        tokenizer, options = search.tokenizer, search.options
        self._options = options
        self._max_pieces = search.max_sequence_length - 1
        self._num_ends = len(tokenizer.source_ids)
        self._limits = [
            min(max_pieces(len(source) - self._num_ends, options), self._max_pieces)
            for source in sources
        ]
        pieces = [()] * len(sources)
        if prefixes is not None:
            pieces = [ids[:-1] for ids in tokenize(prefixes, "prefixes", tokenizer.of_targets())]
            check_equal_lengths(texts=sources, prefixes=prefixes)
            _check_known(pieces, tokenizer, prefixes)
            _check_room(pieces, self._limits, prefixes)
        self._starts = [[tokenizer.start_token_id, *ids] for ids in pieces]

    def batch(self, rows, batch_size, source_length):
        """Arrays for a batch of texts.

        Args:
            rows: List of the texts' positions.
            batch_size: Number of rows B to fill; rows beyond the texts repeat the first.
            source_length: Number of tokens S that the batch's sources are padded to.

        Returns:
            Int32 arrays: prompts `(B, L)` as `TranslationSearch.inputs` takes them,
            maximum lengths `(B,)` and the minimum length `()`.
        """
        room = max_pieces(source_length - self._num_ends, self._options)
        if self._options.max_length is not None:  # Few shapes to compile, for any choice of users.
            room = min(room, self._max_pieces)
            room += -(room + 2) % LENGTH_MULTIPLE
        rows = [*rows, *rows[:1] * (batch_size - len(rows))]
        token_ids = np.zeros((batch_size, room + 2), dtype="int32")
        for prompt, row in zip(token_ids, rows, strict=True):
            prompt[: len(self._starts[row])] = self._starts[row]
        limits = np.array([self._limits[row] for row in rows], dtype="int32")
        return token_ids, limits, np.array(self._options.min_length, dtype="int32")


def _check_known(prefixes, tokenizer, texts):
    for i, prefix in enumerate(prefixes):
        if tokenizer.unk_token_id in prefix:
            raise TextError(
                "prefixes",
                i,
                "the prefix must be made of characters that the model's vocabulary has: no "
                f"translation can begin with others. Received: {texts[i][:40]!r}.",
            )


def _check_room(prefixes, limits, texts):
    for i, (prefix, limit) in enumerate(zip(prefixes, limits, strict=True)):
        if len(prefix) > limit:
            raise TextTooLongError(
                "prefixes",
                i,
                f"the prefix has {len(prefix)} wordpieces, but the translation may have at most "
                f"{limit} (`max_length`, or the text's plus `extra_length`, within the model's "
                f"positions). It begins with {texts[i][:40]!r}.",
            )


def as_translation(hypotheses):
    """The `Translation` of a text from all its hypotheses, best first."""
    return Translation(**vars(hypotheses[0]), hypotheses=tuple(hypotheses))


def _read_hypotheses(tokenizer, as_token, sources, options, token_ids, log_probs, alignments):
    """The hypotheses of a batch, a tuple for each source, empty if nothing was found.

    Args:
        tokenizer: A tokenizer.
        as_token: Its `id_to_token`, or a faster equivalent.
        sources: List of B tuples of the sources' tokens.
        options: The `SearchNumbers`.
        token_ids: Integer array `(B, N, L)`.
        log_probs: Float array `(B, N)`.
        alignments: Float array `(B, N, T, S)`, T at most `L - 1`, or None.
    """
    num_hypotheses = token_ids.shape[1]
    flat_ids = token_ids.reshape(-1, token_ids.shape[2]).tolist()
    special_ids = frozenset(tokenizer.special_token_ids)
    pieces = [[i for i in ids if i not in special_ids] for ids in flat_ids]
    texts = tokenizer.detokenize(pieces)
    normalized_scores = log_probs.reshape(-1) / _length_penalties(pieces, options)
    for row, source in enumerate(sources):
        hypotheses = []
        for n in range(num_hypotheses):
            flat = row * num_hypotheses + n
            if not np.isfinite(log_probs[row, n]):  # no further ones exist
                break
            alignment = None
            if alignments is not None:
                alignment = alignments[row, n, : len(pieces[flat]) + 1, : len(source)]
            hypotheses.append(
                Hypothesis(
                    texts[flat],
                    float(log_probs[row, n]),
                    float(normalized_scores[flat]),
                    tuple(map(as_token, pieces[flat])),
                    alignment,
                    source_tokens=None if alignment is None else source,
                )
            )
        yield tuple(hypotheses)


def _length_penalties(pieces, options):
    """The length penalty of each hypothesis, which counts the end token beside its pieces."""
    return length_penalty(np.array([len(each) + 1 for each in pieces], "float32"), options)
