"""`transformer` models of fairseq (https://github.com/facebookresearch/fairseq) made into ours.

Names and formulas are those of its `models/transformer`, `modules/transformer_layer.py`,
`modules/sinusoidal_positional_embedding.py` and `data/dictionary.py`.
"""

import math
from pathlib import Path

import numpy as np

from aiayn_keras.common.files import read_bytes
from aiayn_keras.convert.fairseq_checkpoint import ACTIVATIONS, read_checkpoint
from aiayn_keras.convert.fairseq_layers import layer_weights, norm_weights
from aiayn_keras.convert.joint_vocabulary import Vocabulary, join, joint_matrices, share
from aiayn_keras.convert.model_of_weights import model_of_weights
from aiayn_keras.convert.positions import half_and_half_sinusoids, position_weights
from aiayn_keras.convert.taken_arrays import TakenArrays
from aiayn_keras.convert.tokenizers import add_pieces, build_tokenizer, read_sentencepiece_models
from aiayn_keras.convert.vocabulary_files import MAX_BYTES, check_tokens, read_lines_of

SIDES = ("encoder", "decoder")
SPECIAL_TOKENS = ("<s>", "<pad>", "</s>", "<unk>")
"""The first four tokens of every dictionary, which are not in its file."""

PAD, END, UNKNOWN = 1, 2, 3
FIRST_POSITION = PAD + 1
"""Positions are counted from the number of the padding token on."""

EPSILON = 1e-5  # PyTorch's
NO_WEIGHTS = ("version", "_float_tensor")


def convert_fairseq(checkpoint, source_dictionary, target_dictionary=None, dtype=None):
    """Makes a `TransformerSeq2SeqLM` of a `transformer` of fairseq.

    Nothing in the checkpoint is run, and neither fairseq nor PyTorch is needed. Texts are words of
    the dictionaries with spaces between them: split them first as they were split for the
    training (subword-nmt's `@@`), and join the translations again. Where the dictionary's folder
    holds `sentencepiece.model`, whose pieces are the words, the model takes text.

    Args:
        checkpoint: The file, such as `model.pt`.
        source_dictionary: The file `dict.<language>.txt` of the source.
        target_dictionary: That of translations; defaults to the source's.
        dtype: A `keras.DTypePolicy` or its name.

    Returns:
        A `TransformerSeq2SeqLM` with a preprocessor.

    Raises:
        OSError: If a file is missing.
        ValueError: If a file is damaged, or describes a model that ours cannot be; with the file
            and the setting or tensor.
    """
    settings, arrays = read_checkpoint(checkpoint)
    arrays = TakenArrays(checkpoint, arrays)
    embeddings, output = _matrices(arrays, settings)
    paths = Path(source_dictionary), Path(target_dictionary or source_dictionary)
    vocabulary = _joint_vocabulary(paths, embeddings)
    models = read_sentencepiece_models(paths[0].parent)
    if models[0] is not None:
        vocabulary = add_pieces(vocabulary, *models)
    tokenizer = build_tokenizer(vocabulary, *models, paths[0])
    options, weights = _options_and_weights(arrays, settings, vocabulary, embeddings, output)
    _check_all_taken(arrays)
    return model_of_weights(
        checkpoint,
        tokenizer,
        len(vocabulary.source_rows),
        weights,
        num_heads=settings.encoder_attention_heads,
        normalize_first=settings.encoder_normalize_before,
        activation=ACTIVATIONS[settings.activation_fn],
        dropout=settings.dropout,
        attention_dropout=settings.attention_dropout,
        activation_dropout=settings.activation_dropout,
        attention_bias=True,
        layer_norm_epsilon=EPSILON,
        dtype=dtype,
        **options,
    )


def read_dictionary(path):
    """Reads a file `dict.<language>.txt`: a word and its count on each line.

    Args:
        path: The file.

    Returns:
        List of tokens, with the four special ones, which the file leaves out.

    Raises:
        OSError: If there is no such regular file.
        ValueError: For a line of another form, or a word that is there twice; with the line.
    """
    words = []
    for number, line in enumerate(read_lines_of(read_bytes(path, MAX_BYTES), path), start=1):
        word, _, count = line.removesuffix(" #fairseq:overwrite").rpartition(" ")
        if not word or not (count.isascii() and count.isdigit()):
            raise ValueError(f"{path}, line {number}: expected `word count`, got {line!r:.60}.")
        if word in SPECIAL_TOKENS:
            raise ValueError(f"{path}, line {number}: {word} is a token that the file leaves out.")
        words.append(word)
    check_tokens(words, path, "line")
    return [*SPECIAL_TOKENS, *words]


def _joint_vocabulary(paths, embeddings):
    vocabularies = []
    for path, matrix in zip(paths, embeddings, strict=True):
        tokens = read_dictionary(path)
        if len(tokens) != len(matrix):
            raise ValueError(
                f"{path} has {len(tokens):,} tokens, the four special ones included, but the "
                f"embeddings have {len(matrix):,} rows."
            )
        vocabularies.append(Vocabulary(tuple(tokens), UNKNOWN, END, start=END, pad=PAD))
    source, target = vocabularies
    if source.tokens == target.tokens and np.array_equal(*embeddings):
        return share(target)
    return join(source, target)


def _matrices(arrays, settings):
    """The scaled embeddings of both sides, and the output projection."""
    embeddings = [arrays.take(f"{side}.embed_tokens.weight", 2) for side in SIDES]
    names = ("decoder.output_projection.weight", "decoder.embed_out")
    output = arrays.find(names, 2, embeddings[1])
    if output.shape != embeddings[1].shape or output.shape[1] != embeddings[0].shape[1]:
        raise ValueError(
            f"{arrays.path}: embeddings of the shapes {embeddings[0].shape} and "
            f"{embeddings[1].shape} do not go with an output of {output.shape}."
        )
    if settings.no_scale_embedding:
        factor = np.float32(1 / math.sqrt(output.shape[1]))
        embeddings = [matrix * factor for matrix in embeddings]
    return embeddings, output


def _options_and_weights(arrays, settings, vocabulary, embeddings, output):
    """Arguments of `TransformerBackbone`, and weights by their paths."""
    num_layers = [arrays.count_layers(f"{side}.layers.") for side in SIDES]
    if num_layers[0] != num_layers[1] or not num_layers[0]:
        raise ValueError(
            f"{arrays.path}: {num_layers[0]} layers of the encoder and {num_layers[1]} of the "
            "decoder cannot be converted, only equal numbers."
        )
    matrices = joint_matrices(vocabulary, *embeddings, output)
    options, weights = _positions(arrays, settings, output.shape[1])
    options |= {
        "num_layers": num_layers[0],
        "hidden_dim": output.shape[1],
        "intermediate_dim": len(arrays.take("encoder.layers.0.fc1.weight", 2)),
        "tie_weights": "reverse_embeddings" not in matrices,
        "logits_bias": "logits_bias" in matrices,
    }
    weights |= {f"token_embedding/{name}": array for name, array in matrices.items()}
    weights |= layer_weights(arrays, num_layers[0])
    if settings.encoder_normalize_before:
        for side in SIDES:
            weights |= norm_weights(arrays, f"{side}.layer_norm", f"{side}_norm")
    return options, weights


def _positions(arrays, settings, hidden_dim):
    learned = [arrays.find([f"{side}.embed_positions.weight"], 2) for side in SIDES]
    if hidden_dim % 2 or hidden_dim < 4:
        raise ValueError(f"{arrays.path}: a width of {hidden_dim} has no sinusoids.")
    lengths = settings.max_source_positions, settings.max_target_positions
    tables = [
        half_and_half_sinusoids(min(lengths), hidden_dim, FIRST_POSITION)
        if table is None
        else table[FIRST_POSITION:]
        for table in learned
    ]
    return position_weights(*tables, is_learned=all(table is not None for table in learned))


def _check_all_taken(arrays):
    for name in arrays.left():
        if name.split(".")[-1] not in NO_WEIGHTS:
            raise ValueError(f"{arrays.path}: `{name:.200}` is no tensor of such a model.")
