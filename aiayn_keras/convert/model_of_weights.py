"""A model made of options and weights that came from somewhere else."""

from aiayn_keras.convert.assigning import assign_weights
from aiayn_keras.models import TransformerBackbone, TransformerSeq2SeqLM, text_preprocessor
from aiayn_keras.models.architecture import OPTIONS, check_architecture, count_weights
from aiayn_keras.models.transformer_backbone import BACKBONE_DEFAULTS


def model_of_weights(origin, tokenizer, vocabulary_size, weights, **options):
    """Makes a model, with errors that name the file that it comes from.

    Args:
        origin: Path of the file.
        tokenizer: A `TransformerTokenizer`.
        vocabulary_size: Number of tokens V.
        weights: Arrays by the paths of the backbone's weights, see `assign_weights`.
        **options: The other arguments of `TransformerBackbone`.

    Returns:
        A `TransformerSeq2SeqLM` with a preprocessor.

    Raises:
        ValueError: For options that a backbone refuses, or weights that do not fit it; a model far
            larger than its weights is refused before it is built.
    """
    try:
        _check_size({**BACKBONE_DEFAULTS, "vocabulary_size": vocabulary_size, **options}, weights)
        backbone = TransformerBackbone(vocabulary_size, **options)
    except ValueError as error:
        raise ValueError(f"{origin}: {error}") from None
    assign_weights(backbone, weights, origin)
    return TransformerSeq2SeqLM(backbone, text_preprocessor(tokenizer, backbone))


def _check_size(options, weights):
    checked = {name: options[name] for name in OPTIONS if name != "activation"}
    num_described = count_weights(check_architecture(**checked))
    num_given = sum(array.size for array in weights.values())
    if num_described > num_given:
        raise ValueError(
            f"the settings describe a model of {num_described:,} weights, and the file has "
            f"{num_given:,}."
        )
