"""The section `evaluation` of a recipe: how validation and test text are translated and scored."""

import dataclasses
from typing import Annotated, Any, ClassVar

import pydantic
from pydantic import Field

from aiayn_keras.decoding.search_options import SearchOptions
from aiayn_keras.decoding.translation_search import AUTO, ENGINES, KERAS
from aiayn_keras.training.recipe_sections import Section, number_within
from aiayn_keras.training.translation_scores import check_bleu_tokenizer

_NO_SEARCH_OPTIONS = "bleu_tokenizer", "lowercase", "engine"


def _type_of_search_option(field):
    """Makes the type of a field of `SearchOptions` from the limits in its metadata."""
    if field.name == "constraint":  # in a recipe, a name or a dictionary
        return str | dict[str, Any] | None
    bounds = {"ge": field.metadata["minimum"], "le": field.metadata.get("maximum")}
    if field.type is float:
        return number_within(**bounds)
    return Annotated[field.type, Field(strict=True, **bounds)]


class _EvaluationBase(Section):
    """The search for translations (paper 6.1), with the fields of `SearchOptions`, and their BLEU.

    Attributes:
        bleu_tokenizer: sacreBLEU's tokenizer; `"none"` for tokenized text.
        lowercase: Whether BLEU ignores case.
        engine: Engine that searches, as in `TransformerSeq2SeqLM.translate`.
    """

    changeable: ClassVar = (
        *_NO_SEARCH_OPTIONS,
        *(field.name for field in dataclasses.fields(SearchOptions)),
    )

    bleu_tokenizer: str = "13a"
    lowercase: bool = False
    engine: str = AUTO

    @pydantic.field_validator("bleu_tokenizer")
    @classmethod
    def _known(cls, name):
        return check_bleu_tokenizer(name)

    @pydantic.field_validator("engine")
    @classmethod
    def _known_engine(cls, name):
        names = [AUTO, KERAS, *ENGINES]
        if name not in names:
            raise ValueError(f"give one of {', '.join(names)}")
        return name

    def search_options(self):
        """Makes the `SearchOptions`, which refuse options that conflict."""
        return SearchOptions(**self.model_dump(exclude=set(_NO_SEARCH_OPTIONS)))

    @pydantic.model_validator(mode="after")
    def _searchable(self):
        self.search_options()
        return self


EvaluationSection = pydantic.create_model(
    "EvaluationSection",
    __base__=_EvaluationBase,
    **{
        field.name: (_type_of_search_option(field), field.default)
        for field in dataclasses.fields(SearchOptions)
        if field.name != "num_return_sequences"
    },
)
