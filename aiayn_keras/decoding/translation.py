"""From texts to batches, through a search or a score, and back to texts in order."""

import functools
import math
from dataclasses import dataclass, field

import numpy as np
from keras import ops

from aiayn_keras.backend import in_parallel

# Lengths are padded to multiples of this, and batches to powers of two, so that there are few
# shapes to compile.
LENGTH_MULTIPLE = 8


class TextTooLongError(ValueError):
    """A text has more tokens than the model has positions.

    Attributes:
        index: Which of the texts.
        reason: What is wrong, without the text's index.
    """

    def __init__(self, argument, index, reason):
        super().__init__(f"`{argument}[{index}]`: {reason}")
        self.index = index
        self.reason = reason


@dataclass(frozen=True)
class Hypothesis:
    """One translation of a text.

    Attributes:
        text: The translation.
        score: Its log-probability in nats, the end token included, without penalties.
        tokens: Its wordpieces.
        alignment: Float32 array `(T, S)`, the attention of each wordpiece and of the end token to
            each source wordpiece and its end token (the decoder's last layer, mean of the heads);
            None if not asked for.
    """

    text: str
    score: float
    tokens: tuple[str, ...]
    alignment: np.ndarray | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Translation(Hypothesis):
    """The best translation of a text, and the runners-up.

    Attributes:
        hypotheses: `num_return_sequences` hypotheses, best first; the first repeats this one.
    """

    hypotheses: tuple[Hypothesis, ...] = ()


def batch_by_length(sequences, batch_size):
    """Groups sequences of similar length, longest first, so that memory runs out at once or never.

    Args:
        sequences: List of lists of token ids.
        batch_size: Number of sequences in a batch.

    Yields:
        Lists of positions in `sequences`, up to `batch_size` each.
    """
    order = sorted(range(len(sequences)), key=lambda i: (-len(sequences[i]), i))
    for start in range(0, len(order), batch_size):
        yield order[start : start + batch_size]


def pad_batch(sequences, length=None):
    """Stacks sequences of token ids.

    Args:
        sequences: Non-empty list of lists of token ids.
        length: Least width of the arrays, the greatest length if not given.

    Returns:
        Int32 arrays `(B, S)`, token ids and padding mask. B is the next power of two, rows beyond
        the sequences repeat the first; S is `length` rounded up.
    """
    num_rows = 1 << (len(sequences) - 1).bit_length()
    length = max(map(len, sequences)) if length is None else length
    length += -length % LENGTH_MULTIPLE
    token_ids = np.zeros((num_rows, length), dtype="int32")
    padding_mask = np.zeros_like(token_ids)
    for i in range(num_rows):
        sequence = sequences[i] if i < len(sequences) else sequences[0]
        token_ids[i, : len(sequence)] = sequence
        padding_mask[i, : len(sequence)] = 1
    return token_ids, padding_mask


def translate_texts(
    texts,
    *,
    tokenizer,
    search,
    max_sequence_length,
    num_beams,
    num_return_sequences,
    batch_size,
    prefixes=None,
    align=None,
    progress=None,
):
    """Translates texts in batches of similar length; see `TransformerSeq2SeqLM.translate`.

    Args:
        texts: List of strings.
        tokenizer: A `TransformerTokenizer`.
        search: Function `(token ids (B, S), padding mask (B, S)) -> (token ids (B, N, L),
            log-probabilities (B, N))`; with prefixes it takes them too, `(B, P)`.
        max_sequence_length: Most tokens of a text, the end token included.
        num_beams: Number of beams W of `search`.
        num_return_sequences: Number of hypotheses N to return for a text.
        batch_size: Number of texts searched together.
        prefixes: List of strings that the translations begin with, if any.
        align: Function of encoder ids and mask `(B, S)`, decoder ids and mask `(B, T)` that gives
            alignments `(B, T, S)`, if they are wanted.
        progress: Function called with the number of texts done after each batch.

    Returns:
        List of `Translation`.
    """
    if not 1 <= num_return_sequences <= num_beams:
        raise ValueError(
            "`num_return_sequences` must be at least 1 and at most `num_beams`. Received: "
            f"num_return_sequences={num_return_sequences}, num_beams={num_beams}."
        )
    sources = tokenize(texts, "texts", tokenizer, max_sequence_length)
    if prefixes is not None:
        prefixes = [ids[:-1] for ids in tokenize(prefixes, "prefixes", tokenizer)]
        _check_lengths(texts=sources, prefixes=prefixes)
        prefix_width = max(1, *map(len, prefixes)) if prefixes else 1
    as_token = functools.cache(tokenizer.id_to_token)
    nothing = (Hypothesis("", 0.0, ()),) * num_return_sequences
    translations = [_as_translation(nothing)] * len(sources)
    with_words = [i for i, source in enumerate(sources) if len(source) > 1]
    batches = [
        [with_words[i] for i in batch]
        for batch in batch_by_length([sources[i] for i in with_words], batch_size)
    ]

    def search_batch(rows):
        inputs = pad_batch([sources[i] for i in rows])
        if prefixes is not None:
            inputs += (pad_batch([prefixes[i] for i in rows], prefix_width)[0],)
        token_ids, log_probs = (
            ops.convert_to_numpy(output)[: len(rows)] for output in search(*inputs)
        )
        alignments = None if align is None else _align(align, inputs[:2], token_ids)
        return token_ids, log_probs, alignments

    for rows, results in zip(batches, in_parallel(search_batch, batches), strict=True):
        for row, hypotheses in zip(
            rows,
            _hypotheses(tokenizer, as_token, [sources[i] for i in rows], *results),
            strict=True,
        ):
            translations[row] = _as_translation(hypotheses)
        if progress is not None:
            progress(len(rows))
    return translations


def _align(align, sources, token_ids):
    """Alignments `(B, N, L - 1, S)` of hypotheses `(B, N, L)`."""
    num_rows, num_hypotheses, length = token_ids.shape
    decoder_ids = token_ids[:, :, :-1].reshape(-1, length - 1)
    encoder_ids, encoder_mask = (
        np.repeat(array[:num_rows], num_hypotheses, axis=0) for array in sources
    )
    decoder_mask = (token_ids[:, :, 1:] != 0).astype("int32").reshape(decoder_ids.shape)
    weights = ops.convert_to_numpy(align(encoder_ids, encoder_mask, decoder_ids, decoder_mask))
    return weights.reshape(num_rows, num_hypotheses, length - 1, -1)


def score_texts(sources, targets, *, tokenizer, token_log_probs, max_sequence_length, batch_size):
    """Scores pairs in batches of similar length; see `TransformerSeq2SeqLM.score`.

    Args:
        sources: List of strings.
        targets: List of strings, one for a source.
        tokenizer: A `TransformerTokenizer`.
        token_log_probs: Function of encoder ids and mask `(B, S)`, decoder ids, mask and labels
            `(B, T)` that gives log-probabilities `(B, T)`.
        max_sequence_length: Most tokens of a text, the end token included.
        batch_size: Number of pairs scored together.

    Returns:
        List of one float32 array for a pair, the log-probability in nats of every token of the
        target and of the end token.
    """
    _check_lengths(sources=sources, targets=targets)
    source_ids = tokenize(sources, "sources", tokenizer, max_sequence_length)
    target_ids = tokenize(targets, "targets", tokenizer, max_sequence_length)
    scores = [None] * len(sources)
    for rows in batch_by_length(target_ids, batch_size):
        encoder_ids, encoder_mask = pad_batch([source_ids[i] for i in rows])
        labels, decoder_mask = pad_batch([target_ids[i] for i in rows])
        decoder_ids = np.roll(labels, 1, axis=1)
        decoder_ids[:, 0] = tokenizer.start_token_id
        results = token_log_probs(encoder_ids, encoder_mask, decoder_ids, decoder_mask, labels)
        for row, log_probs in zip(rows, ops.convert_to_numpy(results), strict=False):
            scores[row] = log_probs[: len(target_ids[row])]
    return scores


def _check_lengths(**lists):
    lengths = {name: len(values) for name, values in lists.items()}
    if len(set(lengths.values())) > 1:
        names = " and ".join(f"`{name}`" for name in lengths)
        received = ", ".join(f"{length} {name}" for name, length in lengths.items())
        raise ValueError(f"{names} must be of equal length. Received: {received}.")


def tokenize(texts, argument, tokenizer, max_sequence_length=math.inf):
    """Token ids of texts, each with the end token.

    Args:
        texts: List of strings.
        argument: Its name, for errors.
        tokenizer: A `TransformerTokenizer`.
        max_sequence_length: Most tokens of a text, the end token included, if there is a limit.

    Returns:
        List of lists of token ids.

    Raises:
        ValueError: For a single string.
        TextTooLongError: For a text with too many tokens.
    """
    if isinstance(texts, (str, bytes)):
        raise ValueError(f"`{argument}` must be a list of strings. Received: {texts!r}.")
    sequences = [[*ids, tokenizer.end_token_id] for ids in tokenizer(list(texts))]
    for i, sequence in enumerate(sequences):
        if len(sequence) > max_sequence_length:
            raise TextTooLongError(
                argument,
                i,
                f"{len(sequence)} tokens are more than the {max_sequence_length} positions of "
                "the model (`max_sequence_length`), split the text. "
                f"It begins with {texts[i][:40]!r}.",
            )
    return sequences


def _as_translation(hypotheses):
    best = hypotheses[0]
    return Translation(best.text, best.score, best.tokens, best.alignment, tuple(hypotheses))


def _hypotheses(tokenizer, as_token, sources, token_ids, log_probs, alignments):
    """The hypotheses of a batch, a tuple for every source.

    Args:
        tokenizer: A `TransformerTokenizer`.
        as_token: Its `id_to_token`, or what gives the same sooner.
        sources: List of B lists of token ids.
        token_ids: Integer array `(B, N, L)`.
        log_probs: Float array `(B, N)`.
        alignments: Float array `(B, N, L - 1, S)`, or None.
    """
    num_hypotheses = token_ids.shape[1]
    flat_ids = token_ids.reshape(-1, token_ids.shape[2]).tolist()
    special_ids = frozenset(tokenizer.special_token_ids)
    pieces = [[i for i in ids if i not in special_ids] for ids in flat_ids]
    texts = tokenizer.detokenize(pieces)
    for row, source in enumerate(sources):
        hypotheses = []
        for n in range(num_hypotheses):
            flat = row * num_hypotheses + n
            alignment = None
            if alignments is not None:
                alignment = alignments[row, n, : len(pieces[flat]) + 1, : len(source)]
            hypotheses.append(
                Hypothesis(
                    texts[flat],
                    float(log_probs[row, n]),
                    tuple(map(as_token, pieces[flat])),
                    alignment,
                )
            )
        yield tuple(hypotheses)
