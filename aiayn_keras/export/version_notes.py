"""The notes on a version of a served model, kept with it for the model card."""

import dataclasses
import json
from typing import Annotated, Any, Literal

import pydantic
from pydantic import Field

from aiayn_keras.export.serving_options import ServingOptions
from aiayn_keras.files import read_bytes
from aiayn_keras.schemas import parse

VERSION_FILE = "assets.extra/export.json"
"""Path of the notes in a version's folder."""

MOST_BYTES = 1 << 26
"""Greatest size of the notes; the largest automaton of a constraint has 38 MB."""

Text = Annotated[str, Field(max_length=2000)]


class VersionNotes(pydantic.BaseModel):
    """The notes of `export_saved_model`.

    Attributes:
        options: The fields of `ServingOptions`.
        precision: Number format of the arithmetic.
        weights: Number format of a float32 model's matrices in the files.
        source_end: Whether the encoder reads an end token behind a source.
        tensorflow: Version of TensorFlow that wrote the graph.
        card: Facts for the model card.
    """

    model_config = pydantic.ConfigDict(extra="forbid", strict=True)

    options: dict[str, Any]
    precision: Literal["float32", "bfloat16", "float16"]
    weights: Literal["float32", "float16"] = "float32"
    source_end: bool = True
    tensorflow: Text
    card: dict[Text, Text]

    @pydantic.field_validator("options")
    @classmethod
    def _known(cls, options):
        try:
            return dataclasses.asdict(ServingOptions(**options))
        except TypeError as error:
            raise ValueError(str(error)) from None

    def to_json(self):
        """The notes as the text of their file."""
        return json.dumps(self.model_dump())


def read_notes(path):
    """Reads the notes of a version.

    Raises:
        OSError: If there is no such regular file.
        ValueError: If it is not what the export writes, with the field.
    """
    remedy = "Export into another folder, or move that version away."
    return parse(VersionNotes, read_bytes(path, MOST_BYTES), path, remedy)
