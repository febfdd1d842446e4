"""A model folder: the files of a KerasHub preset, their schemas, and a list of checksums.

Everything is checked before anything is built from it, and written so that the folder is complete.
"""

import contextlib
import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import keras
import pydantic
from pydantic import Field

from aiayn_keras.common.file_addresses import download, is_hub_address
from aiayn_keras.models.architecture import (
    INTEGERS,
    LATER_OPTIONS,
    OPTIONS,
    check_architecture,
    check_model_arguments,
    count_weights,
)
from aiayn_keras_light.checks import parse
from aiayn_keras_light.files import (
    CHECKSUMS,
    check_checksums,
    check_regular_file,
    read_bytes,
)
from aiayn_keras_light.search_numbers import SEARCH_FILE, read_search_defaults

CONFIG = "config.json"
TASK = "task.json"
_PREPROCESSOR = "preprocessor.json"
TOKENIZER = "tokenizer.json"
METADATA = "metadata.json"
WEIGHTS = "model.weights.h5"
_TASK_WEIGHTS = "task.weights.h5"  # KerasHub's
VOCAB_FILENAME = "vocabulary.spm"  # KerasHub's
TARGET_VOCAB_FILENAME = "target_vocabulary.spm"

_NO_MODEL = "It is not a file of a model."

_MIN_BYTES_PER_WEIGHT = 0.5
"""Weights quantized to four bits."""


TASK_CLASS = "aiayn_keras>TransformerSeq2SeqLM"
BACKBONE_CLASS = "aiayn_keras>TransformerBackbone"

_PLAIN_POLICIES = {"DTypePolicy", "DTypePolicyMap"}
"""Keras' dtype policy classes that quantize nothing by themselves."""

Name = Annotated[str, Field(max_length=200)]
Length = Annotated[int, Field(ge=1, le=INTEGERS["max_sequence_length"][1])]


class _Schema(pydantic.BaseModel):
    """Base of the schemas: refuses unknown fields, and converts nothing."""

    model_config = pydantic.ConfigDict(extra="forbid", strict=True)


class _PolicyName(_Schema):
    """The configuration of a simple dtype policy."""

    name: Annotated[str, Field(pattern="^[a-z0-9_]{1,40}$")]


class Policy(_Schema):
    """A dtype policy of Keras."""

    module: Literal["keras", "keras.dtype_policies"]
    class_name: Literal["DTypePolicy"]
    config: _PolicyName
    registered_name: None


class _QuantizedPolicy(_Schema):
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
    return not _PLAIN_POLICIES.issuperset(kinds)


class _LayerConfig(_Schema):
    """Fields that all layers have."""

    name: Name
    trainable: bool = True
    dtype: Policy | _QuantizedPolicy | None = None


class _KerasObject(_Schema):
    """A serialized Keras object."""

    module: Name | None  # None for a class of a program or a notebook, which `class_name` names


class _ObjectOfClass(_Schema):
    """A serialized object of a registered class that is `base` or derived from it."""

    module: Name | None  # None in a notebook's cell, for instance
    class_name: Name
    registered_name: Name
    base: ClassVar[str]

    def check_class(self, path):
        """Raises a `ValueError` for a wrong class. Names in files are never imported."""
        name = self.registered_name
        cls = keras.saving.get_registered_object(name)
        if cls is None:
            raise ValueError(
                f"{path}, field `registered_name`: no class is registered as {name!r}. "
                "Register a class of your own with `keras.saving.register_keras_serializable`, and "
                "import its module before the folder is loaded. "
                f"The file names the module {self.module!r}."
            )
        bases = [keras.saving.get_registered_name(each) for each in getattr(cls, "__mro__", ())]
        if self.base not in bases:
            raise ValueError(
                f"{path}: `registered_name` must be {self.base!r} or that of a class derived from "
                f"it. Received: {name!r}."
            )
        if self.class_name != cls.__name__:
            raise ValueError(
                f"{path}: `class_name` must be {cls.__name__!r}. Received: {self.class_name!r}."
            )


class Backbone(_ObjectOfClass):
    """A `TransformerBackbone`, the content of `config.json`."""

    base = BACKBONE_CLASS
    config: dict[str, Any]

    @property
    def is_ours(self):
        """True if it is the class itself, and not one derived from it."""
        return self.registered_name == BACKBONE_CLASS


class _TokenizerConfig(_LayerConfig):
    """The configuration of a tokenizer, whose vocabulary is a file beside it."""

    config_file: Literal["tokenizer.json"]
    proto: None
    sequence_length: None
    add_bos: Literal[False]
    add_eos: Literal[False]
    source_end: bool = True
    copy_without_letters: bool = False
    learned_length: Length | None = None
    separate_target: bool = False


class Tokenizer(_KerasObject):
    """A `TransformerTokenizer`, the content of `tokenizer.json`."""

    class_name: Literal["TransformerTokenizer"]
    registered_name: Literal["aiayn_keras>TransformerTokenizer"]
    config: _TokenizerConfig


class _PreprocessorConfig(_LayerConfig):
    """The configuration of a preprocessor."""

    config_file: Literal["preprocessor.json"]
    tokenizer: Tokenizer
    encoder_sequence_length: Length
    decoder_sequence_length: Length


class Preprocessor(_KerasObject):
    """A `TransformerSeq2SeqLMPreprocessor`, the content of `preprocessor.json`."""

    class_name: Literal["TransformerSeq2SeqLMPreprocessor"]
    registered_name: Literal["aiayn_keras>TransformerSeq2SeqLMPreprocessor"]
    config: _PreprocessorConfig


class _TaskConfig(_LayerConfig):
    """The configuration of a model."""

    backbone: Backbone
    preprocessor: Preprocessor | None


class Task(_ObjectOfClass):
    """A `TransformerSeq2SeqLM`, the content of `task.json`."""

    base = TASK_CLASS
    config: _TaskConfig


class _Metadata(_Schema):
    """The content of `metadata.json`."""

    keras_version: Name
    keras_hub_version: Name
    parameter_count: Annotated[int, Field(ge=0)]
    date_saved: Name
    tasks: list[Name] = []


OF_BACKBONE = CONFIG, WEIGHTS
OF_TASK = *OF_BACKBONE, TASK
_WITH_PREPROCESSOR = (
    *(_PREPROCESSOR, TOKENIZER),
    *(f"assets/tokenizer/{name}" for name in (VOCAB_FILENAME, TARGET_VOCAB_FILENAME)),
)


def find_preset(preset, names):
    """Path of a preset's folder; an address is downloaded, or found in the cache.

    Args:
        preset: Path, name or address.
        names: Files that a preset must have.

    Raises:
        OSError: If a file is missing at an address, or the hub cannot be reached.
    """
    if not is_hub_address(preset):
        return str(preset)
    optional = METADATA, *_WITH_PREPROCESSOR, CHECKSUMS, SEARCH_FILE
    return str(download(str(preset), names, optional=optional))


MAX_JSON_BYTES = 1 << 20


@contextlib.contextmanager
def checking_checksums(folder):
    """Checks a folder's files while the block reads them, since both take about the same time.

    Raises:
        ValueError: If a file differs from what was written; this takes precedence over the block's
            own errors.
    """
    with ThreadPoolExecutor(1) as pool:
        checksums = pool.submit(check_checksums, folder)
        try:
            yield
        finally:
            checksums.result()


def check_model_folder(folder):
    """Checks the files of a model folder as far as possible without building the model.

    Args:
        folder: Path of the folder.

    Returns:
        The options of its backbone, checked, as a dictionary.

    Raises:
        OSError: If a file is missing, or is a pipe, a device or a folder.
        ValueError: If a file is not what `TransformerSeq2SeqLM.save_to_preset` writes, with its
            name and the field; or if the training in the folder is not finished.
    """
    folder = Path(folder)
    _check_is_finished(folder)
    backbone, options = _read_backbone(folder)
    task = _read(folder / TASK, Task)
    task.check_class(folder / TASK)
    task = task.config
    task.backbone.check_class(folder / TASK)
    if task.preprocessor is not None:
        _read(folder / _PREPROCESSOR, Preprocessor)
        _read(folder / TOKENIZER, Tokenizer)
    if (folder / METADATA).exists():
        _read(folder / METADATA, _Metadata)
    _check_config(folder / TASK, task.backbone)
    if _identity(task.backbone) != _identity(backbone):
        raise ValueError(f"{folder / TASK}: its backbone differs from config.json.")
    _check_room(folder, backbone, options)
    return options


def check_backbone_folder(folder, has_weights=True):
    """Checks a folder's `config.json` and, if weights are wanted, the size of the weight file.

    Args:
        folder: Path of the folder.
        has_weights: Whether the weights are wanted.

    Raises:
        OSError: If a file is missing, or is a pipe, a device or a folder.
        ValueError: If `config.json` is not what `TransformerBackbone.save_to_preset` writes, or
            describes more weights than the file can hold.
    """
    backbone, options = _read_backbone(Path(folder))
    if has_weights:
        _check_room(Path(folder), backbone, options)


def _check_dtype(folder, dtype):
    """Raises a `ValueError` for a `dtype` that differs from a quantized model's own."""
    own = _read(Path(folder) / CONFIG, Backbone).config.get("dtype")
    if dtype is not None and is_quantized(own):
        raise ValueError(
            f"`dtype` must be left out for {folder}, which is quantized: a quantized model keeps "
            f"its own numbers. Received: dtype={getattr(dtype, 'name', dtype)!r}."
        )


def with_dtype(folder, options):
    """Returns options of `from_preset`, with Keras' dtype for a folder in mixed precision.

    KerasHub gives it to all models that are not quantized, but fails at `"mixed_bfloat16"`.
    """
    own = json.loads(read_bytes(Path(folder) / CONFIG, MAX_JSON_BYTES))["config"].get("dtype")
    is_mixed = own is not None and str(own["config"].get("name")).startswith("mixed_")
    needs_dtype = is_mixed and options.get("dtype") is None
    return options | {"dtype": keras.config.dtype_policy()} if needs_dtype else options


def _check_is_finished(folder):
    """Raises a `ValueError` for the folder of an unfinished training."""
    if (folder / "checkpoints").is_dir() and not (folder / "evaluation.json").is_file():
        raise ValueError(
            f"{folder} is not a model folder yet: its training is not finished. Resume it with "
            "`aiayn-keras train`."
        )


def _read(path, schema):
    """The content of a JSON file, checked against its schema."""
    return parse(schema, read_bytes(path, MAX_JSON_BYTES), path, _NO_MODEL)


def _read_backbone(folder):
    """The `Backbone` in a folder, and its checked options."""
    path = folder / CONFIG
    backbone = _read(path, Backbone)
    backbone.check_class(path)
    return backbone, _check_config(path, backbone)


def _check_room(folder, backbone, options):
    """Raises a `ValueError` if the weight file is too small for a backbone with these options."""
    weights = folder / WEIGHTS
    check_regular_file(weights)
    num_bytes = weights.stat().st_size
    if not backbone.is_ours:  # its layers may share weights
        return
    if _MIN_BYTES_PER_WEIGHT * count_weights(options) > num_bytes:
        raise ValueError(
            f"{folder / CONFIG} describes a model of {count_weights(options):,} weights, "
            f"more than the {num_bytes:,} bytes of {WEIGHTS} can hold. Copy the folder again."
        )


def _check_config(path, backbone):
    """The checked options of a `Backbone`; those that a derived class adds are left out."""
    config = backbone.config
    layer = {name: config[name] for name in config if name in _LayerConfig.model_fields}
    options = LATER_OPTIONS | {name: config[name] for name in config if name not in layer}
    missing = [name for name in OPTIONS if name not in options]
    if missing:
        raise ValueError(f"{path}: field `config.{missing[0]}` is missing.")
    parse(_LayerConfig, layer, path, _NO_MODEL)
    activation = options.pop("activation")
    if not isinstance(activation, str):
        raise ValueError(f"{path}: `activation` must be a name. Received: {activation!r:.60}.")
    unknown = sorted(options.keys() - set(OPTIONS))
    if not backbone.is_ours:
        options = {name: options[name] for name in OPTIONS if name in options}
        unknown = []
    try:
        return {**check_architecture(unknown, **options), "activation": activation}
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from None


def _identity(backbone):
    """The class and configuration of a `Backbone` without what may differ in a model's files."""
    config = backbone.config
    sizes = {name: value for name, value in config.items() if name not in ("name", "dtype")}
    return backbone.registered_name, sizes


def load_preset(cls, from_preset, preset, load_weights, **kwargs):
    """Loads a model from a folder, which is checked unless the class is derived from ours.

    Args:
        cls: The model's class.
        from_preset: KerasHub's method, bound to `cls`.
        preset: Path of the folder.
        load_weights: Whether to load the weights.
        **kwargs: As in KerasHub.

    Raises:
        OSError: As `check_model_folder`.
        ValueError: As `check_model_folder`; for a `dtype` with a quantized model; if Keras cannot
            build the model, or would ignore one of the arguments, with the folder's name.
    """
    is_ours = keras.saving.get_registered_name(cls) == TASK_CLASS
    if is_ours:
        check_model_folder(preset)
        _check_dtype(preset, kwargs.get("dtype"))
    try:
        kwargs = with_dtype(preset, kwargs)
        name = json.loads(read_bytes(Path(preset) / CONFIG, MAX_JSON_BYTES))["registered_name"]
        if name == keras.saving.get_registered_name(cls.backbone_cls):
            if is_ours:
                check_model_arguments(kwargs)
            model = from_preset(str(preset), load_weights=load_weights, **kwargs)
        else:
            model = _load_derived(cls, str(preset), load_weights, **kwargs)
    except (ValueError, KeyError, AttributeError, IndexError, TypeError) as error:
        if str(preset) in str(error):
            raise
        reason = " ".join(str(error).split())[:300]
        raise ValueError(f"{preset} cannot be loaded: {reason}") from error
    if model.preprocessor is not None:
        model.preprocessor.check_vocabulary_size(model.backbone.vocabulary_size)
    model.search_defaults = read_search_defaults(preset)
    return model


def _load_derived(cls, preset, load_weights, **kwargs):
    """Loads a model with a backbone of a derived class, for which KerasHub finds no model class."""
    task = json.loads(read_bytes(Path(preset) / TASK, MAX_JSON_BYTES))
    preprocessor = keras.saving.deserialize_keras_object(task["config"]["preprocessor"])
    if preprocessor is not None:
        preprocessor.load_preset_assets(preset)
    backbone = cls.backbone_cls.from_preset(preset, load_weights, **kwargs)
    model = keras.saving.get_registered_object(task["registered_name"])(backbone, preprocessor)
    weights = Path(preset) / _TASK_WEIGHTS
    if load_weights and weights.exists():
        model.load_task_weights(str(weights))
    return model
