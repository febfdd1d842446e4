"""The TensorFlow graph that is served: text in, text out."""

import contextlib
import dataclasses
import functools

from aiayn_keras.decoding.attention_maps import alignments
from aiayn_keras.decoding.generation import search_one_translation, search_translations
from aiayn_keras.decoding.length_penalty import length_penalty
from aiayn_keras.decoding.scoring import token_log_probs
from aiayn_keras.export.packed_decoder import PackedDecoder
from aiayn_keras.export.served_documents import translate_documents
from aiayn_keras.export.served_text import ServedText
from aiayn_keras.export.shared_tables import SharedTables

NO_SCORE = -1e30
"""Score of a hypothesis that there is not, as under a constraint; JSON has no infinity."""


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

    decoder, tables = PackedDecoder(model.backbone, weights), SharedTables(model)

    @contextlib.contextmanager
    def scope():
        with weights.scope(), tables.scope():
            yield

    served = _ServedSearch(model, options, decoder, scope)
    module = tf.Module()
    # Objects of the signatures must be attributes of the module; otherwise loading misses them.
    module.tokenizer, module.target_tokenizer = served.text.op, served.text.target_op
    module.model_variables, module.restored = weights.variables, weights.restored
    module.packed = decoder.resources

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
        hypotheses = served.translate(text, 1)
        return {
            "translation": hypotheses["texts"][:, 0],
            "score": hypotheses["scores"][:, 0],
            "normalized_score": hypotheses["normalized_scores"][:, 0],
        }

    @signature(text=texts)
    def translate_nbest(text):
        hypotheses = served.translate(text, options.num_return_sequences)
        return {
            "translations": hypotheses["texts"],
            "scores": hypotheses["scores"],
            "normalized_scores": hypotheses["normalized_scores"],
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
        self.text = ServedText(self.tokenizer, options.long_text)
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
                arguments = (self.backbone,), self.tokenizer, token_ids, padding_mask, options
                decoders = (self.decoder.read(),)
                return tf.cond(
                    tf.equal(tf.shape(token_ids)[0], 1),
                    lambda: search_one_translation(*arguments, decoders=decoders),
                    lambda: search_translations(*arguments, decoders=decoders),
                )

        return search

    def translate(self, text, num_hypotheses):
        """Finds the N best translations of texts `(B,)`, and their scores, `(B, N)` each."""
        import tensorflow as tf

        batch = self.text.tokenize(text, self.options.max_input_length, "text")
        token_ids, log_probs = self.search(batch.token_ids, batch.padding_mask, num_hypotheses)
        texts = self.text.detokenize(tf.reshape(token_ids, [-1, tf.shape(token_ids)[2]]))
        # As in `model.translate`, the translation of a text without words is empty.
        has_words = batch.has_words[:, tf.newaxis]
        scores = tf.where(has_words, log_probs, 0.0)
        return {
            "texts": tf.where(has_words, tf.reshape(texts, [-1, num_hypotheses]), ""),
            "scores": scores,
            "normalized_scores": self._normalize(scores, token_ids[:, :, 1:]),
        }

    def translate_documents(self, text):
        """Translates texts `(B,)` of any length, sentence by sentence."""

        def translate(sentences):
            found = self.translate(sentences, 1)
            return found["texts"][:, 0], found["scores"][:, 0]

        return translate_documents(text, translate, self.text.op, self.options.max_input_length)

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
            "translation": self.text.detokenize(target),
            "score": tf.where(source.has_words, log_probs[:, 0], 0.0),
            "source_tokens": self.text.wordpieces(source.token_ids),
            "target_tokens": self.text.wordpieces(target, is_target=True),
            "alignment": tf.where(mask[:, :, tf.newaxis] != 0, weights, 0.0),
        }

    def score(self, source, target):
        """Computes log-probabilities `(B,)` of targets given sources."""
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
        log_probs = tf.reduce_sum(log_probs, axis=1)
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
