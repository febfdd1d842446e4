"""Checkpoints of fairseq: its settings and its tensors, without fairseq and without PyTorch."""

from typing import Literal

import pydantic

from aiayn_keras.common.checks import parse
from aiayn_keras.convert.inert_pickle import StandIn
from aiayn_keras.convert.torch_file import read_torch, tensors_of

MAX_POSITIONS = 1 << 15

NO_MODEL = "Only `transformer` models of fairseq can be converted."

ACTIVATIONS = {
    "relu": "relu",
    "gelu": "gelu",
    "swish": "silu",
    "tanh": "tanh",
    "linear": "linear",
}
"""fairseq's names and Keras'; its `gelu_fast` and `gelu_accurate` are approximations."""


class Settings(pydantic.BaseModel):
    """The settings that matter of the many of a training; the defaults are fairseq's."""

    arch: str = pydantic.Field(default="transformer", pattern="transformer")
    encoder_attention_heads: int = pydantic.Field(gt=0, le=1 << 12)
    decoder_attention_heads: int = pydantic.Field(gt=0, le=1 << 12)
    encoder_normalize_before: bool = False
    decoder_normalize_before: bool = False
    activation_fn: Literal[tuple(ACTIVATIONS)] = "relu"
    max_source_positions: int = pydantic.Field(default=1024, gt=0, le=MAX_POSITIONS)
    max_target_positions: int = pydantic.Field(default=1024, gt=0, le=MAX_POSITIONS)
    dropout: float = pydantic.Field(default=0.1, ge=0, lt=1)
    attention_dropout: float = pydantic.Field(default=0.0, ge=0, lt=1)
    activation_dropout: float = pydantic.Field(default=0.0, ge=0, lt=1)
    no_scale_embedding: bool = False
    no_token_positional_embeddings: Literal[False] = False
    layernorm_embedding: Literal[False] = False
    no_cross_attention: Literal[False] = False
    cross_self_attention: Literal[False] = False
    adaptive_input: Literal[False] = False
    adaptive_softmax_cutoff: None = None

    @pydantic.model_validator(mode="after")
    def _has_equal_sides(self):
        for name in ("attention_heads", "normalize_before"):
            encoder, decoder = (getattr(self, f"{side}_{name}") for side in ("encoder", "decoder"))
            if encoder != decoder:
                raise ValueError(f"`encoder_{name}` is {encoder}, but `decoder_{name}` {decoder}")
        return self


def read_checkpoint(path):
    """Reads a checkpoint of fairseq, of which only `args` or `cfg` and `model` are looked at.

    Args:
        path: The file, such as `model.pt`.

    Returns:
        `Settings`, and a dictionary from names to float32 arrays.

    Raises:
        OSError: If there is no such regular file.
        ValueError: If it is damaged, or is no checkpoint of a `transformer`; with its name.
    """
    found = {}

    def choose(content):
        if not isinstance(content, dict) or "model" not in content:
            raise ValueError("it has no `model`: it is no checkpoint of fairseq")
        found["settings"] = _settings_of(content)
        return tensors_of(content["model"])

    arrays = read_torch(path, choose)
    return parse(Settings, found["settings"], f"{path}, settings", NO_MODEL), arrays


def _settings_of(content):
    """The settings of the model: those of newer versions are a dictionary in `cfg`."""
    settings = _as_dictionary(content.get("args"))
    if settings is None:
        settings = _as_dictionary(content.get("cfg"))
        settings = None if settings is None else _as_dictionary(settings.get("model"))
    if settings is None:
        raise ValueError("it has neither `args` nor `cfg`: it is no checkpoint of fairseq")
    return {name: value for name, value in settings.items() if name in Settings.model_fields}


def _as_dictionary(value):
    """A dictionary, or the attributes of an `argparse.Namespace`; None for anything else."""
    if isinstance(value, StandIn) and value.class_name == "argparse.Namespace":
        value = value.state
    return value if isinstance(value, dict) else None
