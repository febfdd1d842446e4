"""Strings to parts at given bytes."""


def cut(strings, starts):
    """Cuts strings into parts; joined, the parts of a string are the string.

    Args:
        strings: String tensor `(N,)`.
        starts: Ragged int64 tensor `(N, (K))`, bytes at which a part begins. 0 need not be among
            them, and what is not in a string is left out.

    Returns:
        Ragged string tensor `(N, (P))`, no part of it empty.
    """
    import tensorflow as tf

    bytes_ = tf.strings.bytes_split(strings)
    lengths, row_starts = bytes_.row_lengths(), bytes_.row_starts()
    rows, within = starts.value_rowids(), starts.values
    is_inside = (within >= 0) & (within < tf.gather(lengths, rows))
    begins = tf.concat(
        [
            tf.boolean_mask(within + tf.gather(row_starts, rows), is_inside),
            tf.boolean_mask(row_starts, lengths > 0),
        ],
        axis=0,
    )
    total = tf.size(bytes_.flat_values, out_type=tf.int64)
    is_begin = tf.scatter_nd(begins[:, tf.newaxis], tf.ones_like(begins), total[tf.newaxis]) > 0
    part_of_byte = tf.cumsum(tf.cast(is_begin, tf.int64)) - 1
    parts = tf.strings.unsorted_segment_join(
        bytes_.flat_values,
        part_of_byte,
        tf.math.count_nonzero(is_begin),
    )
    return tf.RaggedTensor.from_value_rowids(
        parts, tf.boolean_mask(bytes_.value_rowids(), is_begin), bytes_.nrows()
    )


def characters(strings):
    """Code points of strings and the bytes at which they begin.

    Bytes that are no UTF-8 are one replacement character each or for several.

    Returns:
        Two ragged tensors `(N, (C))`, int32 and int64.
    """
    import tensorflow as tf

    return tf.strings.unicode_decode_with_offsets(strings, "UTF-8", errors="replace")


def is_among(values, wanted):
    """Whether elements of an integer tensor are among a few numbers."""
    import tensorflow as tf

    wanted = tf.constant(wanted, values.dtype)
    return tf.reduce_any(values[:, tf.newaxis] == wanted, axis=1)
