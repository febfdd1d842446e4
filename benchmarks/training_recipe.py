"""The paper's training as its recipe describes it, for any preset and size."""

import json


def training_recipe(preset, vocabulary_size, num_layers=0, **training):
    """The recipe with which `aiayn-keras train` builds and lays out a model, without reading text.

    Args:
        preset: Name of an architecture without `transformer_`.
        vocabulary_size: Number of tokens.
        num_layers: Layers of encoder and decoder, 0 for the preset's.
        **training: Fields of the section `training`; those that are None are left out.

    Returns:
        A `Recipe`.
    """
    from aiayn_keras.training import load_recipe

    settings = {
        "model.preset": f"transformer_{preset}",
        "model.num_layers": num_layers or None,
        "tokenizer.vocabulary_size": vocabulary_size,
        **{f"training.{name}": value for name, value in training.items()},
    }
    return load_recipe(
        "wmt14_en_de_base",
        [f"{name}={json.dumps(value)}" for name, value in settings.items() if value is not None],
    )
