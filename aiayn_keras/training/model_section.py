"""The section of a recipe on the architecture: its fields are the options of the backbone."""

from typing import Annotated, Literal

import keras
import pydantic
from pydantic import AfterValidator, Field

from aiayn_keras.models import TRANSFORMER_PRESETS, TransformerBackbone
from aiayn_keras.models.architecture import INTEGERS
from aiayn_keras.models.backbone_defaults import BACKBONE_DEFAULTS
from aiayn_keras.training.recipe_limits import Share, count
from aiayn_keras.training.recipe_sections import Section

DEFAULT_PRESET = "transformer_base"


class _ModelBase(Section):
    """The architecture: a preset and the options of `TransformerBackbone` that differ from it.

    Or the model that the training begins with (fine-tuning), which has sizes of its own.

    Attributes:
        preset: A key of `TransformerBackbone.presets`; `transformer_base` if not given.
        initial: Model folder to begin with, instead of random weights.
        lora_rank: If given, the weights of `initial` stay, and adapters of this rank are trained
            beside them; see `aiayn_keras.training.adapters`.
    """

    preset: Literal[tuple(TRANSFORMER_PRESETS)] | None = None
    initial: Annotated[str, Field(min_length=1)] | None = None
    lora_rank: count(INTEGERS["hidden_dim"][1]) | None = None

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
        if self.initial is None and self.lora_rank is not None:
            raise ValueError("`lora_rank` needs `initial`, the model that is adapted")
        return self

    @property
    def given_options(self):
        """The options of the `TransformerBackbone` that the recipe gives."""
        return self.model_dump(exclude=set(_ModelBase.model_fields), exclude_none=True)

    @property
    def options(self):
        """All options of a new `TransformerBackbone`: its defaults, the preset's, the recipe's."""
        preset = TRANSFORMER_PRESETS[self.preset]["config"]
        return {**BACKBONE_DEFAULTS, **preset, **self.given_options}

    def count_parameters(self, vocabulary_size):
        """Numbers of the model that take memory, those of its tables of positions included."""
        sizes = self.options
        D, heads, F = (sizes[name] for name in ("hidden_dim", "num_heads", "intermediate_dim"))
        head_dims = [sizes[name] or D // heads for name in ("key_dim", "value_dim")]
        attention, feed_forward = 2 * D * heads * sum(head_dims), 2 * D * F
        embeddings = D * (vocabulary_size + 2 * sizes["max_sequence_length"])
        # A layer of the encoder has one attention, a layer of the decoder two.
        return embeddings + sizes["num_layers"] * (3 * attention + 2 * feed_forward)

    def build(self, vocabulary_size, dtype):
        """Makes the `TransformerBackbone`, with random weights."""
        return TransformerBackbone(vocabulary_size, dtype=dtype, **self.options)


def _known_activation(name):
    keras.activations.get(name)
    return name


_TYPE_OF_OPTION = {
    **{name: count(most, least) for name, (least, most) in INTEGERS.items()},
    "activation": Annotated[str, AfterValidator(_known_activation)],
    "position_embedding": Literal["sinusoidal", "learned"],
}
_TYPE_OF_DEFAULT = {bool: bool, float: Share}


def _type_of_option(name):
    return _TYPE_OF_OPTION.get(name) or _TYPE_OF_DEFAULT[type(BACKBONE_DEFAULTS[name])]


ModelSection = pydantic.create_model(
    "ModelSection",
    __base__=_ModelBase,
    **{name: (_type_of_option(name) | None, None) for name in BACKBONE_DEFAULTS},
)
