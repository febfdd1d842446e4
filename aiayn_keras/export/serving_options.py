"""The options that are fixed in a served graph."""

from dataclasses import dataclass

LONG_TEXTS = ("truncate", "error")


@dataclass(frozen=True)
class ServingOptions:
    """Options of a served search, and the treatment of text that is too long.

    Attributes:
        num_beams: Number of beams W.
        length_penalty: The exponent α of the GNMT length penalty.
        num_return_sequences: Number of hypotheses N of `translate_nbest`, at most W.
        max_length: Greatest number of wordpieces of a translation; None for the source's plus 50
            (paper 6.1). The model's positions limit it too.
        max_input_length: Greatest number of wordpieces of a text, the end token not counted.
        long_text: Treatment of a longer text: `"truncate"` translates its first `max_input_length`
            wordpieces, `"error"` refuses the whole request (INVALID_ARGUMENT) and names its rows.
    """

    num_beams: int
    length_penalty: float
    num_return_sequences: int
    max_length: int | None
    max_input_length: int
    long_text: str


def make_serving_options(
    max_sequence_length,
    *,
    num_beams,
    length_penalty,
    num_return_sequences,
    max_length,
    max_input_length,
    long_text,
):
    """Fills in defaults, and checks the values that the search does not check itself.

    Args:
        max_sequence_length: Number of positions of the model.
        num_beams: As in `ServingOptions`.
        length_penalty: As in `ServingOptions`.
        num_return_sequences: None for `num_beams`.
        max_length: As in `ServingOptions`.
        max_input_length: None for one less than the model's positions; the last is for the end
            token.
        long_text: As in `ServingOptions`.

    Returns:
        `ServingOptions`.

    Raises:
        ValueError: For numbers out of range or an unknown `long_text`.
    """
    if num_return_sequences is None:
        num_return_sequences = num_beams
    if max_input_length is None:
        max_input_length = max_sequence_length - 1
    if num_beams < 1:
        raise ValueError(f"`num_beams` must be at least 1. Received: num_beams={num_beams}.")
    if not 1 <= num_return_sequences <= num_beams:
        raise ValueError(
            "`num_return_sequences` must be at least 1 and at most `num_beams`. Received: "
            f"num_return_sequences={num_return_sequences}, num_beams={num_beams}."
        )
    if max_length is not None and max_length < 1:
        raise ValueError(f"`max_length` must be at least 1. Received: max_length={max_length}.")
    if not 1 <= max_input_length < max_sequence_length:
        raise ValueError(
            f"`max_input_length` must be at least 1 and less than the {max_sequence_length} "
            f"positions of the model. Received: max_input_length={max_input_length}."
        )
    if long_text not in LONG_TEXTS:
        raise ValueError(
            f'`long_text` must be "truncate" or "error". Received: long_text={long_text!r}.'
        )
    return ServingOptions(
        num_beams, length_penalty, num_return_sequences, max_length, max_input_length, long_text
    )
