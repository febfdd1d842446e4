"""From texts to batches, through a search or a score, and back to texts in order."""

from dataclasses import dataclass

import numpy as np
from keras import ops

from aiayn_keras.samplers import in_parallel

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
        score: Its log-probability in nats, the end token included, without length penalty.
        tokens: Its wordpieces.
    """

    text: str
    score: float
    tokens: tuple[str, ...]


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


def pad_batch(sequences):
    """Stacks sequences of token ids.

    Args:
        sequences: Non-empty list of lists of token ids.

    Returns:
        Int32 arrays `(B, S)`, token ids and padding mask. B is the next power of two, rows beyond
        the sequences repeat the first; S is the greatest length rounded up.
    """
    num_rows = 1 << (len(sequences) - 1).bit_length()
    length = max(map(len, sequences))
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
    progress=None,
):
    """Translates texts in batches of similar length; see `TransformerSeq2SeqLM.translate`.

    Args:
        texts: List of strings.
        tokenizer: A `TransformerTokenizer`.
        search: Function `(token ids (B, S), padding mask (B, S)) -> (token ids (B, N, L),
            log-probabilities (B, N))`.
        max_sequence_length: Most tokens of a text, the end token included.
        num_beams: Number of beams W of `search`.
        num_return_sequences: Number of hypotheses N to return for a text.
        batch_size: Number of texts searched together.
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
    nothing = (Hypothesis("", 0.0, ()),) * num_return_sequences
    translations = [_as_translation(nothing)] * len(sources)
    with_words = [i for i, source in enumerate(sources) if len(source) > 1]
    batches = [
        [with_words[i] for i in batch]
        for batch in batch_by_length([sources[i] for i in with_words], batch_size)
    ]

    def search_batch(rows):
        outputs = search(*pad_batch([sources[i] for i in rows]))
        return [ops.convert_to_numpy(output)[: len(rows)] for output in outputs]

    for rows, (token_ids, log_probs) in zip(
        batches, in_parallel(search_batch, batches), strict=True
    ):
        hypotheses = _hypotheses(
            tokenizer, token_ids.reshape(-1, token_ids.shape[2]).tolist(), log_probs.ravel()
        )
        for i, row in enumerate(rows):
            first = i * num_return_sequences
            translations[row] = _as_translation(
                tuple(hypotheses[first : first + num_return_sequences])
            )
        if progress is not None:
            progress(len(rows))
    return translations


def score_texts(sources, targets, *, tokenizer, log_likelihood, max_sequence_length, batch_size):
    """Scores pairs in batches of similar length; see `TransformerSeq2SeqLM.score`.

    Args:
        sources: List of strings.
        targets: List of strings, one for a source.
        tokenizer: A `TransformerTokenizer`.
        log_likelihood: Function of encoder ids and mask `(B, S)`, decoder ids, mask and labels
            `(B, T)` that gives log-probabilities `(B,)`.
        max_sequence_length: Most tokens of a text, the end token included.
        batch_size: Number of pairs scored together.

    Returns:
        Float32 array of one log-probability for a pair, in nats.
    """
    if len(sources) != len(targets):
        raise ValueError(
            "`sources` and `targets` must be of equal length. "
            f"Received: {len(sources)} sources, {len(targets)} targets."
        )
    source_ids = tokenize(sources, "sources", tokenizer, max_sequence_length)
    target_ids = tokenize(targets, "targets", tokenizer, max_sequence_length)
    scores = np.zeros(len(sources), dtype="float32")
    for rows in batch_by_length(target_ids, batch_size):
        encoder_ids, encoder_mask = pad_batch([source_ids[i] for i in rows])
        labels, decoder_mask = pad_batch([target_ids[i] for i in rows])
        decoder_ids = np.roll(labels, 1, axis=1)
        decoder_ids[:, 0] = tokenizer.start_token_id
        result = log_likelihood(encoder_ids, encoder_mask, decoder_ids, decoder_mask, labels)
        scores[rows] = ops.convert_to_numpy(result)[: len(rows)]
    return scores


def tokenize(texts, argument, tokenizer, max_sequence_length):
    """Token ids of texts, each with the end token.

    Args:
        texts: List of strings.
        argument: Its name, for errors.
        tokenizer: A `TransformerTokenizer`.
        max_sequence_length: Most tokens of a text, the end token included.

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
    return Translation(best.text, best.score, best.tokens, hypotheses)


def _hypotheses(tokenizer, token_ids, log_probs):
    """Makes `N` hypotheses of ids `(N, L)` and log-probabilities `(N,)`."""
    pieces = [[i for i in ids if i not in tokenizer.special_token_ids] for ids in token_ids]
    return [
        Hypothesis(text, float(log_prob), tuple(map(tokenizer.id_to_token, ids)))
        for text, log_prob, ids in zip(tokenizer.detokenize(pieces), log_probs, pieces, strict=True)
    ]
