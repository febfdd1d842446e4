"""The options fixed in a served graph, and the notes that record them in each version."""

import dataclasses
import json
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pydantic
from pydantic import Field

from aiayn_keras.decoding.constraints import CONSTRAINTS
from aiayn_keras.decoding.search_options import SearchOptions, fill_in
from aiayn_keras_light.checks import parse
from aiayn_keras_light.files import read_bytes
from aiayn_keras_light.search_numbers import MAX_TOKENS, number_option

VERSION_FILE = "assets.extra/export.json"
"""Path of the notes in a version's folder."""


_LONG_TEXTS = ("truncate", "error")


@dataclass(frozen=True)
class ServingOptions(SearchOptions):
    """Options of a served search, and the treatment of text that is too long.

    Those of the search are `SearchOptions`'; `num_return_sequences` is that of `translate_nbest`.

    Attributes:
        max_input_length: Maximum number of wordpieces in a text, without the end token.
        long_text: Treatment of a longer text: `"truncate"` translates its first `max_input_length`
            wordpieces, `"error"` refuses the whole request (INVALID_ARGUMENT) and names its rows.
        documents: Whether there is the signature `translate_document`, which splits texts of any
            length into sentences. It makes the graph larger, and loading it slower.
    """

    max_input_length: int | None = number_option(None, 1, MAX_TOKENS)
    long_text: str = "truncate"
    documents: bool = False


def make_serving_options(max_sequence_length, search_defaults=None, **options):
    """Fills in defaults, and checks the values that the search does not check itself.

    Args:
        max_sequence_length: Number of positions of the model.
        search_defaults: The model's own defaults of the search, see `check_search_defaults`.
        **options: Fields of `ServingOptions`. Without `num_return_sequences` it is `num_beams`;
            without `max_input_length` it is one less than the model's positions, the last of
            which is for the end token.

    Returns:
        `ServingOptions`.

    Raises:
        ValueError: For numbers out of range, an unknown `long_text`, or a constraint that has no
            name.
        TypeError: For an unknown option, or one whose type differs from its default's.
    """
    given = fill_in(search_defaults or {}, options)
    num_beams = given.get("num_beams", SearchOptions.num_beams)
    defaults = {"num_return_sequences": num_beams, "max_input_length": max_sequence_length - 1}
    options = ServingOptions(**{**defaults, **given})
    if options.max_input_length >= max_sequence_length:
        raise ValueError(
            f"`max_input_length` must be at least 1 and less than the {max_sequence_length} "
            f"positions of the model. Received: max_input_length={options.max_input_length}."
        )
    _check_values(options)
    if options.constraint is not None and type(options.constraint) not in CONSTRAINTS.values():
        raise ValueError(
            f"`constraint` must be one of {', '.join(CONSTRAINTS)} for an export, whose notes hold "
            f"it. Received: constraint={options.constraint!r:.60}."
        )
    return options


def _check_values(options):
    """Checks the fields that `SearchOptions` does not check."""
    if not isinstance(options.long_text, str) or options.long_text not in _LONG_TEXTS:
        raise ValueError(
            '`long_text` must be "truncate" or "error". '
            f"Received: long_text={options.long_text!r:.60}."
        )
    if not isinstance(options.documents, bool):
        raise TypeError(f"`documents` must be True or False. Received: {options.documents!r:.60}.")


def longest_whole_text(tokenizer, options):
    """Number of tokens up to which a graph translates a text as one piece; None for any number.

    Texts longer than those that the model has learned to read are translated by sentence, as by
    `translate`, but not under a constraint, which every sentence would keep and the text would not.

    Args:
        tokenizer: A `TransformerTokenizer`.
        options: `ServingOptions`.
    """
    return tokenizer.learned_length if options.constraint is None else None


MAX_NOTES_BYTES = 1 << 26
"""Maximum size of the notes; the largest automaton of a constraint has 38 MB."""

Text = Annotated[str, Field(max_length=2000)]


class VersionNotes(pydantic.BaseModel):
    """The notes of `export_saved_model`.

    Attributes:
        options: The fields of `ServingOptions`.
        precision: Number format of the arithmetic.
        weights: Number format of a float32 model's matrices in the files.
        source_end: Whether the encoder reads an end token after a source.
        longest_whole_text: Number of tokens, the end token included, above which a text is
            translated sentence by sentence; None if each is translated as one piece.
        tensorflow: Version of TensorFlow that wrote the graph.
        load_seconds: Time in which the machine of the export loaded and warmed up the version; None
            if it was not measured.
        card: Facts for the model card.
    """

    model_config = pydantic.ConfigDict(extra="forbid", strict=True)

    options: dict[str, Any]
    precision: Literal["float32", "bfloat16", "float16"]
    weights: Literal["float32", "float16"] = "float32"
    source_end: bool = True
    longest_whole_text: int | None = Field(default=None, ge=1, le=MAX_TOKENS)
    tensorflow: Text
    load_seconds: float | None = Field(default=None, ge=0, le=86_400)
    card: dict[Text, Text]

    @pydantic.field_validator("options")
    @classmethod
    def _known(cls, options):
        try:
            known = ServingOptions(**options)
            _check_values(known)
        except TypeError as error:
            raise ValueError(str(error)) from None
        if known.max_input_length is None:
            raise ValueError("`max_input_length` is missing")
        return dataclasses.asdict(known)

    def to_json(self):
        """The notes as the text of their file."""
        return json.dumps(self.model_dump())


def read_notes(path):
    """Reads the notes of a version.

    Raises:
        OSError: If the file is missing or not a regular file.
        ValueError: If it is not what the export writes, with the field.
    """
    remedy = "Export into another folder, or move that version away."
    return parse(VersionNotes, read_bytes(path, MAX_NOTES_BYTES), path, remedy)
