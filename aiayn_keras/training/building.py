"""The models of a training: the one that is trained on token ids, and the one that takes text."""

from aiayn_keras.models import TransformerSeq2SeqLM, text_preprocessor
from aiayn_keras.training.adapters import add_adapters, has_adapters, save_adapters


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
