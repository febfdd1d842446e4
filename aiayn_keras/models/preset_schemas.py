"""Schemas of a preset's JSON files: any other field, type or class is refused."""

import json
import re
from typing import Annotated, Any, Literal

import pydantic
from pydantic import Field

from aiayn_keras.models.architecture import INTEGERS

TASK_CLASS = "aiayn_keras>TransformerSeq2SeqLM"
BACKBONE_CLASS = "aiayn_keras>TransformerBackbone"

PLAIN_POLICIES = {"DTypePolicy", "DTypePolicyMap"}
"""Keras' dtype policy classes that quantize nothing by themselves."""

Name = Annotated[str, Field(max_length=200)]
Length = Annotated[int, Field(ge=1, le=INTEGERS["max_sequence_length"][1])]


class Schema(pydantic.BaseModel):
    """Base of the schemas: refuses unknown fields, and converts nothing."""

    model_config = pydantic.ConfigDict(extra="forbid", strict=True)


class PolicyName(Schema):
    """The configuration of a simple dtype policy."""

    name: Annotated[str, Field(pattern="^[a-z0-9_]{1,40}$")]


class Policy(Schema):
    """A dtype policy of Keras."""

    module: Literal["keras", "keras.dtype_policies"]
    class_name: Literal["DTypePolicy"]
    config: PolicyName
    registered_name: None


class QuantizedPolicy(Schema):
    """A dtype policy of Keras for quantized layers, or a map from layers to policies."""

    module: Literal["keras", "keras.dtype_policies"]
    class_name: Literal["DTypePolicyMap", "QuantizedDTypePolicy", "QuantizedFloat8DTypePolicy"]
    config: dict[Name, Any]
    registered_name: None


def is_quantized(dtype):
    """True if a layer's `dtype` field holds a policy that quantizes weights, alone or in a map.

    Args:
        dtype: The field's JSON value.
    """
    kinds = re.findall('"class_name": "(.*?)"', json.dumps(dtype))
    return not PLAIN_POLICIES.issuperset(kinds)


class LayerConfig(Schema):
    """Fields that all layers have."""

    name: Name
    trainable: bool = True
    dtype: Policy | QuantizedPolicy | None = None


class KerasObject(Schema):
    """A serialized Keras object."""

    module: Name


class Backbone(KerasObject):
    """A `TransformerBackbone`, the content of `config.json`."""

    class_name: Literal["TransformerBackbone"]
    registered_name: Literal[BACKBONE_CLASS]
    config: dict[str, Any]


class TokenizerConfig(LayerConfig):
    """The configuration of a tokenizer, whose vocabulary is a file beside it."""

    config_file: Literal["tokenizer.json"]
    proto: None
    sequence_length: None
    add_bos: Literal[False]
    add_eos: Literal[False]
    source_end: bool = True
    separate_target: bool = False


class Tokenizer(KerasObject):
    """A `TransformerTokenizer`, the content of `tokenizer.json`."""

    class_name: Literal["TransformerTokenizer"]
    registered_name: Literal["aiayn_keras>TransformerTokenizer"]
    config: TokenizerConfig


class PreprocessorConfig(LayerConfig):
    """The configuration of a preprocessor."""

    config_file: Literal["preprocessor.json"]
    tokenizer: Tokenizer
    encoder_sequence_length: Length
    decoder_sequence_length: Length


class Preprocessor(KerasObject):
    """A `TransformerSeq2SeqLMPreprocessor`, the content of `preprocessor.json`."""

    class_name: Literal["TransformerSeq2SeqLMPreprocessor"]
    registered_name: Literal["aiayn_keras>TransformerSeq2SeqLMPreprocessor"]
    config: PreprocessorConfig


class TaskConfig(LayerConfig):
    """The configuration of a model."""

    backbone: Backbone
    preprocessor: Preprocessor | None


class Task(KerasObject):
    """A `TransformerSeq2SeqLM`, the content of `task.json`."""

    class_name: Literal["TransformerSeq2SeqLM"]
    registered_name: Literal[TASK_CLASS]
    config: TaskConfig


class Metadata(Schema):
    """The content of `metadata.json`."""

    keras_version: Name
    keras_hub_version: Name
    parameter_count: Annotated[int, Field(ge=0)]
    date_saved: Name
    tasks: list[Name] = []
