"""The served module: text to text in a TensorFlow graph, and its signatures."""

import contextlib
import dataclasses
import functools
import hashlib
from typing import Any, NamedTuple

from aiayn_keras.backend import without_zeros_in_graph
from aiayn_keras.decoding.frozen_decoder import own_parts
from aiayn_keras.decoding.scoring import alignments, token_log_probs
from aiayn_keras.decoding.translation_search import TranslationSearch
from aiayn_keras.documents.splitting import HAS_LETTER
from aiayn_keras.export.served_sentences import (
    Hypotheses,
    SentenceSplitter,
    translate_by_sentence,
    translate_long_rows,
)
from aiayn_keras.export.served_weights import PackedDecoder, SharedTables
from aiayn_keras.export.serving_options import longest_whole_text
from aiayn_keras_light.search_numbers import length_penalty

NO_SCORE = -1e30
"""Score of a missing hypothesis, for example under a constraint; JSON has no infinity."""


class _TokenBatch(NamedTuple):
    """Texts as token ids.

    Attributes:
        token_ids: Int32 tensor `(B, S)`, each row `pieces </s>`, padded with 0; sources of a
            tokenizer without `source_end` have no `</s>`.
        padding_mask: Int32 tensor `(B, S)`, 0 on padding.
        has_words: Boolean tensor `(B,)`, False for a text that is not searched for: one without
            wordpieces, or without letters if those are copied.
        copies: String tensor `(B,)`, the translations of those.
        is_cut: Boolean tensor `(B,)`, True for a text that was longer than the limit.
    """

    token_ids: Any
    padding_mask: Any
    has_words: Any
    copies: Any
    is_cut: Any


class ServedText:
    """The tokenizer of a model as ops of TensorFlow Text.

    Args:
        tokenizer: A `TransformerTokenizer`.
        long_text: `"truncate"` or `"error"`, see `ServingOptions`.
        has_constraint: Whether there is a constraint. A text without letters is then translated
            instead of copied, since a copy may violate the constraint.
    """

    def __init__(self, tokenizer, long_text, has_constraint=False):
        # They must be attributes of the exported module; otherwise loading does not find them.
        self.op = _tokenizer_op(tokenizer.proto)
        self.target_op = self.op
        if tokenizer.target_proto is not None:
            self.target_op = _tokenizer_op(tokenizer.target_proto)
        self.pad, self.end = tokenizer.pad_token_id, tokenizer.end_token_id
        self.source_end = tokenizer.source_end
        self.copies = tokenizer.copy_without_letters and not has_constraint
        self.vocabulary_size = tokenizer.vocabulary_size()
        self.first_piece = max(tokenizer.special_token_ids) + 1
        self.has_bytes = bool(tokenizer.byte_token_ids())
        self.long_text = long_text

    def tokenize(self, text, limit, name, is_target=False):
        """Turns strings into a `_TokenBatch`.

        Args:
            text: String tensor `(B,)`.
            limit: Maximum number of wordpieces.
            name: Name of the input, for the error.
            is_target: Whether the texts are translations.
        """
        import tensorflow as tf

        text = without_zeros_in_graph(text)
        pieces = (self.target_op if is_target else self.op).tokenize(text)
        is_cut = pieces.row_lengths() > limit
        pieces = self._limit(pieces, pieces.row_lengths(), limit, name)
        lengths = tf.cast(pieces.row_lengths(), tf.int32)
        if self.source_end or is_target:
            ends = tf.fill([tf.size(text), 1], self.end)
        else:  # padding, so that attention has something to look at
            ends = tf.fill([tf.size(text), 1], self.pad)
        token_ids = tf.concat([pieces, ends], axis=1).to_tensor()
        has_words, copies = lengths > 0, tf.zeros_like(text)
        if self.copies:
            copies = tf.where(has_words, _as_utf8(text), "")
            has_words = tf.logical_and(has_words, tf.strings.regex_full_match(text, HAS_LETTER))
        mask = tf.cast(token_ids != self.pad, tf.int32)
        return _TokenBatch(token_ids, mask, has_words, copies, is_cut)

    def cut(self, text, limit, name):
        """Cuts texts `(B,)` after their first `limit` wordpieces, or refuses longer ones.

        Returns:
            The texts and their numbers of tokens with the end token, int64 `(B,)`.
        """
        import tensorflow as tf

        pieces, _, ends = self.op.tokenize_with_offsets(text)
        lengths = pieces.row_lengths()
        self._limit(pieces, lengths, limit, name)
        ends = tf.cast(tf.reduce_max(ends[:, :limit], axis=1), tf.int32)
        ends = tf.where(lengths > limit, ends, tf.strings.length(text))
        lengths = tf.minimum(lengths, limit) + int(self.source_end)
        return tf.strings.substr(text, tf.zeros_like(ends), ends), lengths

    def limit_ids(self, token_ids, limit):
        """Limits padded rows `pieces </s>` to a number of pieces.

        Args:
            token_ids: Int32 tensor `(B, S)`. An id that does not exist fails the batch with its
                number, and so does a row that is only padding.
            limit: Maximum number of wordpieces.

        Returns:
            Token ids and their padding mask, int32 tensors `(B, min(S, limit + 1))`.
        """
        import tensorflow as tf

        is_known = tf.logical_and(token_ids >= 0, token_ids < self.vocabulary_size)
        unknown = tf.boolean_mask(token_ids, tf.logical_not(is_known))
        empty = tf.where(tf.reduce_all(token_ids == self.pad, axis=1))[:, 0]
        checks = [
            tf.debugging.Assert(
                tf.size(unknown) == 0,
                [f"`token_ids`: ids are 0 to {self.vocabulary_size - 1}. Received:", unknown],
                summarize=10,
            ),
            tf.debugging.Assert(
                tf.size(empty) == 0,
                ["`token_ids`: nothing but padding in rows", empty],
                summarize=10,
            ),
        ]
        with tf.control_dependencies(checks):
            token_ids = tf.identity(token_ids)
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
        texts = self.target_op.detokenize(pieces)
        if self.has_bytes:  # a model may write bytes that are not valid UTF-8
            texts = _as_utf8(texts)
        return texts

    def wordpieces(self, token_ids, is_target=False):
        """Turns padded ids `(N, L)` into wordpieces `(N, L)`, empty strings on padding."""
        import tensorflow as tf

        op = self.target_op if is_target else self.op
        return tf.where(token_ids == self.pad, "", op.id_to_string(token_ids))


def _as_utf8(texts):
    """Replaces invalid UTF-8 with U+FFFD, so that the texts fit into JSON."""
    import tensorflow as tf

    return tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="replace")


def _tokenizer_op(proto):
    """A tokenizer of TensorFlow Text; loaded ones of one name would share the first one's model."""
    import tensorflow as tf
    import tensorflow_text

    name = f"sentencepiece_{hashlib.sha256(proto).hexdigest()[:16]}"
    return tensorflow_text.SentencepieceTokenizer(model=proto, out_type=tf.int32, name=name)


def build_served_translator(model, options, weights):
    """Joins tokenizer, search and detokenizer of a model in one `tf.Module`.

    Args:
        model: A `TransformerSeq2SeqLM` of the TensorFlow backend.
        options: `ServingOptions`.
        weights: `WholeWeights` or `HalfPrecisionWeights` of the model.

    Returns:
        The module, and its signatures by name, ready for `tf.saved_model.save`. All ops are
        TensorFlow's and TensorFlow Text's own. XLA compiles none of them, as TensorFlow Serving
        does not run XLA.
    """
    import tensorflow as tf

    decoder = None if own_parts(model.backbone) else PackedDecoder(model.backbone, weights)
    tables = SharedTables(model)

    @contextlib.contextmanager
    def scope():
        with weights.scope(), tables.scope():
            yield

    served = _ServedSearch(model, options, decoder, scope)
    module = tf.Module()
    # Objects of the signatures must be attributes of the module; otherwise loading misses them.
    module.tokenizer, module.target_tokenizer = served.text.op, served.text.target_op
    module.model_variables, module.restored = weights.variables, weights.restored
    module.packed = [] if decoder is None else decoder.resources

    def signature(**inputs):
        specs = [tf.TensorSpec(*spec, name=name) for name, spec in inputs.items()]

        def compiled(function):
            @functools.wraps(function)
            def with_weights(*tensors):
                with scope():
                    return function(*tensors)

            return tf.function(with_weights, input_signature=specs, autograph=False)

        return compiled

    texts, ids = ([None], tf.string), ([None, None], tf.int32)

    @signature(text=texts)
    def serving_default(text):
        found = served.translate(text, 1)
        return {
            "translation": found.texts[:, 0],
            "score": found.scores[:, 0],
            "normalized_score": found.normalized_scores[:, 0],
        }

    @signature(text=texts)
    def translate_nbest(text):
        found = served.translate(text, options.num_return_sequences)
        return {
            "translations": found.texts,
            "scores": found.scores,
            "normalized_scores": found.normalized_scores,
        }

    @signature(text=texts)
    def align(text):
        return served.align(text)

    @signature(source=texts, target=texts)
    def score(source, target):
        return served.score(source, target)

    @signature(token_ids=ids)
    def generate_ids(token_ids):
        token_ids, padding_mask = served.text.limit_ids(token_ids, options.max_input_length)
        token_ids, log_probs = served.search(token_ids, padding_mask, 1)
        return {"token_ids": token_ids[:, 0], "score": log_probs[:, 0]}

    @signature(text=texts)
    def translate_document(text):
        return served.translate_documents(text)

    functions = [serving_default, translate_nbest, align, score, generate_ids]
    if options.documents:
        functions.append(translate_document)
    return module, {function.__name__: function for function in functions}


class _ServedSearch:
    """The functions behind the signatures: `translate` and `score` of a model, on strings."""

    def __init__(self, model, options, decoder, scope):
        self.backbone = model.backbone
        self.decoder, self.scope = decoder, scope
        self.tokenizer = model.preprocessor.tokenizer
        has_constraint = options.constraint is not None
        self.text = ServedText(self.tokenizer, options.long_text, has_constraint)
        self.splitter = SentenceSplitter(self.text.op, options.max_input_length)
        self.options = options
        self._searches = {}

    def search(self, token_ids, padding_mask, num_hypotheses):
        """Finds hypotheses: token ids `(B, N, L)` and log-probabilities `(B, N)`."""
        import tensorflow as tf

        if num_hypotheses not in self._searches:
            self._searches[num_hypotheses] = self._make_search(num_hypotheses)
        token_ids, log_probs = self._searches[num_hypotheses](token_ids, padding_mask)
        return token_ids, tf.maximum(log_probs, NO_SCORE)

    def _make_search(self, num_hypotheses):
        """A function that all signatures call, so that the graph holds it once."""
        import tensorflow as tf

        options = dataclasses.replace(self.options, num_return_sequences=num_hypotheses)
        token_ids = tf.TensorSpec([None, None], tf.int32)

        @tf.function(input_signature=[token_ids, token_ids], autograph=False)
        def search(token_ids, padding_mask):
            with self.scope():
                decoders = None if self.decoder is None else (self.decoder.read(),)
                of_batch = TranslationSearch((self.backbone,), self.tokenizer, options, decoders)
                return tf.cond(
                    tf.equal(tf.shape(token_ids)[0], 1),
                    lambda: of_batch.find_one(token_ids, padding_mask),
                    lambda: of_batch.find(token_ids, padding_mask),
                )

        return search

    def translate(self, text, num_hypotheses):
        """Finds the `Hypotheses` of texts `(B,)`; overlong ones are translated by sentence."""
        translate = functools.partial(self._translate_whole, num_hypotheses=num_hypotheses)
        longest = longest_whole_text(self.tokenizer, self.options)
        if longest is None:
            return translate(text)
        text, lengths = self.text.cut(text, self.options.max_input_length, "text")
        found = translate_long_rows(
            text, lengths > longest, translate, self.splitter, num_hypotheses
        )
        return found._replace(texts=_as_utf8(found.texts))  # what is between sentences is copied

    def _translate_whole(self, text, num_hypotheses):
        """Finds the `Hypotheses` of texts `(B,)`, each as one piece."""
        import tensorflow as tf

        batch = self.text.tokenize(text, self.options.max_input_length, "text")
        token_ids, log_probs = self.search(batch.token_ids, batch.padding_mask, num_hypotheses)
        texts = self.text.detokenize(tf.reshape(token_ids, [-1, tf.shape(token_ids)[2]]))
        has_words = batch.has_words[:, tf.newaxis]
        scores = tf.where(has_words, log_probs, 0.0)
        return Hypotheses(
            tf.where(
                has_words,
                tf.reshape(texts, [-1, num_hypotheses]),
                batch.copies[:, tf.newaxis],
            ),
            scores,
            self._normalize(scores, token_ids[:, :, 1:]),
        )

    def translate_documents(self, text):
        """Translates texts `(B,)` of any length, sentence by sentence."""
        translate = functools.partial(self._translate_whole, num_hypotheses=1)
        return translate_by_sentence(text, translate, self.splitter)

    def align(self, text):
        """Finds the best translation in wordpieces, and the attention weights of each."""
        import tensorflow as tf

        source = self.text.tokenize(text, self.options.max_input_length, "text")
        token_ids, log_probs = self.search(source.token_ids, source.padding_mask, 1)
        token_ids = token_ids[:, 0] * tf.cast(source.has_words, tf.int32)[:, tf.newaxis]
        target = token_ids[:, 1:]
        num_columns = tf.reduce_max(tf.math.count_nonzero(target, axis=1, dtype=tf.int32))
        # The maximum over an empty batch is negative.
        target = target[:, : tf.maximum(num_columns, 0)]
        mask = tf.cast(target != self.text.pad, tf.int32)
        weights = alignments(
            self.backbone,
            source.token_ids,
            source.padding_mask,
            token_ids[:, : tf.shape(target)[1]],
            mask,
        )
        return {
            "translation": tf.where(source.has_words, self.text.detokenize(target), source.copies),
            "score": tf.where(source.has_words, log_probs[:, 0], 0.0),
            "source_tokens": self.text.wordpieces(source.token_ids),
            "target_tokens": self.text.wordpieces(target, is_target=True),
            "alignment": tf.where(mask[:, :, tf.newaxis] != 0, weights, 0.0),
        }

    def score(self, source, target):
        """Computes log-probabilities `(B,)` of targets given sources.

        The model cannot write a target for which it has not enough positions: `NO_SCORE`.
        """
        import tensorflow as tf

        tf.debugging.assert_equal(
            tf.size(source),
            tf.size(target),
            "`source` and `target` must have equal numbers of texts",
        )
        source = self.text.tokenize(source, self.options.max_input_length, "source")
        target = self.text.tokenize(
            target, self.backbone.max_sequence_length - 1, "target", is_target=True
        )
        labels = target.token_ids
        starts = tf.fill([tf.shape(labels)[0], 1], self.tokenizer.start_token_id)
        log_probs = token_log_probs(
            self.backbone,
            source.token_ids,
            source.padding_mask,
            tf.concat([starts, labels[:, :-1]], axis=1),
            target.padding_mask,
            labels,
        )
        log_probs = tf.where(target.is_cut, NO_SCORE, tf.reduce_sum(log_probs, axis=1))
        return {
            "log_probability": log_probs,
            "normalized_score": self._normalize(log_probs, labels),
        }

    def _normalize(self, log_probs, token_ids):
        """Divides log-probabilities by length penalties; hypotheses are ranked by the result."""
        import tensorflow as tf

        length = tf.math.count_nonzero(token_ids, axis=-1, dtype=tf.int32)
        length = tf.maximum(length, 1)  # that of a hypothesis that does not exist is 0
        return log_probs / length_penalty(tf.cast(length, tf.float32), self.options)
