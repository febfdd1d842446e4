"""The beginnings of translations, and how long each may become."""

import numpy as np

from aiayn_keras.decoding.search_options import most_pieces
from aiayn_keras.decoding.text_batches import (
    LENGTH_MULTIPLE,
    TextError,
    TextTooLongError,
    check_equal_lengths,
    tokenize,
)


class Prompts:
    """Start tokens, prefixes and limits of the translations of some texts.

    Args:
        sources: List of lists of token ids, as `tokenize` gives them.
        prefixes: List of strings that the translations begin with, or None.
        options: `SearchOptions`.
        tokenizer: A `TransformerTokenizer`.
        max_sequence_length: Most tokens of a text, the end token included.

    Raises:
        ValueError: For prefixes that do not match the texts in number.
        TextError: For a prefix with characters that the vocabulary has not.
        TextTooLongError: For a prefix that is longer than the translation may be.
    """

    def __init__(self, sources, prefixes, options, tokenizer, max_sequence_length):
        self._options = options
        self._max_pieces = max_sequence_length - 1
        self._num_ends = len(tokenizer.source_ids)
        self._limits = [
            min(most_pieces(len(source) - self._num_ends, options), self._max_pieces)
            for source in sources
        ]
        pieces = [()] * len(sources)
        if prefixes is not None:
            pieces = [ids[:-1] for ids in tokenize(prefixes, "prefixes", tokenizer.of_targets())]
            check_equal_lengths(texts=sources, prefixes=prefixes)
            _check_known(pieces, tokenizer, prefixes)
            _check_room(pieces, self._limits, prefixes)
        self._starts = [[tokenizer.start_token_id, *ids] for ids in pieces]

    def batch(self, rows, batch_size, source_length):
        """Arrays for a batch of texts.

        Args:
            rows: List of the texts' positions.
            batch_size: Number of rows B to fill; rows beyond the texts repeat the first.
            source_length: Number of tokens S that the batch's sources are padded to.

        Returns:
            Int32 arrays: prompts `(B, L)` as `search_translations` takes them, greatest lengths
            `(B,)` and the least length `()`.
        """
        room = most_pieces(source_length - self._num_ends, self._options)
        if self._options.max_length is not None:  # Few shapes to compile, whatever users choose.
            room = min(room, self._max_pieces)
            room += -(room + 2) % LENGTH_MULTIPLE
        rows = [*rows, *rows[:1] * (batch_size - len(rows))]
        token_ids = np.zeros((batch_size, room + 2), dtype="int32")
        for prompt, row in zip(token_ids, rows, strict=True):
            prompt[: len(self._starts[row])] = self._starts[row]
        limits = np.array([self._limits[row] for row in rows], dtype="int32")
        return token_ids, limits, np.array(self._options.min_length, dtype="int32")


def _check_known(prefixes, tokenizer, texts):
    for i, prefix in enumerate(prefixes):
        if tokenizer.unk_token_id in prefix:
            raise TextError(
                "prefixes",
                i,
                "the prefix must be made of characters that the model's vocabulary has: no "
                f"translation can begin with others. Received: {texts[i][:40]!r}.",
            )


def _check_room(prefixes, limits, texts):
    for i, (prefix, limit) in enumerate(zip(prefixes, limits, strict=True)):
        if len(prefix) > limit:
            raise TextTooLongError(
                "prefixes",
                i,
                f"the prefix has {len(prefix)} wordpieces, but the translation may have at most "
                f"{limit} (`max_length`, or the text's plus `extra_length`, within the model's "
                f"positions). It begins with {texts[i][:40]!r}.",
            )
