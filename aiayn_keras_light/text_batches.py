"""Texts to batches of token ids, checked, of similar length and few shapes."""

import contextlib
import math

import numpy as np

from aiayn_keras_light.checks import check_texts

# Lengths are padded to multiples of this, and batches to powers of two, so that there are few
# shapes to compile.
LENGTH_MULTIPLE = 8

MAX_TEXTS = 1 << 20
"""Bound on the number of texts in a batch."""


class TextError(ValueError):
    """A text, or a prefix of its translation, cannot be used.

    Attributes:
        argument: Name of the argument that held it.
        index: Which of the texts.
        reason: What is wrong, without the text's index.
    """

    def __init__(self, argument, index, reason):
        super().__init__(f"`{argument}[{index}]`: {reason}")
        self.argument = argument
        self.index = index
        self.reason = reason


@contextlib.contextmanager
def naming_rows(rows):
    """A context whose `TextError` names a text by its place among others.

    Args:
        rows: The place of each text that the block handles.
    """
    try:
        yield
    except TextError as error:
        raise type(error)(error.argument, rows[error.index], error.reason) from error


class TextTooLongError(TextError):
    """A text has more tokens than the model has positions."""


def tokenize(texts, argument, tokenizer, max_sequence_length=math.inf, is_cut=False):
    """Token ids of texts, each with the end token if the tokenizer's sources have one.

    Args:
        texts: List of strings.
        argument: Its name, for errors.
        tokenizer: A `TransformerTokenizer`.
        max_sequence_length: Maximum number of tokens of a text, the end token included.
        is_cut: Whether longer texts are cut to that number of tokens.

    Returns:
        List of lists of token ids.

    Raises:
        ValueError: For a single string, or anything but a sequence of Unicode strings.
        TextTooLongError: For a text with too many tokens, unless `is_cut`.
    """
    texts = check_texts(argument, texts)
    sequences = [[*ids, *tokenizer.source_ids] for ids in tokenizer(texts)]
    for i, sequence in enumerate(sequences):
        if len(sequence) > max_sequence_length and is_cut:
            ends = tokenizer.source_ids
            sequences[i] = [*sequence[: max_sequence_length - len(ends)], *ends]
        elif len(sequence) > max_sequence_length:
            raise TextTooLongError(
                argument,
                i,
                f"{len(sequence)} tokens are more than the {max_sequence_length} positions of "
                "the model (`max_sequence_length`): split the text. "
                f"It begins with {texts[i][:40]!r}.",
            )
    return sequences


def is_to_split(length, max_sequence_length, learned_length, of_any_length):
    """True if a text is translated sentence by sentence.

    Args:
        length: Number of its tokens, the end token included.
        max_sequence_length: The model's number of positions.
        learned_length: Number of tokens of the longest texts that the model has learned to read;
            None if that is unknown.
        of_any_length: Whether texts of more tokens than there are positions are split, too.
    """
    longest = min(max_sequence_length, learned_length or max_sequence_length)
    return longest < length and (of_any_length or length <= max_sequence_length)


def check_equal_lengths(**lists):
    """Raises a ValueError unless the named lists are of equal length."""
    lengths = {name: len(values) for name, values in lists.items()}
    if len(set(lengths.values())) > 1:
        names = " and ".join(f"`{name}`" for name in lengths)
        received = ", ".join(f"{length} {name}" for name, length in lengths.items())
        raise ValueError(f"{names} must be of equal length. Received: {received}.")


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


def pad_batch(sequences, length=None):
    """Stacks sequences of token ids.

    Args:
        sequences: Non-empty list of lists of token ids.
        length: Minimum width of the arrays; by default that of the longest sequence.

    Returns:
        Int32 arrays `(B, S)`, token ids and padding mask. B is the next power of two, rows beyond
        the sequences repeat the first; S is `length` rounded up, and never 0: the attention to a
        source without wordpieces and end token is that to padding.
    """
    num_rows = 1 << (len(sequences) - 1).bit_length()
    length = max(1, *map(len, sequences)) if length is None else length
    length += -length % LENGTH_MULTIPLE
    token_ids = np.zeros((num_rows, length), dtype="int32")
    padding_mask = np.zeros_like(token_ids)
    for i in range(num_rows):
        sequence = sequences[i] if i < len(sequences) else sequences[0]
        token_ids[i, : len(sequence)] = sequence
        padding_mask[i, : len(sequence)] = 1
    return token_ids, padding_mask
