"""The model of a recipe: built with random weights, or loaded to be fine-tuned.

A training works with two models: one takes token ids and is trained; the other, the translator,
takes text and is measured and saved.
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import keras
import numpy as np

from aiayn_keras.models import (
    TransformerSeq2SeqLM,
    TransformerSeq2SeqLMPreprocessor,
    text_preprocessor,
)
from aiayn_keras.models.architecture import DEPTHS, RATES
from aiayn_keras.models.model_folder import (
    BACKBONE_CLASS,
    MAX_JSON_BYTES,
    WEIGHTS,
    check_model_folder,
)
from aiayn_keras.models.vocabulary_changes import abilities
from aiayn_keras.training.adapters import (
    add_adapters,
    has_adapters,
    merged_weights,
    save_adapters,
)
from aiayn_keras.training.recipe import RecipeError, check_division
from aiayn_keras_light.files import digest_of_file, read_bytes
from aiayn_keras_light.search_numbers import search_defaults_of

_CONFIG = "config.json"


@dataclass(frozen=True)
class InitialModel:
    """The model in the folder `model.initial` of a recipe.

    Attributes:
        model: The `TransformerSeq2SeqLM`, with its tokenizer.
        weights: SHA-256 of the file with its weights.
        config: SHA-256 of the file with its sizes.
    """

    model: TransformerSeq2SeqLM
    weights: str
    config: str

    @property
    def tokenizer(self):
        """The model's `TransformerTokenizer`."""
        return self.model.preprocessor.tokenizer

    def build(self, section, dtype):
        """Makes a backbone of this class and weights with the rates of a `ModelSection`."""
        backbone = self.model.backbone
        copy = _rebuilt(backbone, **section.given_options, dtype=dtype)
        copy.set_weights(backbone.get_weights())
        return copy


def read_sizes(recipe):
    """Reads the sizes of the model that a recipe describes, without its weights.

    Args:
        recipe: The `Recipe`.

    Returns:
        A dictionary of arguments of `TransformerBackbone`.

    Raises:
        ImportError: If the module of `model.class` cannot be imported.
        OSError: If `model.initial` is not a folder, or lacks a file.
        ValueError: If it does not hold a finished model, or `model.class` cannot be used.
        RecipeError: If the recipe contradicts the sizes of that model.
    """
    section = recipe.model
    if section.initial is None:
        section.backbone_class  # noqa: B018  refused now, and not after hours of preparation
        return section.options
    folder = Path(section.initial)
    reason = None if (folder / "task.json").is_file() else "it has no task.json"
    if not folder.is_dir():
        reason = "it is a file" if folder.exists() else "it does not exist"
    if reason:
        raise FileNotFoundError(
            f"`model.initial`: {folder} is not a model folder: {reason}. `aiayn-keras train` and "
            "`aiayn-keras convert` make model folders."
        )
    sizes = check_model_folder(folder)
    _check_sizes(section, sizes)
    check_division(sizes, recipe.training.model_parallel_size)
    return sizes


def has_own_class(recipe):
    """True if the model is not of this package's class, so that its parts may be anything.

    Args:
        recipe: A `Recipe` that `read_sizes` takes.
    """
    if recipe.model.initial is None:
        return recipe.model.class_name is not None
    config = json.loads(Path(recipe.model.initial, _CONFIG).read_text("utf-8"))
    return config["registered_name"] != BACKBONE_CLASS


def read_initial(recipe):
    """Loads the `InitialModel` of a recipe; returns `None` if it has none.

    Raises:
        OSError: If a file is missing.
        ValueError: If the model is damaged, quantized, or has no tokenizer.
        RecipeError: If the recipe asks for something that this model cannot do.
    """
    section = recipe.model
    if section.initial is None:
        return None
    read_sizes(recipe)
    folder = Path(section.initial)
    model = TransformerSeq2SeqLM.from_preset(str(folder))
    if model.preprocessor is None:
        raise ValueError(f"`model.initial`: {folder} has no tokenizer.")
    if not all(variable.dtype.startswith("float") for variable in model.weights):
        raise ValueError(
            f"`model.initial`: {folder} is quantized: begin with the model that it was made from."
        )
    defaults = model.search_defaults
    model = _with_changed_tokenizer(model, recipe.vocabulary)
    model.search_defaults = defaults
    return InitialModel(
        model, digest_of_file(folder / WEIGHTS), _digest_of_config(folder / _CONFIG)
    )


def _with_changed_tokenizer(model, section):
    """A model that reads text as the given fields of a `TokenizerSection` say.

    Tokens that are added to the vocabulary get random embeddings, as large as those of the others.

    Raises:
        ValueError: If a field would take something from the vocabulary.
    """
    old = tokenizer = model.preprocessor.tokenizer
    given = section.model_fields_set
    for name in sorted(abilities(tokenizer.proto) & given):
        if not getattr(section, name):
            raise ValueError(
                f"`tokenizer.{name}`: the vocabulary of `model.initial` has it, and cannot lose "
                "it: leave the field out. Received: false"
            )
    if "normalization" in given:
        tokenizer = tokenizer.with_normalization(section.normalization)
    if section.target_normalization is not None:
        tokenizer = tokenizer.with_target_normalization(section.target_normalization)
    if section.byte_fallback:
        tokenizer = tokenizer.with_byte_fallback()
    if "split_digits" in given and section.split_digits:
        tokenizer = tokenizer.with_split_digits()
    if tokenizer is old:
        return model
    backbone, size = model.backbone, tokenizer.vocabulary_size()
    if size != backbone.vocabulary_size:
        longer = _rebuilt(backbone, vocabulary_size=size)
        shapes = [weight.shape for weight in longer.weights]
        longer.set_weights(list(map(_lengthen, backbone.get_weights(), shapes)))
        backbone = longer
    config = model.preprocessor.get_config()
    names = ("encoder_sequence_length", "decoder_sequence_length")
    preprocessor = TransformerSeq2SeqLMPreprocessor(tokenizer, **{n: config[n] for n in names})
    return TransformerSeq2SeqLM(backbone, preprocessor)


def _rebuilt(backbone, **changes):
    """Makes a backbone of the same class and options, apart from the changes, with new weights."""
    config = backbone.get_config()
    for name in ("name", "trainable", "dtype"):
        config.pop(name)
    return type(backbone).from_config({**config, **changes})


def _lengthen(weights, shape):
    """Continues an array to a larger shape, with normally distributed numbers of its size."""
    longer = np.random.default_rng(0).normal(0.0, weights.std(), shape).astype(weights.dtype)
    longer[tuple(map(slice, weights.shape))] = weights
    return longer


def _check_sizes(section, sizes):
    """Refuses options that would make a different architecture, and ranks that are too large."""
    given = section.given_options
    for name, value in given.items():
        own = [sizes[name]]
        if name == "num_layers":  # holds for a stack without its own number
            own = [sizes[stack] for stack in DEPTHS if stack not in given]
        if name == "activation":  # some activations have two names
            value = keras.activations.serialize(keras.activations.get(value))
        if name not in RATES and any(size != value for size in own):
            raise RecipeError(
                f"`model.{name}`={value} contradicts `model.initial`: {section.initial} has "
                f"{'+'.join(map(str, own))}. Leave it out: the initial model determines the sizes."
            )
    if (section.lora_rank or 0) > sizes["hidden_dim"]:
        raise RecipeError(
            f"`model.lora_rank`={section.lora_rank} must be at most {sizes['hidden_dim']}, the "
            f"width of {section.initial}."
        )


def _digest_of_config(path):
    return hashlib.sha256(read_bytes(path, MAX_JSON_BYTES)).hexdigest()


def build_model(recipe, tokenizer, initial=None):
    """Makes the compiled model to train: a new or the initial one, with adapters if asked for.

    Args:
        recipe: The `Recipe`.
        tokenizer: The `TransformerTokenizer`.
        initial: The `InitialModel`, if the recipe has one.

    Returns:
        A `TransformerSeq2SeqLM` that takes token ids.
    """
    backbone = _build_backbone(recipe, tokenizer, initial)
    if recipe.model.lora_rank is not None:
        add_adapters(backbone, recipe.model.lora_rank)
    return recipe.compile_model(backbone)


def build_translator(model, recipe, tokenizer, initial=None):
    """Makes the translator, which shares the weights in training or has a copy on one device.

    It also has a copy if the model has adapters: `copy_weights` merges them into it.

    Args:
        model: The model of `build_model`.
        recipe: The `Recipe`.
        tokenizer: The `TransformerTokenizer`.
        initial: The `InitialModel`, if the recipe has one.

    Returns:
        A `TransformerSeq2SeqLM`.
    """
    backbone = model.backbone
    if recipe.training.devices != "one" or recipe.model.lora_rank is not None:
        backbone = _build_backbone(recipe, tokenizer, initial)
    if initial is None:
        preprocessor, defaults = text_preprocessor(tokenizer, backbone), {}
    else:
        preprocessor, defaults = initial.model.preprocessor, initial.model.search_defaults
    translator = TransformerSeq2SeqLM(backbone, preprocessor)
    own = search_defaults_of(recipe.evaluation.search_options())
    translator.search_defaults = {**defaults, **own}
    return translator


def copy_weights(model, translator):
    """Gives the translator the weights of the model in training, if it has a copy of them.

    The copy has no adapters: they are merged into the weights.
    """
    if translator.backbone is not model.backbone:
        translator.backbone.set_weights(merged_weights(model.backbone))


def save_trained(model, translator, folder):
    """Writes the translator to a `RunFolder`, and beside it the adapters of the trained model."""
    if has_adapters(model):
        save_adapters(model, folder.adapters)
    translator.save_to_preset(str(folder.path))


def _build_backbone(recipe, tokenizer, initial):
    dtype = recipe.training.dtype
    if initial is None:
        return recipe.model.build(tokenizer.vocabulary_size(), dtype)
    return initial.build(recipe.model, dtype)
