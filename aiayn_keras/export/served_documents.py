"""Texts of any length in the served graph: sentences, searched in batches, and back."""

from aiayn_keras.decoding.sentences.splitting import join_texts, piece_counter, split_texts

BATCH_SIZE = 32
"""Number of sentences searched together, so that a long text takes no more memory."""


def translate_documents(text, translate, tokenizer, max_input_length):
    """Translates texts `(B,)` as `model.translate_documents` does.

    Args:
        text: String tensor `(B,)`.
        translate: Function of sentences `(N,)` that gives their translations and scores `(N,)`.
        tokenizer: A `tensorflow_text.SentencepieceTokenizer`.
        max_input_length: Greatest number of wordpieces of a sentence.

    Returns:
        Dictionary of `translation`, `score` and `sentences`, `(B,)` each.
    """
    import tensorflow as tf

    count = piece_counter(tokenizer)
    separators, sentences = split_texts(text, count, max_input_length)
    # Longest first, as in `model.translate`: sentences of similar length share a batch.
    order = tf.argsort(count(sentences.values), direction="DESCENDING", stable=True)
    texts, scores = _in_batches(translate, tf.gather(sentences.values, order))
    place = tf.math.invert_permutation(order)
    texts, scores = tf.gather(texts, place), tf.gather(scores, place)
    return {
        "translation": join_texts(separators, sentences.with_values(texts)),
        "score": tf.reduce_sum(sentences.with_values(scores), axis=1),
        "sentences": tf.cast(sentences.row_lengths(), tf.int32),
    }


def _in_batches(translate, sentences):
    import tensorflow as tf

    def translate_batch(start, texts, scores):
        found = translate(sentences[start : start + BATCH_SIZE])
        texts = tf.concat([texts, found[0]], axis=0)
        scores = tf.concat([scores, found[1]], axis=0)
        return start + BATCH_SIZE, texts, scores

    one_dim = tf.TensorShape([None])
    _, texts, scores = tf.while_loop(
        lambda start, texts, scores: start < tf.size(sentences),
        translate_batch,
        (0, tf.zeros([0], tf.string), tf.zeros([0])),
        shape_invariants=(tf.TensorShape([]), one_dim, one_dim),
        parallel_iterations=1,
    )
    return texts, scores
