"""Text to padded token ids and back, in a TensorFlow graph."""

import hashlib
from typing import Any, NamedTuple


class TokenBatch(NamedTuple):
    """Texts as token ids.

    Attributes:
        token_ids: Int32 tensor `(B, S)`, each row `pieces </s>`, padded with 0; sources of a
            tokenizer without `source_end` have no `</s>`.
        padding_mask: Int32 tensor `(B, S)`, 0 on padding.
        has_words: Boolean tensor `(B,)`, False for a text without wordpieces.
    """

    token_ids: Any
    padding_mask: Any
    has_words: Any


class ServedText:
    """The tokenizer of a model as ops of TensorFlow Text.

    Args:
        tokenizer: A `TransformerTokenizer`.
        long_text: `"truncate"` or `"error"`, see `ServingOptions`.
    """

    def __init__(self, tokenizer, long_text):
        # They must be attributes of the exported module; otherwise loading does not find them.
        self.op = _tokenizer_op(tokenizer.proto)
        self.target_op = self.op
        if tokenizer.target_proto is not None:
            self.target_op = _tokenizer_op(tokenizer.target_proto)
        self.pad, self.end = tokenizer.pad_token_id, tokenizer.end_token_id
        self.source_end = tokenizer.source_end
        self.unknown, self.vocabulary_size = tokenizer.unk_token_id, tokenizer.vocabulary_size()
        self.first_piece = max(tokenizer.special_token_ids) + 1
        self.long_text = long_text

    def tokenize(self, text, limit, name, is_target=False):
        """Turns strings into a `TokenBatch`.

        Args:
            text: String tensor `(B,)`.
            limit: Greatest number of wordpieces.
            name: Name of the input, for the error.
            is_target: Whether the texts are translations.
        """
        import tensorflow as tf

        pieces = (self.target_op if is_target else self.op).tokenize(text)
        pieces = self._limit(pieces, pieces.row_lengths(), limit, name)
        lengths = tf.cast(pieces.row_lengths(), tf.int32)
        if self.source_end or is_target:
            ends = tf.fill([tf.size(text), 1], self.end)
        else:  # padding, so that there is something to look at
            ends = tf.fill([tf.size(text), 1], self.pad)
        token_ids = tf.concat([pieces, ends], axis=1).to_tensor()
        return TokenBatch(
            token_ids, tf.cast(token_ids != self.pad, tf.int32), has_words=lengths > 0
        )

    def limit_ids(self, token_ids, limit):
        """Limits padded rows `pieces </s>` to so many pieces; ids that do not exist are unknown.

        Args:
            token_ids: Int32 tensor `(B, S)`.
            limit: Greatest number of wordpieces.

        Returns:
            Token ids and their padding mask, int32 tensors `(B, min(S, limit + 1))`.
        """
        import tensorflow as tf

        is_known = tf.logical_and(token_ids >= 0, token_ids < self.vocabulary_size)
        token_ids = tf.where(is_known, token_ids, self.unknown)
        is_piece = tf.logical_and(token_ids != self.pad, token_ids != self.end)
        lengths = tf.reduce_sum(tf.cast(is_piece, tf.int64), axis=1)
        kept = self._limit(token_ids, lengths, limit, "token_ids")
        if not self.source_end:
            return kept, tf.cast(kept != self.pad, tf.int32)
        # In place of the first piece beyond the limit stands the end token.
        last = token_ids[:, limit : limit + 1]
        last = tf.where(last == self.pad, self.pad, self.end)
        token_ids = tf.concat([kept, last], axis=1)
        return token_ids, tf.cast(token_ids != self.pad, tf.int32)

    def _limit(self, rows, lengths, limit, name):
        import tensorflow as tf

        if self.long_text == "error":
            too_long = tf.where(lengths > limit)[:, 0]
            tf.debugging.Assert(
                tf.size(too_long) == 0,
                [f"`{name}`: more than {limit} wordpieces in rows", too_long],
                summarize=10,
            )
        return rows[:, :limit]

    def detokenize(self, token_ids):
        """Turns padded ids `(N, L)` into strings `(N,)`."""
        import tensorflow as tf

        pieces = tf.ragged.boolean_mask(token_ids, token_ids >= self.first_piece)
        return self.target_op.detokenize(pieces)

    def wordpieces(self, token_ids, is_target=False):
        """Turns padded ids `(N, L)` into wordpieces `(N, L)`, empty strings on padding."""
        import tensorflow as tf

        op = self.target_op if is_target else self.op
        return tf.where(token_ids == self.pad, "", op.id_to_string(token_ids))


def _tokenizer_op(proto):
    """A tokenizer of TensorFlow Text; loaded ones of one name would share the first one's model."""
    import tensorflow as tf
    import tensorflow_text

    name = f"sentencepiece_{hashlib.sha256(proto).hexdigest()[:16]}"
    return tensorflow_text.SentencepieceTokenizer(model=proto, out_type=tf.int32, name=name)
