"""The model that a fine-tuning begins with, instead of random weights and a learned vocabulary."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import keras

from aiayn_keras.common.files import digest_of_file, read_bytes
from aiayn_keras.models import TransformerBackbone, TransformerSeq2SeqLM, text_preprocessor
from aiayn_keras.models.architecture import OPTIONS, RATES
from aiayn_keras.models.model_folder import MAX_JSON_BYTES, WEIGHTS, check_model_folder
from aiayn_keras.training.adapters import add_adapters, has_adapters, save_adapters
from aiayn_keras.training.recipe import RecipeError, check_division

CONFIG = "config.json"


@dataclass(frozen=True)
class InitialModel:
    """The model of a recipe's `model.initial`.

    Attributes:
        model: The `TransformerSeq2SeqLM`, with its tokenizer.
        weights: SHA-256 of its file of weights.
        config: SHA-256 of the file with its sizes.
    """

    model: TransformerSeq2SeqLM
    weights: str
    config: str

    @property
    def tokenizer(self):
        """Its `TransformerTokenizer`."""
        return self.model.preprocessor.tokenizer

    def build(self, section, dtype):
        """Makes a `TransformerBackbone` of these weights, and of the rates of a `ModelSection`."""
        backbone = self.model.backbone
        options = {name: getattr(backbone, name) for name in OPTIONS}
        copy = TransformerBackbone(**{**options, **section.given_options}, dtype=dtype)
        copy.set_weights(backbone.get_weights())
        return copy


def read_sizes(recipe):
    """The options of the model that a recipe is about, without its weights.

    Args:
        recipe: The `Recipe`.

    Returns:
        A dictionary of arguments of `TransformerBackbone`.

    Raises:
        OSError: If `model.initial` is no folder, or lacks a file.
        ValueError: If it holds no model, or none that is finished.
        RecipeError: If the recipe contradicts its sizes.
    """
    section = recipe.model
    if section.initial is None:
        return section.options
    folder = Path(section.initial)
    reason = None if (folder / "task.json").is_file() else "it has no task.json"
    reason = reason if folder.is_dir() else "it does not exist"
    if reason:
        raise FileNotFoundError(
            f"`model.initial`: {folder} is no model folder: {reason}. `aiayn-keras train` and "
            "`aiayn-keras convert` make model folders."
        )
    sizes = check_model_folder(folder)
    _check_sizes(section, sizes)
    check_division(sizes, recipe.training.model_parallel_size)
    return sizes


def read_initial(recipe):
    """Loads the `InitialModel` of a recipe; `None` if it has none.

    Raises:
        OSError: If a file is missing.
        ValueError: If the model is damaged, quantized, or has no tokenizer.
        RecipeError: If the recipe asks for what does not go with it.
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
        raise ValueError(f"`model.initial`: {folder} is quantized: begin with the model it is of.")
    tokenizer = model.preprocessor.tokenizer
    if recipe.tokenizer.sampling_alpha is not None and tokenizer.of_targets() is not tokenizer:
        raise RecipeError(
            f"leave out `tokenizer.sampling_alpha`: {folder} splits translations in another way "
            "than sources."
        )
    return InitialModel(model, digest_of_file(folder / WEIGHTS), _digest_of_config(folder / CONFIG))


def _check_sizes(section, sizes):
    """Refuses options of a recipe that would make another architecture, and too great ranks."""
    for name, value in section.given_options.items():
        if name == "activation":  # some have two names
            value = keras.activations.serialize(keras.activations.get(value))
        if name not in RATES and value != sizes[name]:
            raise RecipeError(
                f"`model.{name}`={value} contradicts `model.initial`: {section.initial} has "
                f"{sizes[name]}. Leave it out: sizes are those of the model."
            )
    if (section.lora_rank or 0) > sizes["hidden_dim"]:
        raise RecipeError(
            f"`model.lora_rank`={section.lora_rank} must be at most {sizes['hidden_dim']}, the "
            f"width of {section.initial}."
        )


def _digest_of_config(path):
    return hashlib.sha256(read_bytes(path, MAX_JSON_BYTES)).hexdigest()


def build_model(recipe, tokenizer, initial=None):
    """Makes the compiled model to train: new, or the initial one, with adapters if asked for.

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
    """Makes a model that takes text, of the weights in training or of a copy on one device.

    Of a model with adapters it is a copy, too: `copy_weights` merges the adapters into it.

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
        return TransformerSeq2SeqLM(backbone, text_preprocessor(tokenizer, backbone))
    return TransformerSeq2SeqLM(backbone, initial.model.preprocessor)


def save_trained(model, translator, folder):
    """Writes a translator as the model in a `RunFolder`, and the adapters of its model alone."""
    if has_adapters(model):
        save_adapters(model, folder.adapters)
    translator.save_to_preset(str(folder.path))


def _build_backbone(recipe, tokenizer, initial):
    dtype = recipe.training.dtype
    if initial is None:
        return recipe.model.build(tokenizer.vocabulary_size(), dtype)
    return initial.build(recipe.model, dtype)
