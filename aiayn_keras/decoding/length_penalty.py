"""The length penalty, which makes hypotheses of different lengths comparable."""

from keras import ops


def length_penalty(length, alpha):
    """`((5 + |y|) / 6)^α`, by which a log-probability is divided (GNMT, equation 14).

    Source: https://arxiv.org/abs/1609.08144. α = 0 compares plain log-probabilities, a larger α
    favours longer hypotheses.

    Args:
        length: Number of tokens |y|, the end token included; a number or a tensor.
        alpha: The exponent α, 0 or greater.

    Returns:
        Float32 tensor of `length`'s shape.
    """
    return ops.power((5.0 + ops.cast(length, "float32")) / 6.0, alpha)
