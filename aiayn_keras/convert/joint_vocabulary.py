"""Vocabularies read from files, and one of ours made of the two of a foreign model.

Ours begins with `<pad>`, `<unk>`, `<s>` and `</s>`; then come the source's other tokens, and then
the target's, each with a row of its own in the matrices. A token that no translation can hold has
the bias `NEVER`, which makes its probability 0.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import pydantic

from aiayn_keras.models.transformer_tokenizer import MAX_VOCABULARY_BYTES
from aiayn_keras_light.checks import parse
from aiayn_keras_light.files import read_bytes

NEVER = -100.0
"""Logit of a token that the model never writes."""

PAD, UNKNOWN, START, END = range(4)
NUM_SPECIALS = 4
NONE = -1
"""Stands for a row where there is none."""

MAX_TOKENS = 1 << 20
_MAX_TOKEN_LENGTH = 1000
"""Maximum number of characters of a token."""


@dataclass(frozen=True)
class Vocabulary:
    """The tokens of one language, or of both, in the order of the rows of their matrix.

    Attributes:
        tokens: Tuple of strings.
        unknown: Row of the token for unknown words, if there is one.
        end: Row of the end token.
        start: Row of the token with which translations begin; may be that of the end token or of
            padding. None if they begin with zeros.
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
        """Rows of the output for our special tokens: a token that is two of them has one row."""
        rows = self.rows()
        if self.start in (self.pad, self.end):
            rows[START] = NONE
        return rows


@dataclass(frozen=True)
class JointVocabulary:
    """Our tokens, and the row of each in the foreign matrices; `NONE` for no row.

    Attributes:
        source_rows: Integer array `(V,)`, rows of the source's embeddings.
        target_rows: Rows of the target's embeddings, for tokens without a source row.
        output_rows: Rows of the output projection.
        source_words: List of V strings, None for a token that is not a word of a source.
        target_words: The same for words of translations.
    """

    source_rows: np.ndarray
    target_rows: np.ndarray
    output_rows: np.ndarray
    source_words: list[str | None]
    target_words: list[str | None]

    @property
    def is_shared(self):
        """Returns whether both languages have the same tokens and embeddings."""
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

    An unknown word of a translation, which only `score` and prefixes can read, is read like an
    unknown word of a source; the start token is always the target's.
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


# === Files ===
class _TokenList(pydantic.RootModel):
    """A file with one list of strings in JSON."""

    root: list[Annotated[str, pydantic.Field(max_length=_MAX_TOKEN_LENGTH, strict=True)]]


def read_token_file(path):
    """Reads a file of tokens: a JSON list in a file `*.json`, one token a line in any other.

    Args:
        path: The file.

    Returns:
        List of distinct strings.

    Raises:
        OSError: If the file is missing or not a regular file.
        ValueError: If it is damaged, too long, or holds a token twice; with the line.
    """
    path = Path(path)
    content = read_bytes(path, MAX_VOCABULARY_BYTES)
    if path.suffix == ".json":
        tokens = parse(_TokenList, content, path, "It is not a list of tokens.").root
        check_tokens(tokens, path, "token")
    else:
        tokens = read_lines_of(content, path)
        check_tokens(tokens, path, "line")
    return tokens


def read_lines_of(content, path):
    """Lines of the UTF-8 bytes of a file; carriage returns stay unless every line ends with one."""
    try:
        lines = content.decode("utf-8").removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise ValueError(f"{path}, line {line}: not valid UTF-8.") from None
    if all(line.endswith("\r") for line in lines):
        lines = [line[:-1] for line in lines]
    return lines


def check_tokens(tokens, path, unit):
    """Raises a `ValueError` for too many tokens, a token that is too long, or a repeated one.

    Args:
        tokens: List of strings.
        path: Their file.
        unit: Unit that errors count in, `"line"` or `"token"`.
    """
    if len(tokens) > MAX_TOKENS:
        raise ValueError(f"{path} has {len(tokens):,} tokens, more than {MAX_TOKENS:,}.")
    places = {}
    for place, token in enumerate(tokens, start=1):
        if len(token) > _MAX_TOKEN_LENGTH:
            raise ValueError(f"{path}, {unit} {place}: longer than {_MAX_TOKEN_LENGTH} characters.")
        if places.setdefault(token, place) != place:
            raise ValueError(
                f"{path}, {unit} {place}: {token!r:.60} is already {unit} {places[token]}."
            )
