"""SentencePiece models in another order: texts are split as before, tokens have our numbers."""

import sentencepiece
from google.protobuf.message import DecodeError
from sentencepiece import sentencepiece_model_pb2

from aiayn_keras.common.files import read_bytes
from aiayn_keras.models.transformer_tokenizer import MAX_BYTES, SPECIAL_PIECES

SPECIAL = tuple(SPECIAL_PIECES.values())
Piece = sentencepiece_model_pb2.ModelProto.SentencePiece
MIN_SCORE = -1e9
"""Score of pieces that a text is never split into."""


def read_model(path):
    """Reads a SentencePiece model.

    Args:
        path: The file.

    Returns:
        A `ModelProto`.

    Raises:
        OSError: If there is no such regular file.
        ValueError: If it holds no SentencePiece model.
    """
    content = read_bytes(path, MAX_BYTES)
    if not content:
        raise ValueError(f"{path} holds no SentencePiece model: it is empty.")
    model = sentencepiece_model_pb2.ModelProto()
    try:
        model.ParseFromString(content)
        sentencepiece.SentencePieceProcessor(model_proto=content)
    except (DecodeError, RuntimeError, ValueError, TypeError, OSError) as error:
        reason = " ".join(str(error).split())[:100]
        raise ValueError(f"{path} holds no SentencePiece model: {reason}") from error
    return model


def pieces_of(model):
    """The pieces of a `ModelProto` that texts are split into, as a list of strings."""
    return [
        piece.piece for piece in model.pieces if piece.type not in (Piece.CONTROL, Piece.UNKNOWN)
    ]


def reorder(model, pieces, words=()):
    """Makes a SentencePiece model that splits texts as another does, with tokens of our order.

    Args:
        model: The other `ModelProto`.
        pieces: List of distinct strings, the tokens from 4 on. A piece of the model that is not
            among them is lost: its texts are split into others. A token that is no piece of the
            model is never one that a text is split into, but can be turned into text.
        words: Those of the tokens that are never split, whatever else a text could be split into.

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
        elif piece in known and known[piece].type not in (Piece.CONTROL, Piece.UNKNOWN):
            reordered.pieces.append(known[piece])
        else:
            reordered.pieces.add(piece=piece, score=MIN_SCORE, type=Piece.UNUSED)
    spec = reordered.trainer_spec
    spec.vocab_size = len(reordered.pieces)
    spec.pad_id, spec.unk_id, spec.bos_id, spec.eos_id = range(len(SPECIAL))
    spec.pad_piece, spec.unk_piece, spec.bos_piece, spec.eos_piece = SPECIAL
    return reordered.SerializeToString()
