"""TensorFlow Text's tokenizer, which alone of the tokenizers runs in graphs of TensorFlow's.

A file of its own, since the package that it imports is needed in such graphs only.
"""


class GraphTokenizer:
    """TensorFlow Text's tokenizer, made anew in each graph that calls it, such as `tf.data`'s.

    Its vocabulary is a resource of TensorFlow's. One that is made outside a graph is gone as soon
    as `tf.random.set_seed`, and with it `keras.utils.set_random_seed`, empties a cache, and graphs
    that hold it fail; a graph keeps what it makes itself.

    Args:
        proto: Bytes of a SentencePiece model.
        **options: As in `tensorflow_text.SentencepieceTokenizer`.
    """

    def __init__(self, proto, **options):
        self._proto, self._options = proto, options

    def tokenize(self, texts):
        """Splits texts, see `tensorflow_text.SentencepieceTokenizer.tokenize`."""
        return self._make().tokenize(texts)

    def detokenize(self, token_ids):
        """Joins pieces, see `tensorflow_text.SentencepieceTokenizer.detokenize`."""
        return self._make().detokenize(token_ids)

    def _make(self):
        import tensorflow_text

        return tensorflow_text.SentencepieceTokenizer(model=self._proto, **self._options)
