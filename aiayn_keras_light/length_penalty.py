"""The length penalty, which makes hypotheses of different lengths comparable.

One formula, in a file of its own because two programs outside Python repeat it: `search.js` of the
page to type into, and `decoding_steps.js` of the recorded search.
"""


def length_penalty(length, options):
    """The divisor of a log-probability, `((k + |y|) / (k + 1))^α`.

    With k = 5 it is GNMT's (https://arxiv.org/abs/1609.08144, equation 14), which the paper uses;
    with k = 0 it is `|y|^α`, that of Hugging Face, CTranslate2, fairseq and Marian. Sockeye has
    both as one formula too. α = 0 compares plain log-probabilities, a larger α favours longer
    hypotheses. The penalty of a longer hypothesis is never smaller.

    Args:
        length: Number of tokens |y|, the end token included: a float32 tensor or array.
        options: `SearchNumbers`: its `length_penalty` is α, its `length_penalty_offset` k.

    Returns:
        Float32 tensor or array of `length`'s shape.
    """
    offset = options.length_penalty_offset
    return ((offset + length) / (offset + 1.0)) ** options.length_penalty
