"""Tokenizers of converted models: of words, or of the SentencePiece models that came with them.

A SentencePiece model is put into another order: texts are split as before, and tokens have our
numbers.
"""

import dataclasses
import warnings

import numpy as np
import sentencepiece
from google.protobuf.message import DecodeError
from sentencepiece import sentencepiece_model_pb2

from aiayn_keras.convert.joint_vocabulary import NONE, NUM_SPECIALS, UNKNOWN
from aiayn_keras.models import TransformerTokenizer
from aiayn_keras.models.transformer_tokenizer import MAX_VOCABULARY_BYTES, SPECIAL_PIECES
from aiayn_keras_light.files import read_bytes

SPACE = "▁"
"""SentencePiece's sign for a space."""

_SOURCE_FILES = ("sentencepiece.model", "source.spm")
_TARGET_FILES = ("target_sentencepiece.model", "target.spm")
"""Names of SentencePiece models in a folder: those of our exports, and those of OPUS-MT."""

SPECIAL = tuple(SPECIAL_PIECES.values())
Piece = sentencepiece_model_pb2.ModelProto.SentencePiece
_MIN_SCORE = -1e9
"""Score of pieces into which no text is split."""


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
    _check_pieces(source_model, vocabulary.source_words, "sources", origin)
    if target_model is not source_model:
        _check_pieces(target_model, vocabulary.target_words, "translations", origin)
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
        UserWarning: For words that hold a space or its sign, which no text of words can hold.
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


def _check_pieces(model, words, side, origin):
    """Refuses a SentencePiece model if none of its pieces that begin a word is a token."""
    starts = [piece for piece in pieces_of(model) if piece.startswith(SPACE) and piece != SPACE]
    if starts and not {*starts} & {*words}:
        raise ValueError(
            f"{origin}: the SentencePiece model of {side} beside it has a different vocabulary: "
            f"none of its pieces that begin a word, such as {starts[0]!r:.60}, is a token. Put the "
            f"right one into the folder, as {_SOURCE_FILES[0]}; without one, texts are tokens with "
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
    while name in taken:  # by a model that was converted and exported before
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
