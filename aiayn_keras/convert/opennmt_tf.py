"""`Transformer` models of OpenNMT-tf 2 (https://github.com/OpenNMT/OpenNMT-tf) made into ours.

Names and formulas are those of its `opennmt/models/transformer.py`, `layers/transformer.py`,
`layers/position.py` and `inputters/text_inputter.py`: a variable is named by the attributes that
lead to it from the model, as `tf.train.Checkpoint(model=...)` does.
"""

from pathlib import Path

import numpy as np

from aiayn_keras.convert.joint_vocabulary import Vocabulary, join, joint_matrices, share
from aiayn_keras.convert.model_of_weights import model_of_weights
from aiayn_keras.convert.positions import (
    DEFAULT_POSITIONS,
    half_and_half_sinusoids,
    position_weights,
)
from aiayn_keras.convert.taken_arrays import TakenArrays
from aiayn_keras.convert.tensorflow_checkpoint import find_checkpoint, read_checkpoint
from aiayn_keras.convert.tokenizers import add_pieces, build_tokenizer, read_sentencepiece_models
from aiayn_keras.convert.vocabulary_files import read_token_file

ROOT = "model/"
SUFFIX = "/.ATTRIBUTES/VARIABLE_VALUE"
SLOT = "/.OPTIMIZER_SLOT/"

SIDES = ("encoder", "decoder")
EMBEDDINGS = (
    "examples_inputter/features_inputter/embedding",
    "examples_inputter/labels_inputter/embedding",
)
OUTPUT = "decoder/output_layer"
PROJECTIONS = {
    "linear_queries": "query",
    "linear_keys": "key",
    "linear_values": "value",
    "linear_output": "output",
}

SPECIAL_TOKENS = ("<blank>", "<s>", "</s>")
"""The first three tokens of every vocabulary; the unknown token is behind the last."""

UNKNOWN_TOKEN = "<unk>"
PAD, START, END = range(3)
FIRST_POSITION = 1
EPSILON = 1e-3  # that of tf.keras.layers.LayerNormalization


def convert_opennmt_tf(
    checkpoint,
    source_vocabulary,
    target_vocabulary=None,
    *,
    num_heads,
    source_end=False,
    dtype=None,
):
    """Makes a `TransformerSeq2SeqLM` of a `Transformer` of OpenNMT-tf 2.

    A checkpoint holds variables alone; what else the model is comes with the arguments. Its
    activation is taken to be ReLU, as in all of OpenNMT-tf's catalog, and its positions to be
    sinusoids where it has no table of them.

    Texts are tokens of the vocabularies with spaces between them: split them first as they were
    split for the training, and join the translations again. Where the vocabulary's folder holds
    `sentencepiece.model`, whose pieces are the tokens, the model takes text.

    Args:
        checkpoint: Its prefix, such as `run/ckpt-5000`, its file `*.index`, or the folder of a run.
        source_vocabulary: The vocabulary of sources, a token a line.
        target_vocabulary: That of translations; defaults to the source's.
        num_heads: Number of attention heads; 8 in `TransformerBase`, 16 in `TransformerBig`.
        source_end: Whether the model reads an end token behind a source, which the setting
            `source_sequence_controls` of its training says.
        dtype: A `keras.DTypePolicy` or its name.

    Returns:
        A `TransformerSeq2SeqLM` with a preprocessor.

    Raises:
        OSError: If a file is missing.
        ValueError: If a file is damaged, or describes a model that ours cannot be; with the file
            and the variable.
    """
    prefix = find_checkpoint(checkpoint)
    arrays = TakenArrays(prefix, read_checkpoint(prefix, _choose))
    embeddings, output = _matrices(arrays)
    paths = Path(source_vocabulary), Path(target_vocabulary or source_vocabulary)
    vocabulary = _joint_vocabulary(paths, embeddings)
    models = read_sentencepiece_models(paths[0].parent)
    if models[0] is not None:
        vocabulary = add_pieces(vocabulary, *models)
    tokenizer = build_tokenizer(vocabulary, *models, paths[0], source_end)
    options, weights = _options_and_weights(arrays, vocabulary, embeddings, output)
    for name in arrays.left():
        raise ValueError(
            f"{prefix}: `{name:.200}` belongs to no part of the Transformer that can be converted: "
            "one encoder and a decoder of equal depth, with sinusoidal or learned positions."
        )
    return model_of_weights(
        prefix,
        tokenizer,
        len(vocabulary.source_rows),
        weights,
        num_heads=num_heads,
        layer_norm_epsilon=EPSILON,
        dtype=dtype,
        **options,
    )


def _choose(names):
    """The variables of the model, and not the optimizer's, by shorter names."""
    chosen = {
        name: name.removeprefix(ROOT).removesuffix(SUFFIX)
        for name in names
        if name.startswith(ROOT) and name.endswith(SUFFIX) and SLOT not in name
    }
    if not chosen:
        raise ValueError(
            "it holds no model of OpenNMT-tf 2, whose variables are named `model/...`; "
            "checkpoints of version 1 are made into such by `onmt-convert-checkpoint`"
        )
    return chosen


def _matrices(arrays):
    """The embeddings of both sides, and the output projection with its bias or None.

    A matrix that several parts share is there once, under one of its names.
    """
    source = arrays.take(EMBEDDINGS[0], 2)
    target = arrays.find([EMBEDDINGS[1]], 2, source)
    kernel = arrays.find([f"{OUTPUT}/kernel"], 2)
    bias = arrays.find([f"{OUTPUT}/bias"], 1)
    output = target if kernel is None else kernel.T
    if (
        output.shape != target.shape
        or output.shape[1] != source.shape[1]
        or (bias is not None and len(bias) != len(output))
    ):
        raise ValueError(
            f"{arrays.path}: embeddings of the shapes {source.shape} and {target.shape} do not go "
            f"with an output of {output.shape}."
        )
    return (source, target), (output, bias)


def _joint_vocabulary(paths, embeddings):
    vocabularies = []
    for path, matrix in zip(paths, embeddings, strict=True):
        tokens = read_token_file(path)
        if tuple(tokens[: len(SPECIAL_TOKENS)]) != SPECIAL_TOKENS:
            raise ValueError(
                f"{path}: a vocabulary of OpenNMT-tf begins with {', '.join(SPECIAL_TOKENS)}, this "
                f"one with {', '.join(tokens[:3]):.60}."
            )
        tokens.append(UNKNOWN_TOKEN)
        if len(tokens) != len(matrix):
            raise ValueError(
                f"{path} has {len(tokens):,} tokens, the unknown one included, but the embeddings "
                f"have {len(matrix):,} rows."
            )
        vocabularies.append(Vocabulary(tuple(tokens), len(tokens) - 1, END, START, PAD))
    source, target = vocabularies
    if source.tokens == target.tokens and np.array_equal(*embeddings):
        return share(target)
    return join(source, target)


def _options_and_weights(arrays, vocabulary, embeddings, output):
    """Arguments of `TransformerBackbone`, and weights by their paths."""
    num_layers = [arrays.count_layers(f"{side}/layers/") for side in SIDES]
    if num_layers[0] != num_layers[1] or not num_layers[0]:
        raise ValueError(
            f"{arrays.path}: {num_layers[0]} layers of the encoder and {num_layers[1]} of the "
            "decoder cannot be converted, only equal numbers."
        )
    hidden_dim = output[0].shape[1]
    is_first = f"{SIDES[0]}/layer_norm/gamma" in arrays
    attention_bias = f"{SIDES[0]}/layers/0/self_attention/layer/linear_queries/bias" in arrays
    matrices = joint_matrices(vocabulary, *embeddings, *output)
    options, weights = _positions(arrays, hidden_dim)
    options |= {
        "num_layers": num_layers[0],
        "hidden_dim": hidden_dim,
        "intermediate_dim": arrays.take("encoder/layers/0/ffn/layer/inner/kernel", 2).shape[1],
        "normalize_first": is_first,
        "attention_bias": attention_bias,
        "tie_weights": "reverse_embeddings" not in matrices,
        "logits_bias": "logits_bias" in matrices,
    }
    weights |= {f"token_embedding/{name}": array for name, array in matrices.items()}
    norm = "input_layer_norm" if is_first else "output_layer_norm"
    for i in range(num_layers[0]):
        for side in SIDES:
            path = f"{side}/layers/{i}"
            weights |= _layer(arrays, path, f"{side}_block_{i}", norm, attention_bias)
    if is_first:
        for side in SIDES:
            weights |= _norm(arrays, f"{side}/layer_norm", f"{side}_norm")
    return options, weights


def _positions(arrays, hidden_dim):
    tables = [arrays.find([f"{side}/position_encoder/position_embedding"], 2) for side in SIDES]
    if hidden_dim % 2 or hidden_dim < 4:
        raise ValueError(f"{arrays.path}: a width of {hidden_dim} has no sinusoids.")
    is_learned = all(table is not None for table in tables)
    sinusoids = half_and_half_sinusoids(DEFAULT_POSITIONS, hidden_dim, FIRST_POSITION)
    tables = [sinusoids if table is None else table[FIRST_POSITION:] for table in tables]
    return position_weights(*tables, is_learned=is_learned)


def _layer(arrays, theirs, ours, norm, has_bias):
    """The weights of a layer of the encoder or the decoder."""
    weights = {}
    attentions = {"self_attention": "self_attention"}
    if theirs.startswith("decoder"):
        attentions["attention/0"] = "cross_attention"
    for name, part in attentions.items():
        for linear, projection in PROJECTIONS.items():
            weights |= _dense(
                arrays, f"{theirs}/{name}/layer/{linear}", f"{ours}/{part}/{projection}", has_bias
            )
    for name, part in {**attentions, "ffn": "feed_forward"}.items():
        weights |= _norm(arrays, f"{theirs}/{name}/{norm}", f"{ours}/{part}_add_norm/layer_norm")
    for name, part in (("inner", "hidden"), ("outer", "output")):
        weights |= _dense(arrays, f"{theirs}/ffn/layer/{name}", f"{ours}/feed_forward/{part}")
    return weights


def _dense(arrays, theirs, ours, has_bias=True):
    weights = {f"{ours}/kernel": arrays.take(f"{theirs}/kernel", 2)}
    if has_bias:
        weights[f"{ours}/bias"] = arrays.take(f"{theirs}/bias", 1)
    return weights


def _norm(arrays, theirs, ours):
    return {f"{ours}/{name}": arrays.take(f"{theirs}/{name}", 1) for name in ("gamma", "beta")}
