"""Tokenizers of converted models: of words, or of the SentencePiece models that came with them.

A joint vocabulary is made of the two of a foreign model. It begins with `<pad>`, `<unk>`, `<s>` and
`</s>`; then come the source's other tokens, and then the target's, each with a row of its own in
the matrices. A token that no translation can hold has the bias `NEVER`, which makes its probability
0. A SentencePiece model is put into this order: texts are split as before, and tokens have our
numbers.
"""

import dataclasses
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import pydantic
import sentencepiece
from google.protobuf.message import DecodeError
from sentencepiece import sentencepiece_model_pb2

from aiayn_keras.models import TransformerTokenizer
from aiayn_keras.models.transformer_tokenizer import MAX_VOCABULARY_BYTES, SPECIAL_PIECES
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
SPACE = "▁"
"""SentencePiece's sign for a space."""
_SOURCE_FILES = ("sentencepiece.model", "source.spm")
_TARGET_FILES = ("target_sentencepiece.model", "target.spm")
"""Names of SentencePiece models in a folder: those of our exports, and those of OPUS-MT."""
SPECIAL = tuple(SPECIAL_PIECES.values())
Piece = sentencepiece_model_pb2.ModelProto.SentencePiece
_MIN_SCORE = -1e9
"""Score of pieces into which no text is split."""


@dataclass(frozen=True)
class Vocabulary:
    """The tokens of one language, or of both, in the order of the rows of their matrix.

    Attributes:
        tokens: Tuple of strings.
        unknown: Row of the token for unknown words, if there is one.
        end: Row of the end token.
        start: Row of the token with which translations begin, which may be the end token or
            padding; None if they begin with zeros.
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
        """Rows of the output for our special tokens; a start that is another of them has none."""
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
    if lines[0].startswith("\ufeff"):
        raise ValueError(
            f"{path}, line 1: it begins with a byte order mark, which an editor has added: save "
            "the file as UTF-8 without it."
        )
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


# === Tokenizers ===
def read_sentencepiece_models(folder):
    """The SentencePiece models of a folder, of sources and of translations; or None and None.

    Raises:
        ValueError: If one is damaged.
    """
    found = []
    for names in (_SOURCE_FILES, _TARGET_FILES):
        paths = [folder / name for name in names if (folder / name).exists()]
        found.append(read_model(paths[0]) if paths else None)
        if paths and not found[-1].pieces:
            raise ValueError(f"{paths[0]} is not a SentencePiece model: it is empty.")
    return found[0], found[0] if found[1] is None else found[1]


def add_pieces(vocabulary, source_model, target_model, origin):
    """Adds a row for every piece that texts may be split into but that the model has no token for.

    Such a piece gets a copy of the unknown token's row, and is never written.

    Args:
        vocabulary: A `JointVocabulary`.
        source_model: The SentencePiece model of sources, a `ModelProto`.
        target_model: The model of translations; may be the same object.
        origin: Path of the vocabulary, for the error.

    Returns:
        A longer `JointVocabulary`.

    Raises:
        ValueError: For a SentencePiece model that belongs to other tokens.
    """
    if vocabulary.is_shared:
        models = [source_model, target_model]
        _check_pieces(models, vocabulary.source_words, "both languages", origin)
    else:
        _check_pieces([source_model], vocabulary.source_words, "sources", origin)
        _check_pieces([target_model], vocabulary.target_words, "translations", origin)
    of_source = _missing(source_model, vocabulary.source_words)
    of_target = _missing(target_model, vocabulary.target_words)
    if vocabulary.is_shared and source_model is target_model:
        source_words = target_words = [*vocabulary.source_words, *of_source]
    else:
        source_words = [*vocabulary.source_words, *of_source, *[None] * len(of_target)]
        target_words = [*vocabulary.target_words, *[None] * len(of_source), *of_target]
    added = len(source_words) - len(vocabulary.source_words)
    unknown = vocabulary.source_rows[UNKNOWN]
    return dataclasses.replace(
        vocabulary,
        source_rows=np.append(vocabulary.source_rows, np.full(added, unknown)),
        target_rows=np.append(vocabulary.target_rows, np.full(added, NONE)),
        output_rows=np.append(vocabulary.output_rows, np.full(added, NONE)),
        source_words=source_words,
        target_words=target_words,
    )


def build_tokenizer(vocabulary, source_model, target_model, origin, source_end=True):
    """Makes a `TransformerTokenizer` with the ids of a `JointVocabulary`.

    Without SentencePiece models text is words with spaces between them. A word of both languages
    has two ids: the source's in sources, the target's in translations.

    Args:
        vocabulary: The `JointVocabulary`.
        source_model: The SentencePiece model of sources, whose pieces are all in it, or None.
        target_model: The SentencePiece model of translations, or None.
        origin: Path of the vocabulary, for the error.
        source_end: Whether the model reads an end token after a source.

    Raises:
        ValueError: If the tokens are pieces of a SentencePiece model that is missing.

    Warns:
        UserWarning: For words that contain a space or the sign for it: they cannot occur in a text.
    """
    models = []
    for words, model in (
        (vocabulary.source_words, source_model),
        (vocabulary.target_words, target_model),
    ):
        if model is None:
            _check_words(words, origin)
            models.append(build_word_model(words))
        else:
            models.append(reorder(model, _distinct(words)))
    target = None if models[0] == models[1] else models[1]
    return TransformerTokenizer(models[0], target, source_end=source_end)


def build_word_model(words):
    """Makes a SentencePiece model that splits at spaces, knows whole words and changes no letter.

    Args:
        words: List of V strings, the word of each id; None for an id that no text has, such
            as the first four.

    Returns:
        Bytes of the model.
    """
    model = sentencepiece_model_pb2.ModelProto()
    model.trainer_spec.model_type = model.trainer_spec.WORD
    model.normalizer_spec.name = "identity"
    pieces = []
    for i, word in enumerate(words[NUM_SPECIALS:], start=NUM_SPECIALS):
        pieces.append(unreachable(i, ()) if word is None else SPACE + word)
        if word is not None:
            model.pieces.add(piece=pieces[-1], score=0.0)
    return reorder(model, pieces)


def _check_pieces(models, words, side, origin):
    """Refuses SentencePiece models if fewer than half of the tokens are pieces of theirs.

    A model that belongs to the tokens has nearly all of them. One of a different language has up
    to a third, such as single letters; a smaller one of the same language has up to a half.
    """
    pieces = {piece for model in models for piece in pieces_of(model)}
    words = [word for word in words if word is not None and word not in SPECIAL]
    others = [word for word in words if word not in pieces]
    if 2 * len(others) > len(words):
        raise ValueError(
            f"{origin}: the SentencePiece model of {side} beside it has a different vocabulary: "
            f"{len(others):,} of {len(words):,} tokens, such as {others[0]!r:.60}, are not pieces "
            f"of it. Put the right one into the folder, as {_SOURCE_FILES[0]}, and if translations "
            f"have a different one, that as {_TARGET_FILES[0]}; without any, texts are tokens with "
            "spaces between them."
        )


def _missing(model, words):
    known = {*words, *SPECIAL}
    return [piece for piece in pieces_of(model) if piece not in known]


def _distinct(words):
    """Names of the pieces from 4 on; no text contains those that are not the language's words."""
    taken = set(words)
    return [
        unreachable(i, taken) if word is None or word in SPECIAL else word
        for i, word in enumerate(words[NUM_SPECIALS:], start=NUM_SPECIALS)
    ]


def unreachable(i, taken):
    """An unused name. It contains a space, so it never matches text, which has `SPACE` instead."""
    name = f"row {i}"
    while name in taken:  # by a model that was converted and exported earlier
        name += " "
    return name


def _check_words(words, origin):
    for word in words:
        if word is not None and word.startswith(SPACE) and len(word) > 1:
            raise ValueError(
                f"{origin}: its tokens are wordpieces, such as {word!r:.60}: put the SentencePiece "
                f"model that splits text into them into the folder, as `{_SOURCE_FILES[0]}`; if "
                f"translations have a different one, as `{_TARGET_FILES[0]}`."
            )
    with_space = [word for word in words if word is not None and (" " in word or SPACE in word)]
    if with_space:
        warnings.warn(
            f"{origin}: {len(with_space):,} of its tokens hold a space or {SPACE}, which stands "
            f"for one, such as {with_space[0]!r:.60}. Texts are tokens with spaces between them: "
            "in a source these are read as other or unknown tokens, and translations have a space "
            "where they have either sign. If such tokens matter, translate with the other toolkit.",
            stacklevel=2,
        )


# === SentencePiece models ===
def read_model(path):
    """Reads a SentencePiece model.

    Args:
        path: The file.

    Returns:
        A `ModelProto`.

    Raises:
        OSError: If the file is missing or not a regular file.
        ValueError: If it is not a SentencePiece model.
    """
    content = read_bytes(path, MAX_VOCABULARY_BYTES)
    if not content:
        raise ValueError(f"{path} is not a SentencePiece model: it is empty.")
    model = sentencepiece_model_pb2.ModelProto()
    try:
        model.ParseFromString(content)
        if len(model.pieces) > MAX_TOKENS:
            raise ValueError(f"it has {len(model.pieces):,} pieces, more than {MAX_TOKENS:,}")
        sentencepiece.SentencePieceProcessor(model_proto=content)
    except (DecodeError, RuntimeError, ValueError, TypeError, OSError) as error:
        reason = " ".join(str(error).split())[:100]
        raise ValueError(f"{path} is not a SentencePiece model: {reason}") from error
    return model


def pieces_of(model):
    """The pieces of a `ModelProto` into which texts are split, as a list of strings."""
    return [
        piece.piece for piece in model.pieces if piece.type not in (Piece.CONTROL, Piece.UNKNOWN)
    ]


def reorder(model, pieces, words=()):
    """Makes a SentencePiece model that splits texts as another does, with tokens in our order.

    Args:
        model: The other `ModelProto`.
        pieces: List of distinct strings, the tokens from 4 on. A piece of the model that is not
            among them is lost: texts are split into others. A token that is not a piece of the
            model never results from splitting a text, but can be turned into text; a control
            symbol of the model is turned into nothing.
        words: The tokens that are never split, even if a text could be split otherwise.

    Returns:
        Bytes of a model that begins with `<pad>`, `<unk>`, `<s>` and `</s>`.
    """
    known = {piece.piece: piece for piece in model.pieces}
    reordered = sentencepiece_model_pb2.ModelProto()
    reordered.CopyFrom(model)
    del reordered.pieces[:]
    for piece in SPECIAL:
        kind = Piece.UNKNOWN if piece == SPECIAL_PIECES["unk"] else Piece.CONTROL
        reordered.pieces.add(piece=piece, score=0.0, type=kind)
    for piece in pieces:
        if piece in words:
            reordered.pieces.add(piece=piece, score=0.0, type=Piece.USER_DEFINED)
        elif piece in known and known[piece].type != Piece.UNKNOWN:
            reordered.pieces.append(known[piece])
        else:
            reordered.pieces.add(piece=piece, score=_MIN_SCORE, type=Piece.UNUSED)
    spec = reordered.trainer_spec
    spec.vocab_size = len(reordered.pieces)
    spec.pad_id, spec.unk_id, spec.bos_id, spec.eos_id = range(len(SPECIAL))
    spec.pad_piece, spec.unk_piece, spec.bos_piece, spec.eos_piece = SPECIAL
    return reordered.SerializeToString()
