"""Text to wordpieces and back, by SentencePiece alone.

`aiayn_keras.models.TransformerTokenizer` is a layer of Keras with the same wordpieces. This file
imports SentencePiece at once, so its users import it only when they need it.
"""

import sentencepiece

_MIN_BATCH = 16
"""Number of texts from which SentencePiece's threads are worth starting."""
SPECIAL_PIECES = {"pad": "<pad>", "unk": "<unk>", "bos": "<s>", "eos": "</s>"}


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


class PieceTokenizer:
    """The tokens of a `TransformerTokenizer`, as `translate_in_batches` asks for them.

    Args:
        proto: Bytes of a SentencePiece model with the four special pieces.
        target_proto: Bytes of that of translations, if they have their own.
        source_end: Whether the model reads an end token after a source.
        copy_without_letters: Whether a text without letters is its own translation.

    Call arguments:
        texts: List of strings.

    Returns:
        List of lists of token ids, without special tokens.

    Raises:
        RuntimeError: If bytes are not a SentencePiece model.
    """

    def __init__(self, proto, target_proto=None, source_end=True, copy_without_letters=False):
        self._pieces = PieceProcessor(model_proto=proto)
        self.source_end, self.copy_without_letters = source_end, copy_without_letters
        ids = [self._pieces.piece_to_id(piece) for piece in SPECIAL_PIECES.values()]
        self.pad_token_id, self.unk_token_id, self.start_token_id, self.end_token_id = ids
        self.special_token_ids = ids
        self._target = self
        if target_proto is not None or not source_end:
            self._target = PieceTokenizer(proto if target_proto is None else target_proto)

    def __call__(self, texts):
        return _each_or_all(self._pieces.encode, texts)

    @property
    def source_ids(self):
        """List of the token ids after a source's wordpieces, the end token's or none."""
        return [self.end_token_id] if self.source_end else []

    def of_targets(self):
        """The `PieceTokenizer` of translations."""
        return self._target

    def detokenize(self, sequences):
        """Joins lists of token ids to a list of strings."""
        return _each_or_all(self._pieces.decode, sequences)

    def id_to_token(self, token_id):
        """Returns the wordpiece of a token id."""
        return self._pieces.id_to_piece(token_id)

    def get_vocabulary(self):
        """Returns the list of all wordpieces."""
        return self._pieces.id_to_piece(list(range(self._pieces.vocab_size())))


def _each_or_all(function, items):
    return list(map(function, items)) if len(items) < _MIN_BATCH else function(items)
