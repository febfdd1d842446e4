"""Texts in graphs of TensorFlow's, such as those of `tf.data`: a check, and the tokenizer.

A file of its own, since the packages that it imports are needed in such graphs only.
"""


def check_utf8(texts):
    """Makes a graph of TensorFlow's fail at texts that are not UTF-8.

    TensorFlow Text would read U+FFFD instead of their bytes.

    Args:
        texts: String tensor. One of unknown rank must be a batch, `(B,)`.

    Returns:
        The same texts.

    Raises:
        tf.errors.InvalidArgumentError: If one is not UTF-8, when the graph runs.
    """
    import tensorflow as tf

    if texts.shape.rank is None:
        texts = tf.ensure_shape(texts, [None])
    read = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="replace")
    # Python would read the error itself as UTF-8, so it shows the text as read.
    wrong = tf.boolean_mask(read, tf.not_equal(read, texts))
    shown = ["Texts must be UTF-8. Received, with U+FFFD for other bytes: ", wrong]
    with tf.control_dependencies([tf.debugging.Assert(tf.equal(tf.size(wrong), 0), shown)]):
        return tf.identity(texts)


def check_ids_in_graph(ids, vocabulary_size, wanted):
    """Makes a graph of TensorFlow's fail at token ids that a model does not have.

    Args:
        ids: Tensor of numbers.
        vocabulary_size: Number of tokens V.
        wanted: Beginning of the error's text.

    Raises:
        ValueError: For a tensor of anything but numbers.
        tf.errors.InvalidArgumentError: If a value is not an integer from 0 to V - 1, when the
            graph runs.
    """
    import tensorflow as tf

    if not (ids.dtype.is_integer or ids.dtype.is_floating):
        raise ValueError(f"{wanted}{ids.dtype.name}.")
    ids = tf.reshape(ids, [-1])  # of unknown rank, perhaps
    is_right = (ids >= 0) & (ids < tf.cast(vocabulary_size, ids.dtype))
    if ids.dtype.is_floating:
        is_right &= tf.equal(tf.floor(ids), ids)
    wrong = tf.boolean_mask(ids, ~is_right)
    tf.debugging.Assert(tf.equal(tf.size(wrong), 0), [wanted, wrong])


def without_zeros_in_graph(texts):
    """Removes U+0000 from a string tensor, as `PieceProcessor` does."""
    import tensorflow as tf

    return tf.strings.regex_replace(texts, r"\x00", "")


class GraphTokenizer:
    """TensorFlow Text's tokenizer, created again in each graph that calls it, such as `tf.data`'s.

    Its vocabulary is a resource of TensorFlow's. If it is created outside a graph, it is gone as
    soon as `tf.random.set_seed` (or `keras.utils.set_random_seed`, which calls it) empties a cache,
    and graphs that use it fail. A graph keeps a resource that it creates itself.

    Args:
        proto: Bytes of a SentencePiece model.
        **options: As in `tensorflow_text.SentencepieceTokenizer`.
    """

    def __init__(self, proto, **options):
        self._proto, self._options = proto, options

    def tokenize(self, texts):
        """Splits texts, see `tensorflow_text.SentencepieceTokenizer.tokenize`."""
        return self._make().tokenize(without_zeros_in_graph(texts))

    def detokenize(self, token_ids):
        """Joins pieces, see `tensorflow_text.SentencepieceTokenizer.detokenize`."""
        return self._make().detokenize(token_ids)

    def _make(self):
        import tensorflow_text

        return tensorflow_text.SentencepieceTokenizer(model=self._proto, **self._options)
