"""The sections of a recipe whose fields are the options of other parts: `model` and `evaluation`.

`model` is a preset with what differs from it, or a model to begin with; `evaluation` says how
validation and test text are translated and scored.
"""

import dataclasses
from typing import Annotated, Any, ClassVar, Literal

import keras
import pydantic
from pydantic import AfterValidator, Field

from aiayn_keras.common.own_modules import import_own_module
from aiayn_keras.decoding.search_options import SearchOptions
from aiayn_keras.decoding.translation_search import AUTO, ENGINES, KERAS
from aiayn_keras.models import TRANSFORMER_PRESETS, TransformerBackbone
from aiayn_keras.models.architecture import (
    DEPTHS,
    INTEGERS,
    check_architecture,
    count_weights,
    with_changes,
)
from aiayn_keras.models.transformer_backbone import BACKBONE_DEFAULTS
from aiayn_keras.training.recipe_sections import Section, Share, integer_within, number_within
from aiayn_keras.training.translation_scores import check_bleu_tokenizer

DEFAULT_PRESET = "transformer_base"
_TYPE_OF_DEFAULT = {bool: bool, float: Share}
_NO_SEARCH_OPTIONS = "bleu_tokenizer", "lowercase", "engine"


class _ModelBase(Section):
    """The architecture: a preset, and the options of `TransformerBackbone` that differ from it.

    In a fine-tuning, it is the model that the training begins with, which determines the sizes.

    Attributes:
        preset: A key of `TransformerBackbone.presets`; `transformer_base` if not given.
        class: Class derived from `TransformerBackbone` in a module of your own, as
            `"my_parts:MyBackbone"`. The training imports the module. Arguments that only this class
            has keep their defaults.
        initial: Model folder to begin with, instead of random weights.
        lora_rank: If given, the weights of `initial` are frozen, and adapters of this rank are
            trained beside them; see `aiayn_keras.training.adapters`.
    """

    changeable: ClassVar = ("initial",)  # its place; digests of the model are compared

    preset: Literal[tuple(TRANSFORMER_PRESETS)] | None = None
    initial: Annotated[str, Field(min_length=1)] | None = None
    lora_rank: integer_within(INTEGERS["hidden_dim"][1]) | None = None

    @pydantic.model_validator(mode="before")
    @classmethod
    def _fill_in_preset(cls, fields):
        if not isinstance(fields, dict) or fields.get("initial") is not None:
            return fields
        return {**fields, "preset": fields.get("preset") or DEFAULT_PRESET}

    @pydantic.model_validator(mode="after")
    def _preset_or_initial(self):
        if self.initial is not None and self.preset is not None:
            raise ValueError(
                f"leave out `preset`={self.preset}: the sizes are those of `initial`={self.initial}"
            )
        if self.initial is not None and self.class_name is not None:
            raise ValueError(
                f"leave out `class`={self.class_name}: it is that of `initial`={self.initial}"
            )
        if self.initial is None and self.lora_rank is not None:
            raise ValueError("`lora_rank` needs `initial`, the model that is adapted")
        return self

    @pydantic.model_validator(mode="after")
    def _depths_decide(self):
        given = {name: getattr(self, name) for name in ("num_layers", *DEPTHS)}
        if None not in given.values():
            raise ValueError(
                "`num_layers`={} has no effect beside `num_encoder_layers`={} and "
                "`num_decoder_layers`={}: leave one of them out".format(*given.values())
            )
        return self

    @property
    def class_name(self):
        """The field `class`, whose name is a keyword of Python."""
        return getattr(self, "class")

    @property
    def backbone_class(self):
        """The class of a new model, imported if it is one of the user's own.

        Raises:
            ImportError: If its module cannot be imported.
            ValueError: If it is not a registered class derived from `TransformerBackbone`.
        """
        if self.class_name is None:
            return TransformerBackbone
        module, _, name = self.class_name.partition(":")
        cls = getattr(import_own_module(module), name, None)
        if not (isinstance(cls, type) and issubclass(cls, TransformerBackbone)):
            raise ValueError(
                f"`model.class`={self.class_name} must be a class derived from "
                f"`TransformerBackbone`. Received: {cls!r}."
            )
        if keras.saving.get_registered_object(keras.saving.get_registered_name(cls)) is not cls:
            raise ValueError(
                f"`model.class`={self.class_name} is not registered, so no model folder could name "
                'it: put `@keras.saving.register_keras_serializable(package="mine")` before it.'
            )
        return cls

    @property
    def given_options(self):
        """Options of the `TransformerBackbone` that the recipe gives."""
        return self.model_dump(exclude={*_ModelBase.model_fields, "class"}, exclude_none=True)

    @property
    def options(self):
        """All options of a new `TransformerBackbone`: its defaults, the preset's, the recipe's."""
        preset = TRANSFORMER_PRESETS[self.preset]["config"]
        return with_changes({**BACKBONE_DEFAULTS, **preset}, self.given_options)

    def count_weights(self, vocabulary_size):
        """Counts the weights of a new model and the numbers in its two tables of positions.

        Args:
            vocabulary_size: Number of tokens.

        Raises:
            ValueError: If the sizes contradict each other.
        """
        sizes = {name: value for name, value in self.options.items() if name != "activation"}
        options = check_architecture(**sizes, vocabulary_size=vocabulary_size)
        positions = 2 * options["max_sequence_length"] * options["hidden_dim"]
        return count_weights(options) + positions

    def build(self, vocabulary_size, dtype):
        """Makes the `TransformerBackbone`, or one of `class`, with random weights."""
        return self.backbone_class(vocabulary_size, dtype=dtype, **self.options)


def _known_activation(name):
    keras.activations.get(name)
    return name


_TYPE_OF_OPTION = {
    **{name: integer_within(maximum, minimum) for name, (minimum, maximum) in INTEGERS.items()},
    "activation": Annotated[str, AfterValidator(_known_activation)],
    "position_embedding": Literal["sinusoidal", "learned"],
}


def _type_of_option(name):
    return _TYPE_OF_OPTION.get(name) or _TYPE_OF_DEFAULT[type(BACKBONE_DEFAULTS[name])]


ModelSection = pydantic.create_model(
    "ModelSection",
    __base__=_ModelBase,
    **{"class": (Annotated[str, Field(pattern=r"^[\w.]+:\w+$")] | None, None)},
    **{name: (_type_of_option(name) | None, None) for name in BACKBONE_DEFAULTS},
)


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
