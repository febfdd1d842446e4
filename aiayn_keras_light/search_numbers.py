"""The numbers that control a search: beams, limits of length, and the formula of its penalty.

Two programs outside Python repeat the formula of the length penalty: `search.js` of the page to
type into, and `decoding_steps.js` of the recorded search.
"""

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from aiayn_keras_light.checks import check_integer, check_number
from aiayn_keras_light.files import read_bytes, write_text

EXTRA_LENGTH = 50
"""Paper 6.1: "the maximum output length during inference to input length + 50"."""
SEARCH_FILE = "search.json"
"""File of a model folder with the search numbers that are its defaults."""
_MAX_FILE_BYTES = 1 << 12
MAX_TOKENS = 1 << 20
"""Bound on lengths in tokens; a model's positions are usually far fewer."""


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


def number_option(default, minimum, maximum):
    """A dataclass field for a number: its default and, as `metadata`, its bounds."""
    metadata = {"minimum": minimum, "maximum": maximum}
    return dataclasses.field(default=default, metadata=metadata)


@dataclass(frozen=True)
class SearchNumbers:
    """The numbers that control a beam search; the defaults are the paper's (6.1).

    `aiayn_keras.decoding.search_options.SearchOptions` adds a constraint. A field's `metadata`
    holds its bounds.

    Attributes:
        num_beams: Number of live hypotheses W of a sentence.
        length_penalty: The exponent α of the length penalty, 0 for none.
        length_penalty_offset: The number k that the length penalty adds to a length: 5 for GNMT's
            `((5 + |y|) / 6)^α`, 0 for the `|y|^α` of Hugging Face and CTranslate2.
        coverage_penalty: The factor β of the GNMT coverage penalty, 0 for none.
        no_repeat_ngram_size: No n-gram of this many wordpieces is written twice; 0 allows all.
        num_return_sequences: Number of hypotheses N to find for a sentence, at most `num_beams`.
            With fewer, the search is done sooner.
        min_length: Minimum number of wordpieces of a translation, or the maximum of its text if
            that is smaller. With 0 a model may write an empty translation, as some do for single
            words.
        max_length: Maximum number of wordpieces; None for the source's plus `extra_length`.
        extra_length: Without a `max_length`, how many more wordpieces than its source a translation
            may have: 50 to translate (paper 6.1), 300 to parse (6.3).
        constraint: None; a derived class may have one.

    Raises:
        ValueError: For a number out of its bounds, more sequences than beams, or a `min_length`
            above `max_length`.
        TypeError: For a value that is not a number, or not an integer where one is needed.

    Example:
        >>> SearchNumbers(num_beams=5, length_penalty=1.0).max_length is None
        True
    """

    num_beams: int = number_option(4, 1, 1000)
    length_penalty: float = number_option(0.6, 0, 10)
    length_penalty_offset: int = number_option(5, 0, 100)
    coverage_penalty: float = number_option(0.0, 0, 100)
    no_repeat_ngram_size: int = number_option(0, 0, 100)
    num_return_sequences: int = number_option(1, 1, 1000)
    min_length: int = number_option(1, 0, MAX_TOKENS)
    max_length: int | None = number_option(None, 1, MAX_TOKENS)
    extra_length: int = number_option(EXTRA_LENGTH, 0, MAX_TOKENS)
    constraint: ClassVar[None] = None

    def __post_init__(self):
        for field in dataclasses.fields(self):
            if "minimum" in field.metadata:
                # One type, so that equal options are one key: 2 == 2.0, and they are not the same.
                object.__setattr__(self, field.name, _checked(field, getattr(self, field.name)))
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

    def compilation_key(self):
        """The key of a compiled search, which takes its limits as inputs.

        Options that differ only in `max_length`, `extra_length` and a `min_length` above 0 have
        the same one, see `TranslationSearch.inputs`.
        """
        limits = ("min_length", "max_length", "extra_length")
        names = (field.name for field in dataclasses.fields(self) if field.name not in limits)
        return (self.min_length > 0, *(getattr(self, name) for name in names))


def _checked(field, value):
    """Converts the value of a field of `SearchNumbers` to its type and checks its bounds."""
    if value is None and field.default is None:
        return None
    check = check_number if field.type is float else check_integer
    return check(field.name, value, field.metadata["minimum"], field.metadata["maximum"])


def max_pieces(num_pieces, options):
    """Maximum number of wordpieces of the translation of `num_pieces`, integers or tensors."""
    if options.max_length is None:
        return num_pieces + options.extra_length
    return num_pieces * 0 + options.max_length


def read_search_defaults(folder):
    """Reads the numbers that a model folder searches with unless others are given.

    Args:
        folder: Path of the folder.

    Returns:
        Dictionary of fields of `SearchNumbers`; empty if the folder has no `search.json`.

    Raises:
        OSError: If the file cannot be read.
        ValueError: If it is damaged, or a number unknown or out of its bounds, with its path.
    """
    path = Path(folder) / SEARCH_FILE
    try:
        text = read_bytes(path, _MAX_FILE_BYTES)
    except FileNotFoundError:
        return {}
    try:
        defaults = json.loads(text)
        if not isinstance(defaults, dict):
            raise ValueError(f"It must be an object. Received: {defaults!r:.60}.")
        return check_search_defaults(defaults)
    except (ValueError, TypeError, RecursionError) as error:
        raise ValueError(f"{path}: {error}") from error


def write_search_defaults(folder, defaults):
    """Writes the numbers that a model searches with unless others are given, if there are any.

    Args:
        folder: Path of the folder.
        defaults: Dictionary of fields of `SearchNumbers`.

    Raises:
        ValueError: As `check_search_defaults`.
        TypeError: As `check_search_defaults`.
    """
    if defaults := check_search_defaults(defaults):
        write_text(Path(folder) / SEARCH_FILE, json.dumps(defaults, indent=1) + "\n")


def search_defaults_of(numbers):
    """Returns the `SearchNumbers` of an evaluation that differ from ours, for the trained model.

    `min_length` and `max_length` are not among them: they may be there to evaluate sooner.
    """
    return {
        field.name: getattr(numbers, field.name)
        for field in dataclasses.fields(SearchNumbers)
        if field.name not in ("min_length", "max_length", "num_return_sequences")
        and getattr(numbers, field.name) != field.default
    }


def check_search_defaults(defaults):
    """Returns the defaults of a model's searches, checked.

    Args:
        defaults: Dictionary of fields of `SearchNumbers` except `num_return_sequences`.

    Raises:
        ValueError: For an unknown name, or as `SearchNumbers`.
        TypeError: As `SearchNumbers`.
    """
    names = {field.name for field in dataclasses.fields(SearchNumbers)} - {"num_return_sequences"}
    if unknown := set(defaults) - names:
        raise ValueError(
            f"A model's search has no default `{min(map(str, unknown)):.60}`. "
            f"Allowed: {', '.join(sorted(names))}."
        )
    numbers = SearchNumbers(**defaults)
    return {name: getattr(numbers, name) for name in defaults}
