"""The length penalty, which makes hypotheses of different lengths comparable."""


def length_penalty(length, alpha):
    """`((5 + |y|) / 6)^α`, by which a log-probability is divided (GNMT, equation 14).

    Source: https://arxiv.org/abs/1609.08144. α = 0 compares plain log-probabilities, a larger α
    favours longer hypotheses.

    Args:
        length: Number of tokens |y|, the end token included: a float32 tensor or array.
        alpha: The exponent α, 0 or greater.

    Returns:
        Float32 tensor or array of `length`'s shape.
    """
    return ((5.0 + length) / 6.0) ** alpha
