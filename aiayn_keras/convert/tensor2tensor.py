"""Converts `transformer` models of tensor2tensor (https://github.com/tensorflow/tensor2tensor).

Names and formulas are those of its `models/transformer.py`, `layers/transformer_layers.py`,
`layers/common_attention.py`, `layers/common_layers.py` and `layers/modalities.py`, from version 1.4
on; vocabularies are read as by `SubwordTextEncoder` and `TokenTextEncoder` of its
`data_generators/text_encoder.py`.
"""

import re
from pathlib import Path
from typing import Literal

import numpy as np
import pydantic

from aiayn_keras.convert.tensor_files import find_checkpoint, read_checkpoint
from aiayn_keras.convert.tokenizers import (
    Vocabulary,
    build_tokenizer,
    check_tokens,
    read_lines_of,
)
from aiayn_keras.convert.weights import (
    DEFAULT_POSITIONS,
    SIDES,
    ForeignModel,
    Matrices,
    TrackedArrays,
    check_has_sinusoids,
    half_and_half_sinusoids,
)
from aiayn_keras.models.transformer_tokenizer import MAX_VOCABULARY_BYTES
from aiayn_keras_light.checks import parse
from aiayn_keras_light.files import read_bytes

ROOT = "transformer/"
_BODY = "body/"
_TARGET_SPACE = f"{_BODY}target_space_embedding/kernel"

_HPARAMS = "hparams.json"
"""File of the settings that a training writes beside its checkpoints."""

_MAX_HPARAMS_BYTES = 1 << 20
REMEDY = "Only the plain `transformer` of tensor2tensor can be converted."

PARTS = {"self_attention": "self_attention", "encdec_attention": "cross_attention"}
_LINEARS = {"q": "query", "k": "key", "v": "value", "output_transform": "output"}
NORM = re.compile(
    r"layer_(prepostprocess|preprocess|postprocess)(_\d+)?/layer_norm/layer_norm_scale"
)
"""The normalization of a sublayer; the names of its scopes depend on the version and the place."""

PAD, END = range(2)
UNKNOWN = "UNK"
"""Token of plain vocabularies for words that they lack; subtokens spell every word."""

_SPACE_INSIDE = "␠"
"""Stands in our texts for a space inside a subtoken, since a space separates two."""

_QUOTES = ("'", '"')


def convert_tensor2tensor(
    checkpoint, source_vocabulary, target_vocabulary=None, target_space=0, dtype=None
):
    """Makes a `TransformerSeq2SeqLM` from a `transformer` of tensor2tensor.

    The settings are read from `hparams.json` beside the checkpoint.

    Texts are subtokens of the vocabularies with spaces between them, and `␠` for a space inside
    one: only the toolkit's own `SubwordTextEncoder`, whose greedy search SentencePiece lacks,
    splits text into them and joins translations again.

    Args:
        checkpoint: Its prefix, such as `run/model.ckpt-250000`, its file `*.index`, or the folder
            of a run.
        source_vocabulary: The vocabulary of sources, such as
            `vocab.translate_ende_wmt32k.32768.subwords`.
        target_vocabulary: The vocabulary of translations; defaults to the source's.
        target_space: Number of the target's space, whose embedding is added to every token of a
            source: 0 for translations since version 1.5, before that one of `SpaceID` in its
            `data_generators/problem.py`.
        dtype: A `keras.DTypePolicy` or its name.

    Returns:
        A `TransformerSeq2SeqLM` with a preprocessor.

    Raises:
        OSError: If a file is missing.
        ValueError: If a file is damaged, or describes a model that this package cannot build; with
            the file and the setting or variable.
    """
    prefix = find_checkpoint(checkpoint)
    settings = _read_settings(prefix.parent / _HPARAMS)
    names, variables = read_checkpoint(prefix, f"{ROOT}.*")
    if not any(name.startswith(ROOT + _BODY) for name in variables):
        raise ValueError(
            f"{prefix}: it does not hold a `transformer` of tensor2tensor, whose variables are "
            f"named `{ROOT}{_BODY}...`, but {', '.join(names[:1]):.100}."
        )
    arrays = TrackedArrays(prefix, {n.removeprefix(ROOT): a for n, a in variables.items()})
    matrices = _read_matrices(arrays)
    paths = [Path(source_vocabulary), Path(target_vocabulary or source_vocabulary)]
    vocabulary = matrices.join_vocabularies(
        read_vocabulary(paths[0], len(matrices.source), settings.vocab_divisor),
        read_vocabulary(paths[1], len(matrices.target), settings.vocab_divisor),
    )
    tokenizer = build_tokenizer(vocabulary, None, None, paths[0])
    depths = arrays.count_depths(f"{_BODY}{{side}}/layer_", settings.depths)
    positions = _position_tables(arrays, matrices.hidden_dim, target_space)
    first = f"{_BODY}encoder/layer_0"
    attention = f"{first}/self_attention/multihead_attention"
    model = ForeignModel(
        prefix,
        tokenizer,
        vocabulary,
        matrices,
        positions,
        depths,
        intermediate_dim=arrays.take(f"{first}/ffn/conv1/kernel", 2).shape[1],
        weights=_layer_weights(arrays, depths, settings.normalizes_first),
        options={
            "num_heads": settings.num_heads,
            "key_dim": _width_of_head(arrays, f"{attention}/q/kernel", settings.num_heads),
            "value_dim": _width_of_head(arrays, f"{attention}/v/kernel", settings.num_heads),
            "normalize_first": settings.normalizes_first,
            "dropout": settings.layer_prepostprocess_dropout,
            "attention_dropout": settings.attention_dropout,
            "activation_dropout": settings.relu_dropout,
            "layer_norm_epsilon": settings.norm_epsilon,
        },
    )
    for name in arrays.unused():
        raise ValueError(
            f"{prefix}: `{ROOT}{name:.200}` does not belong to a Transformer that can be "
            "converted: one encoder and one decoder, with sinusoidal positions."
        )
    return model.build(dtype)


def is_tensor2tensor(checkpoint):
    """Returns whether a file of settings, as tensor2tensor writes it, is beside a checkpoint."""
    return (find_checkpoint(checkpoint).parent / _HPARAMS).is_file()


# === Settings ===
class _Settings(pydantic.BaseModel):
    """The settings that matter here; the defaults hold for versions that do not write them."""

    num_hidden_layers: int = pydantic.Field(default=0, ge=0)
    num_encoder_layers: int = pydantic.Field(default=0, ge=0)
    num_decoder_layers: int = pydantic.Field(default=0, ge=0)
    num_heads: int = pydantic.Field(gt=0, le=1 << 12)
    layer_preprocess_sequence: Literal["none", "n"]
    layer_postprocess_sequence: Literal["dan", "da"]
    norm_type: Literal["layer"] = "layer"
    norm_epsilon: float = pydantic.Field(default=1e-6, gt=0, lt=1)
    pos: Literal["timing"] = "timing"
    ffn_layer: Literal["dense_relu_dense", "conv_hidden_relu"] = "dense_relu_dense"
    self_attention_type: Literal["dot_product"] = "dot_product"
    multiply_embedding_mode: Literal["sqrt_depth"] = "sqrt_depth"
    prepend_mode: Literal["none"] = "none"
    proximity_bias: Literal[False] = False
    unidirectional_encoder: Literal[False] = False
    causal_decoder_self_attention: Literal[True] = True
    attention_variables_3d: Literal[False] = False
    num_area_layers: Literal[0] = 0
    hard_attention_k: Literal[0] = 0
    vocab_divisor: int = pydantic.Field(default=1, gt=0, le=1 << 16)
    layer_prepostprocess_dropout: float = pydantic.Field(default=0.1, ge=0, lt=1)
    attention_dropout: float = pydantic.Field(default=0.0, ge=0, lt=1)
    relu_dropout: float = pydantic.Field(default=0.0, ge=0, lt=1)

    @property
    def depths(self):
        """Numbers of layers of encoder and decoder; None if not stated, which 0 means, too."""
        own = self.num_encoder_layers, self.num_decoder_layers
        return tuple(depth or self.num_hidden_layers or None for depth in own)

    @property
    def normalizes_first(self):
        """Returns whether layers are pre-norm, as since the second set of hyperparameters."""
        return self.layer_preprocess_sequence == "n"

    @pydantic.model_validator(mode="after")
    def _has_one_norm(self):
        if self.normalizes_first != (self.layer_postprocess_sequence == "da"):
            raise ValueError(
                f"`layer_preprocess_sequence` {self.layer_preprocess_sequence!r} and "
                f"`layer_postprocess_sequence` {self.layer_postprocess_sequence!r} are neither "
                "'n' and 'da' nor 'none' and 'dan'"
            )
        return self


def _read_settings(path):
    return parse(_Settings, read_bytes(path, _MAX_HPARAMS_BYTES), path, REMEDY)


# === Vocabularies ===
def read_vocabulary(path, num_rows, divisor):
    """Reads a vocabulary, and checks its length.

    Args:
        path: The file, such as `vocab.translate_ende_wmt32k.32768.subwords`.
        num_rows: Number of rows of the embeddings: the number of tokens, rounded up to a multiple
            of `divisor`.
        divisor: The setting `vocab_divisor`.

    Returns:
        A `Vocabulary` of the file's tokens, whose translations begin with zeros.

    Raises:
        OSError: If the file is missing or not a regular file.
        ValueError: If it is damaged, or of a different length; with the line.
    """
    lines = [line.rstrip() for line in read_lines_of(read_bytes(path, MAX_VOCABULARY_BYTES), path)]
    is_quoted = all(len(line) > 1 and line[0] == line[-1] and line[0] in _QUOTES for line in lines)
    tokens = [_unquote(line, path) for line in lines] if is_quoted else lines
    for number, token in enumerate(tokens, start=1):
        if not token:
            raise ValueError(f"{path}, line {number}: a token is empty.")
    check_tokens(tokens, path, "line")
    if not len(tokens) <= num_rows < len(tokens) + divisor:
        raise ValueError(
            f"{path} has {len(tokens):,} tokens, but the embeddings have {num_rows:,} rows."
        )
    unknown = tokens.index(UNKNOWN) if not is_quoted and UNKNOWN in tokens else None
    return Vocabulary(tuple(tokens), unknown, END, pad=PAD)


def _unquote(line, path):
    token = line[1:-1]
    if _SPACE_INSIDE in token:
        raise ValueError(
            f"{path}: the subtoken {token!r:.60} cannot be distinguished from one with a space."
        )
    return token.replace(" ", _SPACE_INSIDE)


# === Matrices and positions ===
def _read_matrices(arrays):
    """The matrices, each from its shards, which stand one below the other."""
    scopes = {}
    for name in arrays.unused():
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
    return Matrices(arrays.path, *matrices)


def _width_of_head(arrays, name, num_heads):
    columns = arrays.take(name, 2).shape[1]
    if columns % num_heads:
        raise ValueError(
            f"{arrays.path}: `{ROOT}{name}` has {columns} columns, not a multiple of `num_heads`, "
            f"{num_heads}."
        )
    return columns // num_heads


def _position_tables(arrays, hidden_dim, target_space):
    """Sinusoids; those of the encoder include the embedding of the target's space."""
    check_has_sinusoids(arrays.path, hidden_dim)
    sinusoids = half_and_half_sinusoids(DEFAULT_POSITIONS, hidden_dim, first=0)
    spaces = arrays.find([_TARGET_SPACE], 2, np.zeros((1, hidden_dim), "float32"))
    if not 0 <= target_space < len(spaces) or spaces.shape[1] != hidden_dim:
        raise ValueError(
            f"{arrays.path}: `{ROOT}{_TARGET_SPACE}` has the shape {spaces.shape}, expected "
            f"{hidden_dim} columns and a row for `target_space`, {target_space}."
        )
    return sinusoids + spaces[target_space], sinusoids


# === Layers ===
def _layer_weights(arrays, depths, normalizes_first):
    """The weights of all layers and of the last normalizations, by the paths of ours."""
    weights = {}
    for side, depth in zip(SIDES, depths, strict=True):
        for i in range(depth):
            theirs, ours = f"{_BODY}{side}/layer_{i}", f"{side}_block_{i}"
            for name, part in list(PARTS.items())[: 1 + (side == "decoder")]:
                for linear, projection in _LINEARS.items():
                    kernel = arrays.take(f"{theirs}/{name}/multihead_attention/{linear}/kernel", 2)
                    weights[f"{ours}/{part}/{projection}/kernel"] = kernel
                weights |= _norm(arrays, f"{theirs}/{name}", f"{ours}/{part}_add_norm/layer_norm")
            for name, part in (("conv1", "hidden"), ("conv2", "output")):
                for kind, axes in (("kernel", 2), ("bias", 1)):
                    path = f"{ours}/feed_forward/{part}/{kind}"
                    weights[path] = arrays.take(f"{theirs}/ffn/{name}/{kind}", axes)
            weights |= _norm(arrays, f"{theirs}/ffn", f"{ours}/feed_forward_add_norm/layer_norm")
    if normalizes_first:
        for side in SIDES:
            weights |= _norm(arrays, f"{_BODY}{side}", f"{side}_norm")
    return weights


def _norm(arrays, scope, ours):
    """The two weights of the layer normalization in a scope."""
    found = [
        name
        for name in arrays.unused()
        if name.startswith(f"{scope}/") and NORM.fullmatch(name.removeprefix(f"{scope}/"))
    ]
    if len(found) != 1:
        raise ValueError(
            f"{arrays.path}: `{scope}` has {len(found)} layer normalizations, expected one."
        )
    return {
        f"{ours}/gamma": arrays.take(found[0], 1),
        f"{ours}/beta": arrays.take(found[0].removesuffix("scale") + "bias", 1),
    }
