"""The best next tokens out of a whole vocabulary, without sorting or normalizing all of it."""

from keras import ops

from aiayn_keras.backend import take_in_rows

# Tokens are searched in blocks of about the first size, what is found in blocks of the second.
BLOCK_SIZES = (64, 8)


def top_log_probs(logits, k, selectable=None):
    """The k most probable tokens of every row, and their log-probabilities.

    Softmax is the one pass over all tokens that every backend has made fast. What it divided by is
    read off the probability of the most probable token, which cannot underflow; the candidates are
    subtractions.

    Args:
        logits: Float32 tensor `(N, V)`, V known.
        k: Number of tokens, at most V.
        selectable: The logits with -inf where a token may not be among the k, if any.

    Returns:
        Float32 log-probabilities `(N, k)`, best first, int32 token ids `(N, k)`, and the
        logarithm of what softmax divides by, `(N, 1)`: a log-probability is a logit less it.
    """
    probabilities = ops.softmax(logits, axis=-1)
    if selectable is None:
        values, tokens = top_candidates(logits, k)
        greatest = values[:, :1]
        greatest_probability = take_in_rows(probabilities, tokens[:, :1])
    else:
        values, tokens = top_candidates(selectable, k)
        greatest, greatest_probability = (
            ops.max(x, axis=-1, keepdims=True) for x in (logits, probabilities)
        )
    log_normalizer = greatest - ops.log(greatest_probability)
    return values - log_normalizer, tokens, log_normalizer


def top_candidates(logits, k, block_sizes=BLOCK_SIZES):
    """The k greatest logits of every row, in three stages.

    The k greatest lie in the k blocks of tokens with the greatest maxima, so only those blocks
    are searched, again by the maxima of smaller blocks.

    Args:
        logits: Float tensor `(N, V)`, V known.
        k: Number of candidates, at most V.
        block_sizes: Sizes of the blocks of each stage but the last.

    Returns:
        Float tensor `(N, k)`, best first, and their int32 token ids `(N, k)`.
    """
    vocabulary_size = logits.shape[-1]
    block_size = _near_divisor(vocabulary_size, block_sizes[0]) if block_sizes else vocabulary_size
    num_blocks = vocabulary_size // block_size
    if num_blocks <= k:
        values, tokens = ops.top_k(logits, k)
        return values, ops.cast(tokens, "int32")
    blocks = ops.reshape(logits[:, : num_blocks * block_size], (-1, num_blocks, block_size))
    _, best = ops.top_k(ops.max(blocks, axis=-1), k)
    best = ops.cast(best, "int32")  # --> (N, k)
    values = ops.reshape(take_in_rows(blocks, best), (-1, k * block_size))
    if num_blocks * block_size < vocabulary_size:  # and those behind the last whole block
        values = ops.concatenate([values, logits[:, num_blocks * block_size :]], axis=1)
        best = ops.concatenate([best, ops.zeros_like(best[:, :1]) + num_blocks], axis=1)
    values, positions = top_candidates(values, k, block_sizes[1:])
    places = positions // block_size
    return values, take_in_rows(best, places) * block_size + positions % block_size


def _near_divisor(width, size):
    """The divisor of `width` nearest to `size`, which saves a copy; `size` if none is near.

    Multiples of eight have the faster maximum.
    """
    divisors = [near for near in range(size // 2, 2 * size + 1) if width % near == 0]
    return min(divisors, key=lambda near: (near % 8 > 0, abs(near - size)), default=size)
