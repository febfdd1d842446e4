"""The options of a search for translations: the one place where they are written."""

import dataclasses
import math
import numbers
from dataclasses import dataclass


def number_option(default, minimum, help):
    """A dataclass field for a number: its default, its least value, and its help text."""
    return dataclasses.field(default=default, metadata={"minimum": minimum, "help": help})


@dataclass(frozen=True)
class SearchOptions:
    """The options of a beam search; the defaults are the paper's (6.1).

    `TransformerSeq2SeqLM.translate`, the export and the command take these fields as their own
    arguments. A field's `metadata` holds its least value and its help text.

    Attributes:
        num_beams: Number of live hypotheses W of a sentence.
        length_penalty: The exponent α of the GNMT length penalty, 0 for none.
        coverage_penalty: The factor β of the GNMT coverage penalty, 0 for none.
        no_repeat_ngram_size: No n-gram of this many wordpieces is written twice; 0 allows all.
        num_return_sequences: Number of hypotheses N to find for a sentence, at most `num_beams`.
            The fewer, the sooner the search is done.
        min_length: Least number of wordpieces of a translation.
        max_length: Greatest number of wordpieces; None for the source's plus 50 (paper 6.1).

    Raises:
        ValueError: For a number below its minimum, more sequences than beams, or a `min_length`
            above `max_length`.
        TypeError: For something that is no number, or no integer where one is needed.

    Example:
        >>> SearchOptions(num_beams=5, length_penalty=1.0).max_length is None
        True
    """

    num_beams: int = number_option(4, 1, "Number of beams.")
    length_penalty: float = number_option(0.6, 0, "GNMT's α; 0 for none.")
    coverage_penalty: float = number_option(0.0, 0, "GNMT's β; 0 for none.")
    no_repeat_ngram_size: int = number_option(
        0, 0, "Write no n-gram of so many wordpieces twice; 0 allows all."
    )
    num_return_sequences: int = number_option(1, 1, "Number of translations of a text.")
    min_length: int = number_option(0, 0, "Least number of wordpieces of a translation.")
    max_length: int | None = number_option(
        None, 1, "Greatest number of wordpieces. Default: the source's plus 50."
    )

    def __post_init__(self):
        for field in dataclasses.fields(self):
            if "minimum" in field.metadata:
                _check(field, getattr(self, field.name))
        if self.num_return_sequences > self.num_beams:
            raise ValueError(
                "`num_return_sequences` must be at least 1 and at most `num_beams`. Received: "
                f"num_return_sequences={self.num_return_sequences}, num_beams={self.num_beams}."
            )
        if self.max_length is not None and self.min_length > self.max_length:
            raise ValueError(
                "`min_length` must be from 0 to `max_length`. "
                f"Received: min_length={self.min_length}, max_length={self.max_length}."
            )


def _check(field, value):
    """Refuses a value that is not a number, or too small, for a field of `SearchOptions`."""
    if value is None and field.default is None:
        return
    wanted = (numbers.Real, "a number") if field.type is float else (numbers.Integral, "an integer")
    if isinstance(value, bool) or not isinstance(value, wanted[0]):
        raise TypeError(f"`{field.name}` must be {wanted[1]}. Received: {field.name}={value!r}.")
    minimum = field.metadata["minimum"]
    if not minimum <= value < math.inf:
        raise ValueError(
            f"`{field.name}` must be at least {minimum}, and finite. "
            f"Received: {field.name}={value}."
        )
