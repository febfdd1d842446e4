"""A sentence of too many wordpieces to parts that the model has positions for.

A long sentence is halved at the best place near its middle, and its halves again while they are too
long. So the parts are of similar length, none is a remainder of two words, and each is known to fit
because its own wordpieces are counted.
"""

from aiayn_keras.decoding.sentences.cutting import characters, cut, is_among
from aiayn_keras.decoding.sentences.layout import lay_out

_SPACES = (0x09, 0x20, 0xA0, 0x2003, 0x2009, 0x202F, 0x3000)
_MARKS_BEFORE_SPACE = tuple(map(ord, ",;:،؛-–—"))
_MARKS = tuple(map(ord, "，、；：–—"))
# Marks on letters, and joiners and modifiers of emoji, stay with the character before.
_JOINED_RANGES = ((0x300, 0x36F), (0x200C, 0x200D), (0xFE00, 0xFE0F), (0x1F3FB, 0x1F3FF))
_JOINER = 0x200D

# Added to the distance from the middle, a share of the length: a comma may be a quarter of the
# sentence further away than a space.
_SPACE_COST, _CHARACTER_COST, _JOINED_COST, _NO_CUT_COST = 0.25, 1.0, 2.0, 9.0


def halve_long_sentences(segments, rows, count, limit):
    """Cuts segments of text until no sentence in them has more than so many wordpieces.

    A single character of more wordpieces is left as it is.

    Args:
        segments: String tensor `(N,)`, sentences with their layout.
        rows: Int64 tensor `(N,)`, the text of each.
        count: Function of sentences `(M,)` that gives their numbers of wordpieces `(M,)`.
        limit: Greatest number of wordpieces.

    Returns:
        Segments `(P,)` and rows `(P,)`.
    """
    import tensorflow as tf

    def next_places(segments):
        laid_out = lay_out(segments)
        is_long = count(laid_out.sentence) > limit
        places = _best_places(tf.boolean_mask(laid_out.sentence, is_long))
        leads = tf.cast(tf.strings.length(tf.boolean_mask(laid_out.lead, is_long)), tf.int64)
        places = tf.where(places > 0, places + leads, 0)
        return tf.scatter_nd(tf.where(is_long), places, tf.shape(segments, out_type=tf.int64))

    def halve(segments, rows, places):
        halves = cut(segments, tf.RaggedTensor.from_tensor(places[:, tf.newaxis]))
        rows = tf.gather(rows, halves.value_rowids())
        return halves.values, rows, next_places(halves.values)

    segments, rows, _ = tf.while_loop(
        lambda segments, rows, places: tf.reduce_any(places > 0),
        halve,
        (segments, rows, next_places(segments)),
        shape_invariants=(tf.TensorShape([None]),) * 3,
    )
    return segments, rows


def _best_places(sentences):
    """Bytes `(M,)` at which the second halves begin; 0 for a sentence of one character."""
    import tensorflow as tf

    codes, offsets = characters(sentences)
    costs = codes.with_values(_costs(codes))
    best = tf.reduce_min(costs, axis=1)
    is_best = costs.values == tf.gather(best, costs.value_rowids())
    candidates = tf.where(is_best, offsets.values, tf.int64.max)
    return tf.reduce_min(codes.with_values(candidates), axis=1)


def _costs(codes):
    """Cost of a cut before each of all characters, float32; that of no cut before the first."""
    import tensorflow as tf

    values = codes.values
    before = tf.roll(values, 1, axis=0)
    is_space = is_among(before, _SPACES)
    is_clause = is_among(before, _MARKS)
    is_clause |= is_space & is_among(tf.roll(values, 2, axis=0), _MARKS_BEFORE_SPACE)
    is_joined = before == _JOINER
    for first, last in _JOINED_RANGES:
        is_joined |= (values >= first) & (values <= last)
    cost = tf.where(is_space, _SPACE_COST, _CHARACTER_COST)
    cost = tf.where(is_clause, 0.0, cost)
    cost = tf.where(is_joined, _JOINED_COST, cost)
    rows = codes.value_rowids()
    index = tf.range(tf.size(values, tf.int64)) - tf.gather(codes.row_starts(), rows)
    share = tf.cast(index, tf.float32) / tf.cast(tf.gather(codes.row_lengths(), rows), tf.float32)
    return tf.where(index == 0, _NO_CUT_COST, cost + tf.abs(share - 0.5))
