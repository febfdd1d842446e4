"""Texts that a served graph translates sentence by sentence, as `model.translate` does.

`translate_by_sentence` is for documents of any length. `translate_long_rows` is for requests with
texts of more tokens than the model has learned to read: translated whole, they would lose
sentences. It gives the same answers as `aiayn_keras.documents.long_texts`.
"""

from typing import Any, NamedTuple

from aiayn_keras.documents.splitting import (
    SplitTexts,
    are_words_beside,
    join_texts,
    piece_counter,
    split_texts,
)

BATCH_SIZE = 32
"""Number of sentences searched together, so that a long text takes no more memory."""

_IMPOSSIBLE = -1e37
"""Score of a hypothesis that is never chosen."""


class Hypotheses(NamedTuple):
    """The N best translations of B texts, best first.

    Attributes:
        texts: String tensor `(B, N)`.
        scores: Float32 tensor `(B, N)`, log-probabilities in nats.
        normalized_scores: Float32 tensor `(B, N)`, the scores divided by length penalties.
    """

    texts: Any
    scores: Any
    normalized_scores: Any


class SentenceSplitter:
    """Splits texts into sentences, in a function that all signatures call: the graph holds it once.

    Args:
        tokenizer: A `tensorflow_text.SentencepieceTokenizer`.
        max_input_length: Maximum number of wordpieces in a sentence.
    """

    def __init__(self, tokenizer, max_input_length):
        import tensorflow as tf

        self.count = piece_counter(tokenizer)

        @tf.function(
            input_signature=[tf.TensorSpec([None], tf.string)],
            autograph=False,
            experimental_attributes={"_noinline": True},
        )
        def split(text):
            return split_texts(text, self.count, max_input_length)

        self.split = split


def translate_by_sentence(text, translate, splitter):
    """Translates texts `(B,)` as `model.translate_documents` does.

    Args:
        text: String tensor `(B,)`.
        translate: Function of sentences `(M,)` that gives their `Hypotheses`.
        splitter: A `SentenceSplitter`.

    Returns:
        Dictionary of `translation`, `score` and `sentences`, `(B,)` each.
    """
    import tensorflow as tf

    separators, sentences = splitter.split(text)
    # Longest first, as in `model.translate`: sentences of similar length share a batch.
    order = tf.argsort(splitter.count(sentences.values), direction="DESCENDING", stable=True)
    found = _in_batches(translate, tf.gather(sentences.values, order), 1, BATCH_SIZE)
    place = tf.math.invert_permutation(order)
    found = Hypotheses(*(tf.gather(each, place) for each in found))
    return {
        "translation": join_texts(separators, sentences, sentences.with_values(found.texts[:, 0])),
        "score": tf.reduce_sum(sentences.with_values(found.scores[:, 0]), axis=1),
        "sentences": tf.cast(sentences.row_lengths(), tf.int32),
    }


def translate_long_rows(text, is_long, translate, splitter, num_hypotheses):
    """Translates texts `(B,)`, some of them sentence by sentence.

    The hypotheses of a text of several sentences are the combinations of its sentences' hypotheses
    with the highest sums of normalized scores; its scores are sums, too.

    Args:
        text: String tensor `(B,)`.
        is_long: Boolean tensor `(B,)`, True for a text that is to be split.
        translate: Function of sentences `(M,)` that gives their `Hypotheses`.
        splitter: A `SentenceSplitter`.
        num_hypotheses: N.

    Returns:
        `Hypotheses`.
    """
    import tensorflow as tf

    # The search stands here once, in a loop that usually has one round: in both branches of a
    # condition it would make loading slower.
    any_long = tf.reduce_any(is_long)
    separators, sentences = tf.cond(
        any_long,
        lambda: _split_rows(text, is_long, splitter.split),
        lambda: _one_sentence_each(text),
    )
    batch_size = tf.maximum(tf.size(text), BATCH_SIZE)
    found = _in_batches(translate, sentences.values, num_hypotheses, batch_size)
    return tf.cond(
        any_long,
        lambda: _best_combinations(separators, sentences, found, num_hypotheses),
        lambda: found,
    )


def _split_rows(text, is_long, split):
    """Splits the long texts; each of the others is a sentence between empty separators."""
    import tensorflow as tf

    is_short = tf.logical_not(is_long)
    of_long = split(tf.boolean_mask(text, is_long))
    whole = _one_sentence_each(tf.boolean_mask(text, is_short))
    rows = tf.concat([tf.where(is_long), tf.where(is_short)], axis=0)[:, 0]
    order = tf.math.invert_permutation(rows)
    return SplitTexts(
        *(tf.gather(tf.concat(both, axis=0), order) for both in zip(of_long, whole, strict=True))
    )


def _one_sentence_each(text):
    """`SplitTexts` of texts that are one sentence, between empty separators."""
    import tensorflow as tf

    nothing = tf.fill([tf.size(text), 2], "")
    return SplitTexts(
        tf.RaggedTensor.from_tensor(nothing), tf.RaggedTensor.from_tensor(text[:, tf.newaxis])
    )


def _in_batches(translate, sentences, num_hypotheses, batch_size):
    import tensorflow as tf

    def translate_batch(start, found):
        of_batch = translate(sentences[start : start + batch_size])
        joined = (tf.concat(both, axis=0) for both in zip(found, of_batch, strict=True))
        return start + batch_size, Hypotheses(*joined)

    nothing = [tf.zeros([0, num_hypotheses], dtype) for dtype in (tf.string, *[tf.float32] * 2)]
    growing = tf.TensorShape([None, num_hypotheses])
    _, found = tf.while_loop(
        lambda start, found: start < tf.size(sentences),
        translate_batch,
        (0, Hypotheses(*nothing)),
        shape_invariants=(tf.TensorShape([]), Hypotheses(*[growing] * 3)),
        parallel_iterations=1,
    )
    return found


def _best_combinations(separators, sentences, found, num_hypotheses):
    """Combines the `Hypotheses` of sentences into those of their texts."""
    import tensorflow as tf

    counts, starts = sentences.row_lengths(), sentences.row_starts()
    # The last row changes nothing: it is added to texts that have no more sentences.
    neutral = tf.constant([[0.0] + [_IMPOSSIBLE] * (num_hypotheses - 1)])
    texts = tf.concat([found.texts, tf.fill([1, num_hypotheses], "")], axis=0)
    scores = tf.concat([found.scores, tf.zeros([1, num_hypotheses])], axis=0)
    normalized_scores = tf.concat([found.normalized_scores, neutral], axis=0)
    last = tf.shape(found.texts, tf.int64)[0]
    padded = tf.concat([sentences.values, [""]], axis=0)

    def columns(strings):
        return tf.tile(strings[:, tf.newaxis], [1, num_hypotheses])

    def add_sentence(index, best):
        is_there = index < counts
        part = tf.where(is_there, starts + index, last)
        after = tf.where(is_there, separators.row_starts() + index + 1, 0)
        separator = tf.where(is_there, tf.gather(separators.values, after), "")
        sums = best.normalized_scores[:, :, tf.newaxis]
        sums += tf.gather(normalized_scores, part)[:, tf.newaxis]
        chosen = tf.math.top_k(tf.reshape(sums, [-1, num_hypotheses**2]), num_hypotheses)

        def of_both(of_best, of_part):
            of_best = tf.gather(of_best, chosen.indices // num_hypotheses, batch_dims=1)
            of_part = tf.gather(of_part, part)
            return of_best, tf.gather(of_part, chosen.indices % num_hypotheses, batch_dims=1)

        before = tf.gather(separators.values, tf.where(is_there, after - 1, 0))
        sides = (tf.gather(padded, each) for each in (tf.maximum(part - 1, 0), part))
        is_bare = is_there & (index > 0) & (before == "") & ~are_words_beside(*sides)
        left, right = of_both(best.texts, texts)
        need_space = is_bare[:, tf.newaxis] & are_words_beside(left, right)
        joined = tf.strings.join([left, tf.where(need_space, " ", ""), right])
        return index + 1, Hypotheses(
            tf.strings.join([joined, columns(separator)]),
            tf.add(*of_both(best.scores, scores)),
            chosen.values,
        )

    first = columns(tf.gather(separators.values, separators.row_starts()))
    start = Hypotheses(first, tf.zeros(tf.shape(first)), tf.tile(neutral, [tf.size(counts), 1]))
    _, best = tf.while_loop(
        lambda index, best: index < tf.reduce_max(counts),
        add_sentence,
        (tf.constant(0, tf.int64), start),
        parallel_iterations=1,
    )
    has_sentences = (counts > 0)[:, tf.newaxis]
    return best._replace(normalized_scores=tf.where(has_sentences, best.normalized_scores, 0.0))
