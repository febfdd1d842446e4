"""What `translate` returns, and the batches it works in."""

from dataclasses import dataclass

import numpy as np

# Lengths are padded to multiples of this, and batches to powers of two, so that there are few
# shapes to compile.
LENGTH_MULTIPLE = 8


@dataclass(frozen=True)
class Hypothesis:
    """One translation of a text.

    Attributes:
        text: The translation.
        score: Its log-probability in nats, the end token included, without length penalty.
        tokens: Its wordpieces.
    """

    text: str
    score: float
    tokens: tuple[str, ...]


@dataclass(frozen=True)
class Translation(Hypothesis):
    """The best translation of a text, and the runners-up.

    Attributes:
        hypotheses: `num_return_sequences` hypotheses, best first; the first repeats this one.
    """

    hypotheses: tuple[Hypothesis, ...] = ()


def batch_by_length(sequences, batch_size):
    """Groups sequences of similar length, longest first, so that memory runs out at once or never.

    Args:
        sequences: List of lists of token ids.
        batch_size: Number of sequences in a batch.

    Yields:
        Lists of positions in `sequences`, up to `batch_size` each.
    """
    order = sorted(range(len(sequences)), key=lambda i: (-len(sequences[i]), i))
    for start in range(0, len(order), batch_size):
        yield order[start : start + batch_size]


def pad_batch(sequences):
    """Stacks sequences of token ids.

    Args:
        sequences: Non-empty list of lists of token ids.

    Returns:
        Int32 arrays `(B, S)`, token ids and padding mask. B is the next power of two, rows beyond
        the sequences repeat the first; S is the greatest length rounded up.
    """
    num_rows = 1 << (len(sequences) - 1).bit_length()
    length = max(map(len, sequences))
    length += -length % LENGTH_MULTIPLE
    token_ids = np.zeros((num_rows, length), dtype="int32")
    padding_mask = np.zeros_like(token_ids)
    for i in range(num_rows):
        sequence = sequences[i] if i < len(sequences) else sequences[0]
        token_ids[i, : len(sequence)] = sequence
        padding_mask[i, : len(sequence)] = 1
    return token_ids, padding_mask
