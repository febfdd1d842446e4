"""Models `transformer` of tensor2tensor (https://github.com/tensorflow/tensor2tensor) made ours.

Names and formulas are those of its `models/transformer.py`, `layers/transformer_layers.py`,
`layers/common_attention.py`, `layers/common_layers.py` and `layers/modalities.py`, from version 1.4
on.
"""

import re
from pathlib import Path

import numpy as np

from aiayn_keras.convert.joint_vocabulary import join, joint_matrices, share
from aiayn_keras.convert.model_of_weights import model_of_weights
from aiayn_keras.convert.positions import (
    DEFAULT_POSITIONS,
    half_and_half_sinusoids,
    position_weights,
)
from aiayn_keras.convert.taken_arrays import TakenArrays
from aiayn_keras.convert.tensor2tensor_layers import layer_weights, norm_weights
from aiayn_keras.convert.tensor2tensor_settings import HPARAMS, read_settings
from aiayn_keras.convert.tensor2tensor_vocabulary import read_vocabulary
from aiayn_keras.convert.tensorflow_checkpoint import find_checkpoint, read_checkpoint
from aiayn_keras.convert.tokenizers import build_tokenizer

ROOT = "transformer/"
BODY = "body/"
SIDES = ("encoder", "decoder")
TARGET_SPACE = f"{BODY}target_space_embedding/kernel"
MAX_SHARDS = 1 << 10


def convert_tensor2tensor(
    checkpoint, source_vocabulary, target_vocabulary=None, target_space=0, dtype=None
):
    """Makes a `TransformerSeq2SeqLM` of a `transformer` of tensor2tensor.

    The settings are read from `hparams.json` beside the checkpoint.

    Texts are subtokens of the vocabularies with spaces between them, and `␠` for a space inside
    one: the toolkit's own `SubwordTextEncoder`, a greedy search that SentencePiece does not know,
    splits text into them and joins translations again.

    Args:
        checkpoint: Its prefix, such as `run/model.ckpt-250000`, its file `*.index`, or the folder
            of a run.
        source_vocabulary: The vocabulary of sources, such as
            `vocab.translate_ende_wmt32k.32768.subwords`.
        target_vocabulary: That of translations; defaults to the source's.
        target_space: Number of the target's space in the embedding that is added to every token
            of a source: 0 for translations since version 1.5, and before it one of `SpaceID` in
            its `data_generators/problem.py`.
        dtype: A `keras.DTypePolicy` or its name.

    Returns:
        A `TransformerSeq2SeqLM` with a preprocessor.

    Raises:
        OSError: If a file is missing.
        ValueError: If a file is damaged, or describes a model that ours cannot be; with the file
            and the setting or variable.
    """
    prefix = find_checkpoint(checkpoint)
    settings = read_settings(prefix.parent / HPARAMS)
    arrays = TakenArrays(prefix, read_checkpoint(prefix, _choose))
    *embeddings, output = _matrices(arrays)
    paths = [Path(source_vocabulary), Path(target_vocabulary or source_vocabulary)]
    vocabulary = _joint_vocabulary(paths, embeddings, settings)
    tokenizer = build_tokenizer(vocabulary, None, None, paths[0])
    options, weights = _options_and_weights(
        arrays, settings, vocabulary, (*embeddings, output), target_space
    )
    for name in arrays.left():
        raise ValueError(
            f"{prefix}: `{ROOT}{name:.200}` belongs to no part of the Transformer that can be "
            "converted: an encoder and a decoder of equal depth, with sinusoidal positions."
        )
    return model_of_weights(
        prefix,
        tokenizer,
        len(vocabulary.source_rows),
        weights,
        num_heads=settings.num_heads,
        normalize_first=settings.normalizes_first,
        dropout=settings.layer_prepostprocess_dropout,
        attention_dropout=settings.attention_dropout,
        activation_dropout=settings.relu_dropout,
        layer_norm_epsilon=settings.norm_epsilon,
        dtype=dtype,
        **options,
    )


def is_tensor2tensor(checkpoint):
    """Whether there is a file of settings beside a checkpoint, as tensor2tensor writes it."""
    return (find_checkpoint(checkpoint).parent / HPARAMS).is_file()


def _choose(names):
    """The variables of the model, and not the optimizer's, which are named behind them."""
    of_model = {name for name in names if name.startswith(ROOT)}
    if not any(name.startswith(ROOT + BODY) for name in of_model):
        raise ValueError(
            "it holds no `transformer` of tensor2tensor, whose variables are named "
            f"`{ROOT}{BODY}...`"
        )
    return {
        name: name.removeprefix(ROOT)
        for name in sorted(of_model)
        if name.rpartition("/")[0] not in of_model
    }


def _matrices(arrays):
    """The embeddings of sources and of translations, and the output projection.

    Each is a number of shards, one below the other.
    """
    scopes = {}
    for name in arrays.left():
        match = re.fullmatch(r"(symbol_modality_\d+_\d+/(\w+))/weights_0", name)
        if match:
            scopes[match[2]] = match[1]
    shared = scopes.get("shared")
    matrices = []
    for name in ("input_emb", "target_emb", "softmax"):
        scope = scopes.get(name, shared)
        if scope is None:
            raise ValueError(
                f"{arrays.path}: `{ROOT}symbol_modality_*/{name}/weights_0` is missing."
            )
        shards = []
        while f"{scope}/weights_{len(shards)}" in arrays:
            shards.append(arrays.take(f"{scope}/weights_{len(shards)}", 2))
        if len({shard.shape[1] for shard in shards}) > 1:
            raise ValueError(f"{arrays.path}: shards of `{ROOT}{scope}` have different widths.")
        matrices.append(np.concatenate(shards))
    source, target, output = matrices
    if output.shape != target.shape or output.shape[1] != source.shape[1]:
        raise ValueError(
            f"{arrays.path}: embeddings of the shapes {source.shape} and {target.shape} do not go "
            f"with an output of {output.shape}."
        )
    return matrices


def _joint_vocabulary(paths, embeddings, settings):
    vocabularies = [
        read_vocabulary(path, len(matrix), settings.vocab_divisor)
        for path, matrix in zip(paths, embeddings, strict=True)
    ]
    if vocabularies[0].tokens == vocabularies[1].tokens and np.array_equal(*embeddings):
        return share(vocabularies[1])
    return join(*vocabularies)


def _options_and_weights(arrays, settings, vocabulary, matrices, target_space):
    """Arguments of `TransformerBackbone`, and weights by their paths."""
    num_layers = [arrays.count_layers(f"{BODY}{side}/layer_") for side in SIDES]
    if num_layers[0] != num_layers[1] or not num_layers[0]:
        raise ValueError(
            f"{arrays.path}: {num_layers[0]} layers of the encoder and {num_layers[1]} of the "
            "decoder cannot be converted, only equal numbers."
        )
    hidden_dim = matrices[0].shape[1]
    matrices = joint_matrices(vocabulary, *matrices)
    options, weights = _positions(arrays, hidden_dim, target_space)
    first = f"{BODY}encoder/layer_0"
    attention = f"{first}/self_attention/multihead_attention"
    options |= {
        "num_layers": num_layers[0],
        "hidden_dim": hidden_dim,
        "intermediate_dim": arrays.take(f"{first}/ffn/conv1/kernel", 2).shape[1],
        "key_dim": _width_of_head(arrays, f"{attention}/q/kernel", settings.num_heads),
        "value_dim": _width_of_head(arrays, f"{attention}/v/kernel", settings.num_heads),
        "tie_weights": "reverse_embeddings" not in matrices,
        "logits_bias": "logits_bias" in matrices,
    }
    weights |= {f"token_embedding/{name}": array for name, array in matrices.items()}
    weights |= layer_weights(arrays, BODY, num_layers[0])
    if settings.normalizes_first:
        for side in SIDES:
            weights |= norm_weights(arrays, f"{BODY}{side}", f"{side}_norm")
    return options, weights


def _width_of_head(arrays, name, num_heads):
    columns = arrays.take(name, 2).shape[1]
    if columns % num_heads:
        raise ValueError(
            f"{arrays.path}: `{ROOT}{name}` has {columns} columns, which `num_heads`, "
            f"{num_heads}, does not divide."
        )
    return columns // num_heads


def _positions(arrays, hidden_dim, target_space):
    """Sinusoids, and in the encoder's the embedding of the target's space."""
    if hidden_dim % 2 or hidden_dim < 4:
        raise ValueError(f"{arrays.path}: a width of {hidden_dim} has no sinusoids.")
    sinusoids = half_and_half_sinusoids(DEFAULT_POSITIONS, hidden_dim, first=0)
    spaces = arrays.find([TARGET_SPACE], 2, np.zeros((1, hidden_dim), "float32"))
    if not 0 <= target_space < len(spaces) or spaces.shape[1] != hidden_dim:
        raise ValueError(
            f"{arrays.path}: `{ROOT}{TARGET_SPACE}` has the shape {spaces.shape}, expected "
            f"{hidden_dim} columns and a row for `target_space`, {target_space}."
        )
    return position_weights(sinusoids + spaces[target_space], sinusoids)
