"""Converts `transformer` models of fairseq (https://github.com/facebookresearch/fairseq).

Names and formulas are those of its `models/transformer`, `modules/transformer_layer.py`,
`modules/sinusoidal_positional_embedding.py` and `data/dictionary.py`. Hugging Face's Marian has the
same names of layers.
"""

import math
from pathlib import Path
from typing import Literal

import numpy as np
import pydantic

from aiayn_keras.convert.tensor_files import read_fairseq_file
from aiayn_keras.convert.tokenizers import (
    Vocabulary,
    add_pieces,
    build_tokenizer,
    check_tokens,
    read_lines_of,
    read_sentencepiece_models,
)
from aiayn_keras.convert.weights import (
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

SPECIAL_TOKENS = ("<s>", "<pad>", "</s>", "<unk>")
"""The first four tokens of every dictionary, which its file leaves out."""

PAD, END, UNKNOWN = 1, 2, 3
_OUTPUT = "decoder.output_projection.weight"
FIRST_POSITION = PAD + 1
"""Positions are counted from the number after that of the padding token."""

EPSILON = 1e-5  # PyTorch's
NOT_WEIGHTS = ("version", "_float_tensor", "weights")
"""Endings of names of tensors that are computed, not learned; `weights`: the old sinusoids."""

_OTHER_MODELS = ("unidirectional", "monotonic", "pointer_generator")
"""Parts of names of architectures that have a `transformer`'s tensors but compute differently."""

_MAX_POSITIONS = 1 << 15

REMEDY = "Only `transformer` models of fairseq can be converted."

ACTIVATIONS = {
    "relu": "relu",
    "gelu": "gelu",
    "swish": "silu",
    "tanh": "tanh",
    "linear": "linear",
}
"""fairseq's names and Keras' names; `gelu_fast` and `gelu_accurate` are approximations."""


_OLD_NORMS = {
    "self_attn_layer_norm": ("layer_norms.0",) * 2,
    "encoder_attn_layer_norm": (None, "layer_norms.1"),
    "final_layer_norm": ("layer_norms.1", "layer_norms.2"),
}
"""Names of normalizations before 2019, in the encoder and in the decoder."""


def convert_fairseq(checkpoint, source_dictionary, target_dictionary=None, dtype=None):
    """Makes a `TransformerSeq2SeqLM` from a `transformer` of fairseq.

    Nothing in the checkpoint is run. fairseq is not needed, and PyTorch only for checkpoints from
    before its version 1.6. Texts are words of the dictionaries with spaces between them: split them
    first as they were split for the training (subword-nmt's `@@`), and join the translations again.
    If the dictionary's folder holds `sentencepiece.model`, whose pieces are the words, the model
    takes text.

    Args:
        checkpoint: The file, such as `model.pt`.
        source_dictionary: The file `dict.<language>.txt` of the source.
        target_dictionary: The dictionary of translations; defaults to the source's.
        dtype: A `keras.DTypePolicy` or its name.

    Returns:
        A `TransformerSeq2SeqLM` with a preprocessor.

    Raises:
        OSError: If a file is missing.
        ValueError: If a file is damaged, or describes a model that this package cannot build; with
            the file and the setting or tensor.
    """
    settings, arrays = read_fairseq_checkpoint(checkpoint)
    arrays = TrackedArrays(checkpoint, arrays)
    matrices = _read_matrices(arrays, settings)
    paths = Path(source_dictionary), Path(target_dictionary or source_dictionary)
    vocabulary = matrices.join_vocabularies(
        _read_vocabulary(paths[0], len(matrices.source)),
        _read_vocabulary(paths[1], len(matrices.target)),
    )
    models = read_sentencepiece_models(paths[0].parent)
    if models[0] is not None:
        vocabulary = add_pieces(vocabulary, *models, paths[0])
    tokenizer = build_tokenizer(vocabulary, *models, paths[0])
    stated = settings.encoder_layers, settings.decoder_layers
    depths = arrays.count_depths("{side}.layers.", stated)
    positions, is_learned = _position_tables(arrays, settings, matrices.hidden_dim)
    weights = layer_weights(arrays, depths)
    if settings.encoder_normalize_before:
        for side in SIDES:
            weights |= _norm(arrays, f"{side}.layer_norm", f"{side}_norm")
    model = ForeignModel(
        checkpoint,
        tokenizer,
        vocabulary,
        matrices,
        positions,
        depths,
        intermediate_dim=len(arrays.take("encoder.layers.0.fc1.weight", 2)),
        weights=weights,
        options={
            "num_heads": settings.encoder_attention_heads,
            "normalize_first": settings.encoder_normalize_before,
            "activation": ACTIVATIONS[settings.activation_fn],
            "dropout": settings.dropout,
            "attention_dropout": settings.attention_dropout,
            "activation_dropout": settings.activation_dropout,
            "attention_bias": True,
            "layer_norm_epsilon": EPSILON,
        },
        is_learned=is_learned,
    )
    _check_all_used(arrays)
    return model.build(dtype)


# === Settings ===
class Settings(pydantic.BaseModel):
    """The settings of a training that matter here, with fairseq's defaults."""

    arch: str = pydantic.Field(default="transformer", pattern="^transformer")
    encoder_layers: int | None = None
    decoder_layers: int | None = None
    encoder_attention_heads: int = pydantic.Field(gt=0, le=1 << 12)
    decoder_attention_heads: int = pydantic.Field(gt=0, le=1 << 12)
    encoder_normalize_before: bool = False
    decoder_normalize_before: bool = False
    activation_fn: Literal[tuple(ACTIVATIONS)] = "relu"
    max_source_positions: int = pydantic.Field(default=1024, gt=0, le=_MAX_POSITIONS)
    max_target_positions: int = pydantic.Field(default=1024, gt=0, le=_MAX_POSITIONS)
    dropout: float = pydantic.Field(default=0.1, ge=0, lt=1)
    attention_dropout: float = pydantic.Field(default=0.0, ge=0, lt=1)
    activation_dropout: float = pydantic.Field(default=0.0, ge=0, lt=1)
    no_scale_embedding: bool = False
    share_all_embeddings: bool | None = None
    share_decoder_input_output_embed: bool | None = None
    encoder_learned_pos: bool = False
    decoder_learned_pos: bool = False
    encoder_layers_to_keep: None = None
    decoder_layers_to_keep: None = None
    no_decoder_final_norm: Literal[False] = False
    no_token_positional_embeddings: Literal[False] = False
    layernorm_embedding: Literal[False] = False
    no_cross_attention: Literal[False] = False
    cross_self_attention: Literal[False] = False
    adaptive_input: Literal[False] = False
    adaptive_softmax_cutoff: None = None

    @pydantic.field_validator("arch")
    @classmethod
    def _is_plain(cls, arch):
        if any(name in arch for name in _OTHER_MODELS):
            raise ValueError(f"{arch!r:.60} is a model of another kind")
        return arch

    @property
    def shares_output(self):
        """Returns whether the output may share the target's embeddings."""
        shares = self.share_all_embeddings, self.share_decoder_input_output_embed
        return any(shares) or None in shares

    @pydantic.model_validator(mode="after")
    def _has_equal_sides(self):
        for name in ("attention_heads", "normalize_before"):
            encoder, decoder = (getattr(self, f"{side}_{name}") for side in ("encoder", "decoder"))
            if encoder != decoder:
                raise ValueError(f"`encoder_{name}` is {encoder}, but `decoder_{name}` {decoder}")
        return self


def read_fairseq_checkpoint(path):
    """Reads `args` or `cfg` and `model` of a checkpoint.

    Args:
        path: The file, such as `model.pt`.

    Returns:
        `Settings`, and a dictionary from names to float32 arrays.

    Raises:
        OSError: If the file is missing or not a regular file.
        ValueError: If it is damaged, or is not a checkpoint of a `transformer`; with its name.
    """
    settings, arrays = read_fairseq_file(path, Settings.model_fields)
    return parse(Settings, settings, f"{path}, settings", REMEDY), arrays


# === Dictionaries, matrices and positions ===
def read_dictionary(path):
    """Reads a file `dict.<language>.txt`, with a word and its count on each line.

    Args:
        path: The file.

    Returns:
        List of tokens, including the four special ones that the file leaves out.

    Raises:
        OSError: If the file is missing or not a regular file.
        ValueError: For a line of a different form, or a repeated word; with the line.
    """
    words = []
    for number, line in enumerate(
        read_lines_of(read_bytes(path, MAX_VOCABULARY_BYTES), path), start=1
    ):
        word, _, count = line.removesuffix(" #fairseq:overwrite").rpartition(" ")
        if not word or not (count.isascii() and count.isdigit()):
            raise ValueError(f"{path}, line {number}: expected `word count`, got {line!r:.60}.")
        if word in SPECIAL_TOKENS:
            raise ValueError(f"{path}, line {number}: the file must leave out the token {word}.")
        words.append(word)
    check_tokens(words, path, "line")
    return [*SPECIAL_TOKENS, *words]


def _read_vocabulary(path, num_rows):
    tokens = read_dictionary(path)
    if len(tokens) != num_rows:
        raise ValueError(
            f"{path} has {len(tokens):,} tokens, the four special ones included, but the "
            f"embeddings have {num_rows:,} rows."
        )
    return Vocabulary(tuple(tokens), UNKNOWN, END, start=END, pad=PAD)


def _read_matrices(arrays, settings):
    source, target = (arrays.take(f"{side}.embed_tokens.weight", 2) for side in SIDES)
    output = arrays.find([_OUTPUT, "decoder.embed_out"], 2)
    if output is None:
        output = target if settings.shares_output else arrays.take(_OUTPUT, 2)
    if settings.no_scale_embedding:
        factor = np.float32(1 / math.sqrt(output.shape[1]))
        source, target = source * factor, target * factor
    return Matrices(arrays.path, source, target, output)


def _position_tables(arrays, settings, hidden_dim):
    """The tables of both sides, and whether both were learned."""
    check_has_sinusoids(arrays.path, hidden_dim)
    names = [f"{side}.embed_positions.weight" for side in SIDES]
    are_stated = settings.encoder_learned_pos, settings.decoder_learned_pos
    learned = [
        arrays.take(name, 2) if is_stated else arrays.find([name], 2)
        for name, is_stated in zip(names, are_stated, strict=True)
    ]
    length = min(settings.max_source_positions, settings.max_target_positions)
    tables = [
        half_and_half_sinusoids(length, hidden_dim, FIRST_POSITION)
        if table is None
        else table[FIRST_POSITION:]
        for table in learned
    ]
    return tables, all(table is not None for table in learned)


# === Layers ===
def layer_weights(arrays, depths, prefix=""):
    """The weights of all layers, whose matrices are the transposes of ours.

    Checkpoints from before 2019 hold queries, keys and values as one matrix `in_proj_weight`, and
    number the normalizations of a layer.

    Args:
        arrays: The tensors, as `TrackedArrays`.
        depths: Numbers of layers of the encoder and of the decoder.
        prefix: Prefix of their names.

    Returns:
        Dictionary from the paths of our weights to arrays.
    """
    weights = {}
    for is_decoder, (side, depth) in enumerate(zip(SIDES, depths, strict=True)):
        for i in range(depth):
            theirs, ours = f"{prefix}{side}.layers.{i}", f"{side}_block_{i}"
            parts = {"self_attn": "self_attention"}
            if is_decoder:
                parts["encoder_attn"] = "cross_attention"
            norms = {f"{name}_layer_norm": part for name, part in parts.items()}
            for name, part in parts.items():
                weights |= _attention(arrays, f"{theirs}.{name}", f"{ours}/{part}")
            for name, part in {**norms, "final_layer_norm": "feed_forward"}.items():
                old = _OLD_NORMS[name][is_decoder]
                if f"{theirs}.{name}.weight" not in arrays and f"{theirs}.{old}.weight" in arrays:
                    name = old
                path = f"{ours}/{part}_add_norm/layer_norm"
                weights |= _norm(arrays, f"{theirs}.{name}", path)
            for name, part in (("fc1", "hidden"), ("fc2", "output")):
                weights |= _dense(arrays, f"{theirs}.{name}", f"{ours}/feed_forward/{part}")
    return weights


def _norm(arrays, theirs, ours):
    """The two weights of a layer normalization."""
    return {
        f"{ours}/gamma": arrays.take(f"{theirs}.weight", 1),
        f"{ours}/beta": arrays.take(f"{theirs}.bias", 1),
    }


def _attention(arrays, theirs, ours):
    weights = _dense(arrays, f"{theirs}.out_proj", f"{ours}/output")
    names = {"q": "query", "k": "key", "v": "value"}
    if f"{theirs}.in_proj_weight" not in arrays:
        for letter, name in names.items():
            weights |= _dense(arrays, f"{theirs}.{letter}_proj", f"{ours}/{name}")
        return weights
    matrix = arrays.take(f"{theirs}.in_proj_weight", 2)
    bias = arrays.take(f"{theirs}.in_proj_bias", 1)
    if len(matrix) % 3 or len(bias) != len(matrix):
        raise ValueError(
            f"{arrays.path}: `{theirs}.in_proj_weight` has {len(matrix)} rows and `in_proj_bias` "
            f"{len(bias)}, expected equal numbers and a multiple of 3."
        )
    for name, part, bias_part in zip(
        names.values(), np.split(matrix, 3), np.split(bias, 3), strict=True
    ):
        weights |= {f"{ours}/{name}/kernel": part.T, f"{ours}/{name}/bias": bias_part}
    return weights


def _dense(arrays, theirs, ours):
    return {
        f"{ours}/kernel": arrays.take(f"{theirs}.weight", 2).T,
        f"{ours}/bias": arrays.take(f"{theirs}.bias", 1),
    }


def _check_all_used(arrays):
    for name in arrays.unused():
        if name.split(".")[-1] not in NOT_WEIGHTS:
            raise ValueError(f"{arrays.path}: `{name:.200}` is not a tensor of such a model.")
