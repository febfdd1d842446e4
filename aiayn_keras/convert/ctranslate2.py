"""Converts models of CTranslate2 (https://opennmt.net/CTranslate2), a C++ engine.

The names of variables are those of its `ctranslate2/specs/transformer_spec.py` and its neighbours.
A matrix there is the transpose of ours, and those of queries, keys and values are joined.
"""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pydantic

from aiayn_keras.convert.ctranslate2_binary import read_model_bin
from aiayn_keras.convert.tokenizers import (
    Vocabulary,
    add_pieces,
    build_tokenizer,
    read_sentencepiece_models,
    read_token_file,
)
from aiayn_keras.convert.weights import (
    DEFAULT_POSITIONS,
    SIDES,
    ForeignModel,
    Matrices,
    TrackedArrays,
    half_and_half_sinusoids,
)
from aiayn_keras_light.checks import parse
from aiayn_keras_light.files import read_bytes

_DEFAULT_EPSILON = 1e-5
"""The engine's ε of layer normalization where `config.json` does not state one."""

_PADDINGS = ("<pad>", "<blank>")
"""Names of the padding token, which the configuration does not state; `<blank>` is OpenNMT's."""

_HEADS_OF_SPECIFICATION = {"": 8, "TransformerBase": 8, "TransformerBig": 16}
"""Heads of old models, which depend on the specification; a `TransformerSpec` states them."""

ACTIVATIONS = {0: "relu", 2: "silu", 3: "gelu", 5: "tanh", 6: "sigmoid"}
"""CTranslate2's codes; our models lack its approximations of GELU, 1 and 4."""

_ZEROS = "decoder/start_from_zero_embedding"
"""Switch of models whose translations begin with zeros, such as Marian's."""

_MAX_REVISION = 7
_FIRST_VERSION_WITH_CONFIG = 6
MAX_CONFIG_BYTES = 1 << 20

NOT_WEIGHTS = ("alignment_layer", "alignment_heads", "embeddings_merge")
"""Variables that do not change the model's answers."""


def convert_ctranslate2(folder, dtype=None):
    """Makes a `TransformerSeq2SeqLM` from a CTranslate2 model.

    Weights of every format become float32. The folder needs only what the engine needs:
    `model.bin`, `config.json` (from version 6 of the layout on), and `shared_vocabulary` or
    `source_vocabulary` and `target_vocabulary`, `.json` or `.txt`.

    The engine takes and gives tokens. If the folder also holds the SentencePiece model that makes
    them, as our exports do (`sentencepiece.model` and, if translations have their own,
    `target_sentencepiece.model`; OPUS-MT's `source.spm` and `target.spm`), the model takes text.
    Otherwise its texts are the engine's tokens with spaces between them.

    Our search differs from the engine's as `aiayn_keras.export.export_ctranslate2` says. The
    engine's default corresponds to our `length_penalty=1.0, length_penalty_offset=0`; a model does
    not store such settings, so pass them to `translate`, the commands and the export.

    Args:
        folder: The folder that `ctranslate2.Translator` would load.
        dtype: A `keras.DTypePolicy` or its name.

    Returns:
        A `TransformerSeq2SeqLM` with a preprocessor.

    Raises:
        OSError: If a file is missing.
        ValueError: If a file is damaged, or describes a model that this package cannot build, with
            positions, normalizations or activations that it lacks, or sides that differ in more
            than depth; with the file and the variable.
    """
    folder = Path(folder)
    model_bin = read_model_bin(folder / "model.bin")
    variables = TrackedArrays(model_bin.path, model_bin.variables)
    config = _read_config(folder, model_bin, variables)
    settings = _read_settings(model_bin, variables)
    depths = variables.count_depths("{side}/layer_")
    matrices = _read_matrices(variables)
    vocabulary = matrices.join_vocabularies(
        _read_vocabulary(folder, "source", config, len(matrices.source)),
        _read_vocabulary(folder, "target", config, len(matrices.target)),
    )
    models = read_sentencepiece_models(folder)
    if models[0] is not None:
        vocabulary = add_pieces(vocabulary, *models, folder)
    has_bias = any(f"{side}/layer_0/self_attention/linear_0/bias" in variables for side in SIDES)
    model = ForeignModel(
        model_bin.path,
        build_tokenizer(vocabulary, *models, folder, config.add_source_eos),
        vocabulary,
        matrices,
        positions=_position_tables(variables, matrices.hidden_dim),
        depths=depths,
        intermediate_dim=len(variables.take("encoder/layer_0/ffn/linear_0/weight", 2)),
        weights=_layer_weights(variables, depths, settings.normalize_first, has_bias),
        options={
            "num_heads": settings.num_heads,
            "normalize_first": settings.normalize_first,
            "activation": settings.activation,
            "attention_bias": has_bias,
            "layer_norm_epsilon": config.layer_norm_epsilon or _DEFAULT_EPSILON,
        },
    )
    _check_all_used(variables)
    return model.build(dtype)


# === Settings ===
class _Config(pydantic.BaseModel):
    """The file `config.json`; its defaults are those of CTranslate2 for models without it."""

    unk_token: str = "<unk>"
    bos_token: str = "<s>"
    eos_token: str = "</s>"
    decoder_start_token: str | None = "<s>"
    add_source_bos: bool = False
    add_source_eos: bool = False
    layer_norm_epsilon: float | None = pydantic.Field(default=None, gt=0, lt=1)


@dataclass(frozen=True)
class _Settings:
    """Numbers and switches of both sides."""

    num_heads: int
    normalize_first: bool
    activation: str


def _read_config(folder, model_bin, variables):
    """Reads `config.json`, or the variables that old models have instead.

    If translations begin with zeros, `decoder_start_token` becomes None, and `add_source_eos`
    True: Marian reads an end token after each source, and CTranslate2's converter for Transformers
    leaves it to the caller to add one.
    """
    path = folder / "config.json"
    if model_bin.version < _FIRST_VERSION_WITH_CONFIG:
        config, path = _config_of_variables(variables), model_bin.path
    elif path.exists():
        config = parse(
            _Config, read_bytes(path, MAX_CONFIG_BYTES), path, "It is not a configuration."
        )
    else:
        config = _Config()
    if config.add_source_bos:
        raise ValueError(
            f"{path}: models whose sources begin with a start token cannot be converted."
        )
    if variables.find([_ZEROS], 0, 0):
        return config.model_copy(update={"decoder_start_token": None, "add_source_eos": True})
    if config.decoder_start_token is None:
        raise ValueError(
            f"{path}: models without a `decoder_start_token`, which is given with each text, "
            "cannot be converted."
        )
    starts_with_text = config.decoder_start_token not in (config.eos_token, *_PADDINGS)
    if not (starts_with_text or config.add_source_eos):
        raise ValueError(
            f"{path}: models whose sources have no end token, but whose translations begin with "
            f"{config.decoder_start_token!r:.60} (M2M-100, NLLB and Pegasus by CTranslate2's "
            "converter for Transformers), get the end token, and maybe a language, with each text, "
            "and cannot be converted."
        )
    return config


def _config_of_variables(variables):
    flags = {
        name: variables.find([name], 0, default)
        for name, default in (
            ("with_source_bos", 0),
            ("with_source_eos", 0),
            ("with_target_bos", 1),
            ("user_decoder_start_tokens", 0),
        )
    }
    names = {}
    for field in ("unk_token", "bos_token", "eos_token"):
        code = variables.find([field], 1)
        if code is not None:
            names[field] = code.astype("int8").tobytes().decode("utf-8", errors="replace")
    config = _Config(
        add_source_bos=flags["with_source_bos"], add_source_eos=flags["with_source_eos"]
    )
    config = config.model_copy(update=names)
    start = config.bos_token if flags["with_target_bos"] else config.eos_token
    if flags["user_decoder_start_tokens"]:
        start = None
    return config.model_copy(update={"decoder_start_token": start})


def _read_settings(model_bin, variables):
    """Reads the numbers and switches of a `ModelBin`, whose sides must be equal."""
    path = model_bin.path
    kind, revision = model_bin.specification, model_bin.revision
    if kind not in (*_HEADS_OF_SPECIFICATION, "TransformerSpec"):
        raise ValueError(f"{path} holds a `{kind:.60}`, but only a Transformer can be converted.")
    if not 2 <= revision <= _MAX_REVISION:
        raise ValueError(
            f"{path}: revision {revision:,} of {kind} cannot be read, only 2 to {_MAX_REVISION}."
        )
    encoder, decoder = (
        _side_settings(side, variables, _HEADS_OF_SPECIFICATION.get(kind, 8))
        for side in ("encoder", "decoder")
    )
    if encoder != decoder:
        raise ValueError(f"{path}: encoder and decoder differ, {encoder} and {decoder}.")
    return encoder


def _side_settings(side, variables, num_heads):
    def find(name, default):
        return variables.find([f"{side}/{name}", name], 0, default)

    activation = find("activation", 0)
    if activation not in ACTIVATIONS:
        raise ValueError(
            f"{variables.path}: the activation number {activation} is not among "
            f"{', '.join(f'{code} ({name})' for code, name in ACTIVATIONS.items())}."
        )
    return _Settings(
        find("num_heads", num_heads), bool(find("pre_norm", 1)), ACTIVATIONS[activation]
    )


# === Matrices, vocabularies and positions ===
def _read_matrices(variables):
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
    return Matrices(variables.path, *embeddings, projection, bias)


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
        pad=next((row[token] for token in _PADDINGS if token in row), None),
    )


def _position_tables(variables, hidden_dim):
    tables = [variables.find([f"{side}/position_encodings/encodings"], 2) for side in SIDES]
    if (
        hidden_dim % 2
        or hidden_dim < 4
        or any(table is not None and table.shape[1] != hidden_dim for table in tables)
    ):
        raise ValueError(f"{variables.path}: its positions do not have its width, {hidden_dim}.")
    length = min([len(table) for table in tables if table is not None], default=DEFAULT_POSITIONS)
    sinusoids = half_and_half_sinusoids(length, hidden_dim, first=1)
    return [sinusoids if table is None else table for table in tables]


# === Layers ===
def _layer_weights(variables, depths, normalize_first, has_bias):
    """The weights of all layers and of the last normalizations, by the paths of ours.

    Missing biases of attention are 0 where others exist, as `has_bias` says.
    """
    weights = {}
    for side, depth in zip(SIDES, depths, strict=True):
        for i in range(depth):
            theirs, ours = f"{side}/layer_{i}", f"{side}_block_{i}"
            weights |= _attention(variables, theirs, ours, "self_attention", has_bias)
            weights |= _feed_forward(variables, theirs, ours)
            if side == "decoder":
                weights |= _attention(variables, theirs, ours, "cross_attention", has_bias)
    if normalize_first:
        for side in SIDES:
            weights |= _norm(variables, f"{side}/layer_norm", f"{side}_norm")
    return weights


def _norm(variables, theirs, ours):
    """The two weights of a layer normalization."""
    return {f"{ours}/{name}": variables.take(f"{theirs}/{name}", 1) for name in ("gamma", "beta")}


def _attention(variables, theirs, ours, kind, has_bias):
    """The weights of one attention and its normalization."""
    joined = [("query", "key", "value"), ("output",)]
    if kind == "cross_attention":
        joined = [("query",), ("key", "value"), ("output",)]
    theirs = f"{theirs}/{'self_attention' if kind == 'self_attention' else 'attention'}"
    weights = _norm(variables, f"{theirs}/layer_norm", f"{ours}/{kind}_add_norm/layer_norm")
    for i, names in enumerate(joined):
        kernel, bias = _linear(variables, f"{theirs}/linear_{i}", len(names))
        for name, part, bias_part in zip(names, kernel, bias, strict=True):
            weights[f"{ours}/{kind}/{name}/kernel"] = part.T
            if has_bias:
                weights[f"{ours}/{kind}/{name}/bias"] = bias_part
    return weights


def _feed_forward(variables, theirs, ours):
    theirs, ours = f"{theirs}/ffn", f"{ours}/feed_forward"
    weights = _norm(variables, f"{theirs}/layer_norm", f"{ours}_add_norm/layer_norm")
    for i, name in enumerate(("hidden", "output")):
        (kernel,), (bias,) = _linear(variables, f"{theirs}/linear_{i}", 1)
        weights |= {f"{ours}/{name}/kernel": kernel.T, f"{ours}/{name}/bias": bias}
    return weights


def _linear(variables, name, num_parts):
    """The matrix and the bias of a linear layer, each cut into equal parts."""
    matrix = variables.take(f"{name}/weight", 2)
    bias = variables.find([f"{name}/bias"], 1, np.zeros(len(matrix), "float32"))
    if len(matrix) % num_parts or len(bias) != len(matrix):
        raise ValueError(
            f"{variables.path}: `{name}/weight` has {len(matrix)} rows and `{name}/bias` "
            f"{len(bias)}, expected equal numbers and a multiple of {num_parts}."
        )
    return np.split(matrix, num_parts), np.split(bias, num_parts)


def _check_all_used(variables):
    """Raises a `ValueError` for a variable that our model has no place for."""
    for name, array in variables.unused().items():
        is_switched_off = array.ndim == 0 and not array
        if not is_switched_off and name.split("/")[-1] not in NOT_WEIGHTS:
            raise ValueError(
                f"{variables.path}: `{name:.200}` does not belong to a Transformer that can be "
                "converted: an encoder and a decoder with sinusoidal or learned positions."
            )
