"""Changes to a trained SentencePiece vocabulary that leave the ids of its pieces as they are.

A file of its own beside the normalizations, which change how text is rewritten, not the pieces.
"""

import re

from sentencepiece import sentencepiece_model_pb2

Piece = sentencepiece_model_pb2.ModelProto.SentencePiece

_HAS_DIGIT = re.compile(r"[0-9]")


def add_byte_pieces(proto):
    """Returns a SentencePiece model that spells unknown characters as bytes of UTF-8.

    The 256 pieces `<0x00>` to `<0xFF>` follow the others, unless the model has them already.

    Args:
        proto: Bytes of a SentencePiece model.
    """
    model = _read(proto)
    if not model.trainer_spec.byte_fallback:
        model.trainer_spec.byte_fallback = True
        for byte in range(256):
            model.pieces.add(piece=f"<0x{byte:02X}>", score=0.0, type=Piece.BYTE)
        model.trainer_spec.vocab_size = len(model.pieces)
    return model.SerializeToString()


def split_digits(proto):
    """Returns a SentencePiece model that splits numbers into their digits.

    Pieces that hold a digit and anything else get a name that no text contains, so that every
    program that reads the model leaves them alone; their ids and embeddings go unused.

    Args:
        proto: Bytes of a SentencePiece model that has the ten digits as pieces.

    Raises:
        ValueError: If one of the digits is not a piece of the model.
    """
    model = _read(proto)
    normal = {piece.piece for piece in model.pieces if piece.type == Piece.NORMAL}
    if missing := sorted(set("0123456789") - normal):
        raise ValueError(
            f"The vocabulary cannot split numbers into digits: it has no piece {missing[0]!r}."
        )
    for number, piece in enumerate(model.pieces):
        has_more = len(piece.piece) > 1 and _HAS_DIGIT.search(piece.piece)
        if piece.type == Piece.NORMAL and has_more:
            piece.piece, piece.type = f"<unused_{number}>", Piece.UNUSED
    model.trainer_spec.split_digits = True
    return model.SerializeToString()


def abilities(proto):
    """The set of those of `byte_fallback` and `split_digits` that a SentencePiece model has."""
    spec = _read(proto).trainer_spec
    return {name for name in ("byte_fallback", "split_digits") if getattr(spec, name)}


def _read(proto):
    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString(proto)
    return model
