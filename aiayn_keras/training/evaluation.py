"""The result of a training: its model's scores on the test sentences, as a file beside it."""

from typing import Annotated

import pydantic
from pydantic import Field

from aiayn_keras.files import read_bytes, write_text
from aiayn_keras.schemas import parse

MOST_BYTES = 1 << 16

Text = Annotated[str, Field(max_length=500)]


class Evaluation(pydantic.BaseModel):
    """The content of `evaluation.json`, which is written when a training is finished.

    Attributes:
        test: Name of the test sentences.
        sentences: Their number.
        bleu: BLEU, 0 to 100.
        details: N-gram precisions, brevity penalty and lengths, as sacreBLEU prints them.
        signature: sacreBLEU's signature.
        chrf: chrF2, 0 to 100, if it was measured.
        chrf_signature: sacreBLEU's signature of it.
    """

    model_config = pydantic.ConfigDict(extra="forbid", strict=True)

    test: Text
    sentences: Annotated[int, Field(ge=1)]
    bleu: Annotated[float, Field(ge=0.0, le=100.1, allow_inf_nan=False)]
    details: Text
    signature: Text
    chrf: Annotated[float, Field(ge=0.0, le=100.1, allow_inf_nan=False)] | None = None
    chrf_signature: Text | None = None

    def write(self, path):
        """Writes the file, whole or not at all."""
        write_text(path, self.model_dump_json(indent=1))

    def __str__(self):
        chrf = "" if self.chrf is None else f"; chrF2 {self.chrf:.2f} ({self.chrf_signature})"
        test = f"{self.sentences} sentences of {self.test}"
        return f"{self.bleu:.2f} on {test} ({self.signature}){chrf}"


def read_evaluation(path):
    """Reads an `Evaluation`.

    Raises:
        OSError: If there is no such regular file.
        ValueError: If it is not what a training writes, with the field.
    """
    remedy = "It is no result of a training."
    return parse(Evaluation, read_bytes(path, MOST_BYTES), path, remedy)
