"""Models of CTranslate2 (https://opennmt.net/CTranslate2), a C++ engine, made into ours."""

import math
from pathlib import Path

import numpy as np

from aiayn_keras.convert.ctranslate2_binary import read_model_bin
from aiayn_keras.convert.ctranslate2_layers import check_all_taken, layer_weights, norm_weights
from aiayn_keras.convert.ctranslate2_settings import read_config, read_settings
from aiayn_keras.convert.joint_vocabulary import Vocabulary, join, joint_matrices, share
from aiayn_keras.convert.model_of_weights import model_of_weights
from aiayn_keras.convert.positions import (
    DEFAULT_POSITIONS,
    half_and_half_sinusoids,
    position_weights,
)
from aiayn_keras.convert.taken_arrays import TakenArrays
from aiayn_keras.convert.tokenizers import add_pieces, build_tokenizer, read_sentencepiece_models
from aiayn_keras.convert.vocabulary_files import read_token_file

DEFAULT_EPSILON = 1e-5
"""Of the engine's layer normalization where `config.json` names none."""

SIDES = ("encoder", "decoder")
PADDINGS = ("<pad>", "<blank>")
"""Names of the padding token, which no configuration says; `<blank>` is OpenNMT's."""


def convert_ctranslate2(folder, dtype=None):
    """Makes a `TransformerSeq2SeqLM` of a CTranslate2 model.

    Weights of every format become float32. The folder needs no more than the engine does:
    `model.bin`, `config.json` (not before version 6 of the layout), and `shared_vocabulary` or
    `source_vocabulary` and `target_vocabulary`, `.json` or `.txt`.

    The engine takes and gives tokens. Where the folder holds the SentencePiece model that makes
    them, as our exports do (`sentencepiece.model` and, if translations have one of their own,
    `target_sentencepiece.model`; OPUS-MT's `source.spm` and `target.spm`), the model takes text.
    Else its texts are the engine's tokens with spaces between them.

    Our search differs from the engine's as `aiayn_keras.export.export_ctranslate2` says. Its
    default is `length_penalty=1.0, length_penalty_offset=0` of ours; a model keeps no such
    settings, so pass them to `translate`, the commands and the export.

    Args:
        folder: The folder that `ctranslate2.Translator` would load.
        dtype: A `keras.DTypePolicy` or its name.

    Returns:
        A `TransformerSeq2SeqLM` with a preprocessor.

    Raises:
        OSError: If a file is missing.
        ValueError: If a file is damaged, or describes a model that ours cannot be: other
            positions, normalizations or activations than ours, or sides of different depth; with
            the file and the variable.
    """
    folder = Path(folder)
    model_bin = read_model_bin(folder / "model.bin")
    variables = TakenArrays(model_bin.path, model_bin.variables)
    config = read_config(folder, model_bin, variables)
    settings = read_settings(model_bin, variables)
    embeddings, output = _matrices(variables)
    vocabulary = _joint_vocabulary(folder, config, embeddings, output)
    models = read_sentencepiece_models(folder)
    if models[0] is not None:
        vocabulary = add_pieces(vocabulary, *models)
    tokenizer = build_tokenizer(vocabulary, *models, folder, config.add_source_eos)
    options, weights = _options_and_weights(variables, settings, vocabulary, embeddings, output)
    check_all_taken(variables)
    return model_of_weights(
        model_bin.path,
        tokenizer,
        len(vocabulary.source_rows),
        weights,
        **vars(settings),
        layer_norm_epsilon=config.layer_norm_epsilon or DEFAULT_EPSILON,
        dtype=dtype,
        **options,
    )


def _matrices(variables):
    """The scaled embeddings of both sides, and the output projection with its bias or None."""
    embeddings = []
    for side in SIDES:
        names = (f"{side}/embeddings/weight", f"{side}/embeddings_0/weight")
        matrix = variables.find(names, 2)
        if matrix is None:
            raise ValueError(f"{variables.path}: `{names[0]}` is missing.")
        names = (f"{side}/scale_embeddings", f"{side}/embeddings/multiply_by_sqrt_depth")
        scale = variables.find((*names, f"{side}/embeddings_0/multiply_by_sqrt_depth"), 0, 1)
        if isinstance(scale, int):  # a switch
            scale = math.sqrt(matrix.shape[1]) if scale else 1.0
        factor = scale / math.sqrt(matrix.shape[1])
        embeddings.append(matrix if factor == 1 else matrix * np.float32(factor))
    projection = variables.take("decoder/projection/weight", 2)
    bias = variables.find(["decoder/projection/bias"], 1)
    if (
        embeddings[1].shape != projection.shape
        or embeddings[0].shape[1] != projection.shape[1]
        or (bias is not None and len(bias) != len(projection))
    ):
        raise ValueError(
            f"{variables.path}: embeddings of the shapes {embeddings[0].shape} and "
            f"{embeddings[1].shape} do not go with an output of {projection.shape}."
        )
    return embeddings, (projection, bias)


def _joint_vocabulary(folder, config, embeddings, output):
    source, target = (
        _read_vocabulary(folder, side, config, len(matrix))
        for side, matrix in zip(("source", "target"), embeddings, strict=True)
    )
    if source.tokens == target.tokens and np.array_equal(*embeddings):
        return share(target)
    return join(source, target)


def _read_vocabulary(folder, side, config, num_rows):
    names = [f"{name}_vocabulary{end}" for name in ("shared", side) for end in (".json", ".txt")]
    paths = [folder / name for name in names if (folder / name).exists()]
    if not paths:
        raise FileNotFoundError(f"{folder} has none of the files {', '.join(names)}.")
    path = paths[0]
    tokens = read_token_file(path)
    if config.unk_token not in tokens:  # as the engine does
        tokens.append(config.unk_token)
    if len(tokens) != num_rows:
        raise ValueError(
            f"{path} has {len(tokens):,} tokens, unknown ones included, but the embeddings of "
            f"{folder / 'model.bin'} have {num_rows:,} rows."
        )
    row = {token: i for i, token in enumerate(tokens)}
    needed = (config.eos_token, config.decoder_start_token if side == "target" else None)
    for token in needed:
        if token is not None and token not in row:
            raise ValueError(f"{path} lacks the token {token!r:.60} of the model's configuration.")
    return Vocabulary(
        tuple(tokens),
        unknown=row[config.unk_token],
        end=row[config.eos_token],
        start=row.get(config.decoder_start_token),
        pad=next((row[token] for token in PADDINGS if token in row), None),
    )


def _options_and_weights(variables, settings, vocabulary, embeddings, output):
    """Arguments of `TransformerBackbone`, and weights by their paths."""
    hidden_dim = embeddings[0].shape[1]
    has_bias = any(f"{side}/layer_0/self_attention/linear_0/bias" in variables for side in SIDES)
    matrices = joint_matrices(vocabulary, *embeddings, *output)
    options, weights = position_weights(*_position_tables(variables, hidden_dim))
    options |= {
        "hidden_dim": hidden_dim,
        "intermediate_dim": len(variables.take("encoder/layer_0/ffn/linear_0/weight", 2)),
        "attention_bias": has_bias,
        "tie_weights": "reverse_embeddings" not in matrices,
        "logits_bias": "logits_bias" in matrices,
    }
    weights |= {f"token_embedding/{name}": array for name, array in matrices.items()}
    weights |= layer_weights(variables, settings.num_layers, has_bias)
    if settings.normalize_first:
        for side in SIDES:
            weights |= norm_weights(variables, f"{side}/layer_norm", f"{side}_norm")
    return options, weights


def _position_tables(variables, hidden_dim):
    tables = [variables.find([f"{side}/position_encodings/encodings"], 2) for side in SIDES]
    if (
        hidden_dim % 2
        or hidden_dim < 4
        or any(table is not None and table.shape[1] != hidden_dim for table in tables)
    ):
        raise ValueError(f"{variables.path}: its positions are not of its width, {hidden_dim}.")
    length = min([len(table) for table in tables if table is not None], default=DEFAULT_POSITIONS)
    sinusoids = half_and_half_sinusoids(length, hidden_dim, first=1)
    return [sinusoids if table is None else table for table in tables]
