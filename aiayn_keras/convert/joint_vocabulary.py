"""One vocabulary made of the two of a model whose languages have one each, or a shared one.

Ours begins with `<pad>`, `<unk>`, `<s>` and `</s>`; then come the source's other tokens, and then
the target's, each with a row of the matrices of its own. A token that no translation can hold has
the bias `NEVER`, by which its probability is nothing.
"""

from dataclasses import dataclass

import numpy as np

NEVER = -100.0
"""Logit of a token that the model never writes."""

PAD, UNKNOWN, START, END = range(4)
NUM_SPECIALS = 4
NONE = -1


@dataclass(frozen=True)
class Vocabulary:
    """The tokens of one language, or of both, in the order of the rows of their matrix.

    Attributes:
        tokens: Tuple of strings.
        unknown: Row of the token for unknown ones, if there is one.
        end: Row of the end token.
        start: Row of the token that translations are begun with; may be that of the end token
            or of padding. None if they are begun with zeros.
        pad: Row of padding, if there is one.
    """

    tokens: tuple[str, ...]
    unknown: int | None
    end: int
    start: int | None = None
    pad: int | None = None

    def rows(self):
        """Rows of our four special tokens, `NONE` where there is none, as an array `(4,)`."""
        found = (self.pad, self.unknown, self.start, self.end)
        return np.array([NONE if row is None else row for row in found])

    def others(self):
        """Rows of all other tokens."""
        return np.setdiff1d(np.arange(len(self.tokens)), self.rows())

    def output_rows(self):
        """Rows of the output for our four special tokens: a token that is two of them has one."""
        rows = self.rows()
        if self.start in (self.pad, self.end):
            rows[START] = NONE
        return rows


@dataclass(frozen=True)
class JointVocabulary:
    """Our tokens, and the rows of the matrices that each of them has; `NONE` for no row.

    Attributes:
        source_rows: Integer array `(V,)`, rows of the source's embeddings.
        target_rows: Rows of the target's embeddings, for tokens without a source row.
        output_rows: Rows of the output projection.
        source_words: List of V strings, None for a token that is no word of a source.
        target_words: The same for words of translations.
    """

    source_rows: np.ndarray
    target_rows: np.ndarray
    output_rows: np.ndarray
    source_words: list[str | None]
    target_words: list[str | None]

    @property
    def is_shared(self):
        """Whether both languages have the same tokens and embeddings."""
        return not (self.target_rows != NONE).any()


def share(vocabulary):
    """The `JointVocabulary` of a `Vocabulary` that both languages share, with one embedding."""
    others = vocabulary.others()
    rows = np.concatenate([vocabulary.rows(), others])
    words = [None] * NUM_SPECIALS + [vocabulary.tokens[row] for row in others]
    output_rows = np.concatenate([vocabulary.output_rows(), others])
    return JointVocabulary(rows, np.full_like(rows, NONE), output_rows, words, words)


def join(source, target):
    """The `JointVocabulary` of two languages with embeddings of their own.

    An unknown word of a translation, which only `score` and prefixes can read, is read as one of a
    source; a start token is always the target's.
    """
    of_source, of_target = source.others(), target.others()
    nothing = [np.full(len(rows), NONE) for rows in (of_source, of_target)]
    specials = source.rows()
    specials[START] = NONE
    sources = [source.tokens[row] for row in of_source]
    targets = [target.tokens[row] for row in of_target]
    return JointVocabulary(
        source_rows=np.concatenate([specials, of_source, nothing[1]]),
        target_rows=np.concatenate([target.rows(), nothing[0], of_target]),
        output_rows=np.concatenate([target.output_rows(), nothing[0], of_target]),
        source_words=[None] * NUM_SPECIALS + sources + [None] * len(targets),
        target_words=[None] * (NUM_SPECIALS + len(sources)) + targets,
    )


def joint_matrices(vocabulary, source, target, output, bias=None):
    """The weights of our token embedding.

    Args:
        vocabulary: A `JointVocabulary`.
        source: Float array `(V_s, D)`, the source's embeddings.
        target: `(V_t, D)`, the target's.
        output: `(V_t, D)`, the output projection.
        bias: `(V_t,)`, its bias, if it has one.

    Returns:
        Dictionary from the names of our weights to arrays: `embeddings (V, D)`,
        `reverse_embeddings (D, V)` unless it is the same matrix, and `logits_bias (V,)` unless it
        is 0.
    """
    embeddings = _take(source, vocabulary.source_rows)
    of_target = vocabulary.source_rows == NONE
    embeddings[of_target] = _take(target, vocabulary.target_rows[of_target])
    is_written = vocabulary.output_rows != NONE
    kernel = _take(output, vocabulary.output_rows)
    weights = {"embeddings": embeddings}
    if not vocabulary.is_shared or not np.array_equal(kernel[is_written], embeddings[is_written]):
        weights["reverse_embeddings"] = kernel.T
    zeros = np.zeros(len(output), "float32")
    logits_bias = _take(zeros if bias is None else bias, vocabulary.output_rows)
    logits_bias[~is_written] = NEVER
    if logits_bias.any():
        weights["logits_bias"] = logits_bias
    return weights


def _take(matrix, rows):
    """Rows of a matrix, zeros for `NONE`."""
    taken = matrix[np.maximum(rows, 0)]
    taken[rows == NONE] = 0
    return taken
