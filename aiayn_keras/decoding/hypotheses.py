"""Hypotheses and translations: the results of a search as users see them."""

from dataclasses import dataclass, field

import numpy as np

from aiayn_keras.decoding.length_penalty import length_penalty


@dataclass(frozen=True)
class Hypothesis:
    """One translation of a text.

    Attributes:
        text: The translation.
        score: Its log-probability in nats, the end token included, without penalties.
        normalized_score: The score over the length penalty, by which hypotheses are ranked; with a
            coverage penalty, they are ranked by the sum of both.
        tokens: Its wordpieces.
        alignment: Float32 array `(T, S)`, the attention of each wordpiece and of the end token to
            each source wordpiece and its end token (the decoder's last layer, mean of the heads);
            None if not asked for, and for a text without words.
    """

    text: str
    score: float
    normalized_score: float
    tokens: tuple[str, ...]
    alignment: np.ndarray | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Translation(Hypothesis):
    """The best translation of a text, and the runners-up.

    Attributes:
        hypotheses: `num_return_sequences` hypotheses, or as many as there are (under a constraint,
            or of very short translations), best first; the first repeats this one. They differ in
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


def as_translation(hypotheses):
    """The `Translation` of a text from all its hypotheses, best first."""
    return Translation(**vars(hypotheses[0]), hypotheses=tuple(hypotheses))


def read_hypotheses(tokenizer, as_token, sources, options, token_ids, log_probs, alignments):
    """The hypotheses of a batch, a tuple for every source; empty if nothing was found.

    Args:
        tokenizer: A `TransformerTokenizer`.
        as_token: Its `id_to_token`, or what gives the same sooner.
        sources: List of B lists of token ids.
        options: The `SearchOptions`.
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
            if not np.isfinite(log_probs[row, n]):  # so few there are
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
                )
            )
        yield tuple(hypotheses)


def _length_penalties(pieces, options):
    """The length penalty of each hypothesis, whose end token is none of its pieces."""
    return length_penalty(np.array([len(each) + 1 for each in pieces], "float32"), options)
