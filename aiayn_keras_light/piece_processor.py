"""SentencePiece's processor, and the one character that its rules cannot clean.

A file of its own, since it imports SentencePiece, which its users do only when they need it.
"""

import sentencepiece


class PieceProcessor(sentencepiece.SentencePieceProcessor):
    """A `SentencePieceProcessor` that leaves out U+0000, as rules leave out other controls.

    No rule of a SentencePiece model can name this character, at which their strings end.
    """

    def encode(self, input, *args, **kwargs):
        """Splits a string or a list of strings, see `SentencePieceProcessor.encode`."""
        return super().encode(without_zeros(input), *args, **kwargs)

    Encode = encode  # KerasHub's name for it


def without_zeros(texts):
    """Removes U+0000 from a string or bytes, or from each in a list."""
    if isinstance(texts, list | tuple):
        return list(map(without_zeros, texts))
    return texts.replace(b"\0", b"") if isinstance(texts, bytes) else texts.replace("\0", "")
