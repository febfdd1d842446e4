"""Models of Hugging Face's Marian format, such as the 1,500 of OPUS-MT (https://arxiv.org/abs/2212.01936).

Names and formulas are those of transformers' `modeling_marian.py`.
"""

import os
import warnings
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import numpy as np
import pydantic
from pydantic import Field

from aiayn_keras.convert.fairseq import layer_weights
from aiayn_keras.convert.tensor_files import SHARD_INDEX, read_tensors
from aiayn_keras.convert.tokenizers import (
    NEVER,
    SPECIAL,
    Piece,
    pieces_of,
    read_model,
    reorder,
    unreachable,
)
from aiayn_keras.convert.weights import SIDES, TrackedArrays, build_model, split_sinusoids
from aiayn_keras.models import TransformerTokenizer
from aiayn_keras.models.architecture import INTEGERS, check_positions
from aiayn_keras_light.checks import parse
from aiayn_keras_light.files import read_bytes
from aiayn_keras_light.search_numbers import check_search_defaults

CONFIG = "config.json"
GENERATION_CONFIG = "generation_config.json"
WEIGHT_FILES = "model.safetensors", SHARD_INDEX, "pytorch_model.bin"
VOCABULARY_FILES = "source.spm", "target.spm", "vocab.json"
TARGET_TABLE = "target_vocab.json"
"""File with the names of the tokens in translations; our export writes it if they differ."""

TOKENIZER_CONFIG = "tokenizer_config.json"

MAX_CONFIG_BYTES = 1 << 20
_MAX_TABLE_BYTES = 1 << 24
PAD, UNK, START, END = SPECIAL
_END_ROW = 3
_LAYER_NORM_EPSILON = 1e-5  # PyTorch's
_CLOSE = 5e-3
"""Difference below which a table holds the sinusoids, maybe in bfloat16."""

REMEDY = "Only Marian models of the Transformer's own architecture can be converted."

Activation = Literal["swish", "silu", "relu", "gelu"]
_TokenId = Annotated[int, Field(ge=0, lt=INTEGERS["vocabulary_size"][1])]


def _size(name):
    minimum, maximum = INTEGERS[name]
    return Annotated[int, Field(ge=minimum, le=maximum)]


class _MarianConfig(pydantic.BaseModel):
    """The architecture in `config.json`; its other fields do not matter."""

    model_config = pydantic.ConfigDict(extra="ignore", strict=True)

    model_type: Literal["marian"]
    vocab_size: _size("vocabulary_size")
    decoder_vocab_size: int | None = None
    d_model: _size("hidden_dim")
    encoder_layers: _size("num_encoder_layers")
    decoder_layers: _size("num_decoder_layers")
    encoder_attention_heads: _size("num_heads")
    decoder_attention_heads: _size("num_heads")
    encoder_ffn_dim: _size("intermediate_dim")
    decoder_ffn_dim: _size("intermediate_dim")
    max_position_embeddings: _size("max_sequence_length")
    activation_function: Activation
    dropout: float = 0.1
    attention_dropout: float = 0.0
    activation_dropout: float = 0.0
    pad_token_id: _TokenId
    eos_token_id: _TokenId
    decoder_start_token_id: _TokenId
    scale_embedding: Literal[True]
    normalize_before: Literal[False] = False
    normalize_embedding: Literal[False] = False
    add_final_layer_norm: Literal[False] = False
    static_position_embeddings: Literal[True] = True
    share_encoder_decoder_embeddings: Literal[True] = True
    tie_word_embeddings: Literal[True] = True

    @pydantic.model_validator(mode="after")
    def _can_be_ours(self):
        for name in ("attention_heads", "ffn_dim"):
            encoder, decoder = (getattr(self, f"{side}_{name}") for side in ("encoder", "decoder"))
            if encoder != decoder:
                raise ValueError(f"`encoder_{name}` is {encoder}, but `decoder_{name}` {decoder}")
        if self.decoder_vocab_size not in (None, self.vocab_size):
            raise ValueError("there are two vocabularies, but `vocab_size` is that of both here")
        check_positions(self.max_position_embeddings, self.d_model)
        return self


class _GenerationConfig(pydantic.BaseModel):
    """The settings of a search: those that ours has too, and those that belong to the model."""

    model_config = pydantic.ConfigDict(extra="allow")

    num_beams: int | None = None
    length_penalty: float | None = None
    no_repeat_ngram_size: int | None = None
    decoder_start_token_id: int | None = None
    eos_token_id: int | list[int] | None = None
    forced_bos_token_id: None = None
    bad_words_ids: list[list[int]] | None = None


_OUR_SETTINGS = {"num_beams", "length_penalty", "no_repeat_ngram_size"}
_OTHER_SETTINGS = {
    "do_sample": [False],
    "min_length": [0, 1, 2],  # the start token counts
    "min_new_tokens": [0, 1],
    "repetition_penalty": [1],
    "encoder_repetition_penalty": [1],
    "encoder_no_repeat_ngram_size": [0],
    "num_beam_groups": [1],
    "diversity_penalty": [0],
    "suppress_tokens": [[]],
    "begin_suppress_tokens": [[]],
    "sequence_bias": [],
    "exponential_decay_length_penalty": [],
    "force_words_ids": [],
}
"""Settings that change translations and that our search lacks, with the values that do not."""


def convert_marian(folder, dtype=None):
    """Makes a `TransformerSeq2SeqLM` from a Marian model of Hugging Face.

    It gives the same logits, and splits texts into the same wordpieces; see
    `read_marian_vocabulary` for the differences. Its `search_defaults` are those of
    `generation_config.json`, see `_search_defaults`. With them, Hugging Face's search with
    `early_stopping="never"` equals ours; without `"never"` it may stop before a better hypothesis
    ends.

    Args:
        folder: Path of a folder with `config.json`, `source.spm`, `target.spm`, `vocab.json`, and
            `model.safetensors`, or `model.safetensors.index.json` with its shards, or
            `pytorch_model.bin`; and with `target_vocab.json` if translations have other tokens.
        dtype: A `keras.DTypePolicy` or its name.

    Returns:
        A `TransformerSeq2SeqLM`.

    Raises:
        OSError: If a file is missing.
        ValueError: If a file is damaged, or the model has a different architecture, with the file
            and the field or tensor.
    """
    folder = Path(folder)
    path = folder / CONFIG
    config = parse(_MarianConfig, read_bytes(path, MAX_CONFIG_BYTES), path, REMEDY)
    vocabulary = read_marian_vocabulary(folder, config.vocab_size, config.decoder_start_token_id)
    for name, row in (("pad_token_id", 0), ("eos_token_id", _END_ROW)):
        if getattr(config, name) != vocabulary.rows[row]:
            raise ValueError(
                f"{path}: `{name}` is {getattr(config, name)}, but the token {SPECIAL[row]} of "
                f"vocab.json has the number {vocabulary.rows[row]}."
            )
    search_defaults = _search_defaults(folder, config, vocabulary.rows[:_END_ROW].tolist())
    weights = _find_weights(folder)
    tensors = TrackedArrays(weights, read_tensors(weights))
    arrays = _read_arrays(tensors, config, vocabulary)
    if tensors.unused():
        name = min(tensors.unused())
        raise ValueError(f"{weights}: `{name:.200}` is not a tensor of the model.")
    model = build_model(
        weights,
        vocabulary.tokenizer,
        len(vocabulary.rows),
        arrays,
        num_encoder_layers=config.encoder_layers,
        num_decoder_layers=config.decoder_layers,
        num_heads=config.encoder_attention_heads,
        hidden_dim=config.d_model,
        intermediate_dim=config.encoder_ffn_dim,
        dropout=config.dropout,
        attention_dropout=config.attention_dropout,
        activation_dropout=config.activation_dropout,
        activation=config.activation_function,
        attention_bias=True,
        logits_bias=True,
        position_embedding="given",
        layer_norm_epsilon=_LAYER_NORM_EPSILON,
        max_sequence_length=config.max_position_embeddings,
        dtype=dtype,
    )
    model.search_defaults = search_defaults
    return model


def _search_defaults(folder, config, never_written):
    """The settings of a search in a folder of Hugging Face's, as our own `search_defaults`.

    They are in `generation_config.json`, or in the `config.json` of older models. A missing
    `length_penalty` is 1, as in transformers; a missing `num_beams` is our default, and not 1 as
    there.

    Args:
        folder: Path of the folder.
        config: The `_MarianConfig`.
        never_written: List of the numbers of tokens that our search never writes.

    Raises:
        ValueError: If the file is damaged, a setting is not one of ours, or the start or end token
            is not that of `config.json`.

    Warns:
        UserWarning: For settings that change translations there and that our search lacks.
    """
    path = folder / GENERATION_CONFIG
    if not os.path.lexists(path):
        path = folder / CONFIG
    settings = parse(_GenerationConfig, read_bytes(path, MAX_CONFIG_BYTES), path, REMEDY)
    for name in ("decoder_start_token_id", "eos_token_id"):
        stated, wanted = getattr(settings, name), getattr(config, name)
        if stated not in (None, wanted, [wanted]):
            raise ValueError(
                f"{path}: `{name}` is {stated!s:.60}, but {wanted} in {CONFIG}. A model with both "
                "cannot be converted."
            )
    _warn_of_other_settings(path, settings, never_written)
    found = {"length_penalty": 1.0, **settings.model_dump(include=_OUR_SETTINGS, exclude_none=True)}
    try:
        return check_search_defaults({**found, "length_penalty_offset": 0})
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from error


def _warn_of_other_settings(path, settings, never_written):
    names = [
        name
        for name, neutral in _OTHER_SETTINGS.items()
        if settings.model_extra.get(name) not in (None, *neutral)
    ]
    if any(words not in [[n] for n in never_written] for words in settings.bad_words_ids or []):
        names.append("bad_words_ids")
    if names:
        warnings.warn(
            f"{path}: our search lacks {', '.join(names)}, so translations may differ from those "
            "of Hugging Face with these settings.",
            stacklevel=2,
        )


def _find_weights(folder):
    for name in WEIGHT_FILES:
        if os.path.lexists(folder / name):  # a link may be broken
            return folder / name
    raise FileNotFoundError(f"{folder} has none of the files {', '.join(WEIGHT_FILES)}.")


def _read_arrays(tensors, config, vocabulary):
    """Arrays by the paths of our weights."""
    positions = split_sinusoids(config.max_position_embeddings, config.d_model)
    arrays = {f"{side}_embedding/table": positions for side in SIDES}
    for side in SIDES:  # which old versions of transformers write
        name = f"model.{side}.embed_positions.weight"
        stored = tensors.find([name], 2, positions)
        if stored.shape != positions.shape or np.abs(stored - positions).max() > _CLOSE:
            raise ValueError(
                f"{tensors.path}: `{name}` are not the sinusoids of {len(positions)} positions. "
                f"{REMEDY}"
            )
    arrays |= _read_embedding(tensors, config, vocabulary)
    depths = config.encoder_layers, config.decoder_layers
    arrays |= layer_weights(tensors, depths, "model.")
    return arrays


def _read_embedding(tensors, config, vocabulary):
    matrix = tensors.take("model.shared.weight", 2)
    shape = (config.vocab_size, config.d_model)
    if matrix.shape != shape:
        where = f"{tensors.path}, `model.shared.weight`"
        raise ValueError(f"{where}: expected the shape {shape}, got {matrix.shape}.")
    # Copies that some versions of transformers write.
    for name in ("model.encoder.embed_tokens", "model.decoder.embed_tokens", "lm_head"):
        name = f"{name}.weight"
        if name in tensors and not np.array_equal(tensors.take(name, 2), matrix):
            raise ValueError(
                f"{tensors.path}: `{name}` differs from `model.shared.weight`. {REMEDY}"
            )
    zeros = np.zeros((1, config.vocab_size), "float32")
    bias = tensors.find(["final_logits_bias"], 2, zeros).reshape(-1)
    if bias.shape != (config.vocab_size,):
        raise ValueError(f"{tensors.path}, `final_logits_bias`: not {config.vocab_size} numbers.")
    return {
        "token_embedding/embeddings": matrix[vocabulary.rows],
        "token_embedding/logits_bias": np.where(
            vocabulary.is_written, bias[vocabulary.rows], NEVER
        ),
    }


# === Vocabulary ===
class _Table(pydantic.RootModel, strict=True):
    root: dict[str, int]


class _TokenizerConfig(pydantic.BaseModel, strict=True):
    separate_vocabs: bool = False


class MarianVocabulary(NamedTuple):
    """Tokens in our order.

    Attributes:
        tokenizer: The `TransformerTokenizer`.
        rows: Integer array `(V,)`, for each of our tokens the number of the foreign token whose
            embedding it has: the unknown token's for a piece without a foreign token.
        is_written: Boolean array `(V,)`, False for tokens that the foreign model cannot write.
    """

    tokenizer: TransformerTokenizer
    rows: np.ndarray
    is_written: np.ndarray


def read_marian_vocabulary(folder, vocabulary_size, start=None):
    """Reads `source.spm`, `target.spm` and `vocab.json`.

    In this format SentencePiece finds a text's pieces, and a table holds their numbers. In this
    package the SentencePiece models themselves have the table's order, after four special tokens.

    - The start token is a separate token. In Marian's models it is the padding token, unless this
      package exported them.
    - A piece of the source that the table lacks, which Marian reads as unknown, becomes an
      additional token with the unknown token's embedding. In translations it is split into others.
    - A token such as `>>fra<<`, with which a source asks for a language, is recognized anywhere in
      the text; Marian recognizes it only at the beginning.
    - Characters that SentencePiece does not know are unknown. Marian looks them up in the table,
      which may have them from the other language.
    - With a `target_vocab.json` the tokens of translations are named by that table.

    Args:
        folder: Path of the folder.
        vocabulary_size: Number of tokens of the foreign model.
        start: Number of the token with which translations begin; defaults to the padding token's.

    Returns:
        A `MarianVocabulary`.

    Raises:
        OSError: If a file is missing.
        ValueError: If a file is damaged, the table does not have every number once, or
            translations begin with a token other than `<pad>` and `<s>`.
    """
    folder = Path(folder)
    path = folder / "vocab.json"
    table = _read_table(path, vocabulary_size)
    start = table[PAD] if start is None else start
    if start not in (table[PAD], table.get(START)):
        raise ValueError(f"{path}: translations begin with token {start}, not {PAD} or {START}.")
    source, target = (read_model(folder / f"{side}.spm") for side in ("source", "target"))
    ids = {_name(piece): table[piece] for piece in sorted(table, key=table.get)}
    in_table = [piece for piece in ids if piece not in SPECIAL]
    languages = {_name(piece) for piece in table if _is_language(piece)}
    beyond = [piece for piece in pieces_of(source) if piece not in table and piece not in SPECIAL]
    target_table, target_pieces = table, in_table + beyond
    if _has_target_table(folder):
        target_table = _read_table(folder / TARGET_TABLE, vocabulary_size)
        target_pieces = _target_pieces(folder / TARGET_TABLE, target_table, table, len(beyond))
    for side, model, names in (("source", source, table), ("target", target, target_table)):
        _check_pieces(folder / f"{side}.spm", model, names)
    tokenizer = TransformerTokenizer(
        reorder(source, in_table + beyond, languages),
        reorder(_without(target, set(target_table)), target_pieces),
    )
    rows = [table[PAD], table[UNK], start, table[END]]
    rows += [ids[piece] for piece in in_table] + [table[UNK]] * len(beyond)
    is_written = np.ones(len(rows), bool)
    is_written[2] = start != table[PAD]
    is_written[len(rows) - len(beyond) :] = False
    return MarianVocabulary(tokenizer, np.array(rows), is_written)


def _check_pieces(path, model, table):
    """Refuses a SentencePiece model if most of its pieces are not in the table."""
    bytes_ = {piece.piece for piece in model.pieces if piece.type == Piece.BYTE}
    pieces = [piece for piece in pieces_of(model) if piece not in bytes_]
    missing = [piece for piece in pieces if piece not in table]
    if 2 * len(missing) > len(pieces):
        raise ValueError(
            f"{path}: {len(missing):,} of its {len(pieces):,} pieces, such as {missing[0]!r:.60}, "
            "are not in the table of tokens: it belongs to a different model. Copy both again."
        )


def _has_target_table(folder):
    """Returns whether translations have a table of their own, as Hugging Face's tokenizer would.

    Raises:
        ValueError: If the table is there and its setting is not, or the other way round.
    """
    path, table = folder / TOKENIZER_CONFIG, folder / TARGET_TABLE
    has_table = os.path.lexists(table)
    if not os.path.lexists(path):
        return has_table
    content = read_bytes(path, MAX_CONFIG_BYTES)
    config = parse(_TokenizerConfig, content, path, "It is not a tokenizer's configuration.")
    if config.separate_vocabs != has_table:
        raise ValueError(
            f"{path}: `separate_vocabs` is {config.separate_vocabs}, but there is "
            f"{'a' if has_table else 'no'} file {TARGET_TABLE}: copy both again from the model."
        )
    return has_table


def _target_pieces(path, target_table, table, num_beyond):
    """Names of the tokens from 4 on in translations, which have a table of their own."""
    for piece in SPECIAL:
        if target_table.get(piece) != table.get(piece):
            raise ValueError(
                f"{path}: the token {piece} has the number {target_table.get(piece)}, but "
                f"{table.get(piece)} in vocab.json."
            )
    pieces = [
        _name(piece) for piece in sorted(target_table, key=target_table.get) if piece not in SPECIAL
    ]
    taken = set(pieces)
    return pieces + [unreachable(len(pieces) + i, taken) for i in range(num_beyond)]


def _is_language(piece):
    return piece.startswith(">>") and piece.endswith("<<")


def _name(piece):
    """Our name of a token; the token of a language is a word, which begins with a space."""
    return f"▁{piece}" if _is_language(piece) else piece


def _read_table(path, vocabulary_size):
    """Reads the numbers of tokens by their names; each number of the model must occur once."""
    content = read_bytes(path, _MAX_TABLE_BYTES)
    table = parse(_Table, content, path, "It is not a table of tokens.").root
    if sorted(table.values()) != list(range(vocabulary_size)):
        raise ValueError(
            f"{path} must have every number from 0 to {vocabulary_size - 1} once, as `vocab_size` "
            f"of config.json says. Received: {len(table)} tokens."
        )
    missing = [piece for piece in (PAD, UNK, END) if piece not in table]
    if missing:
        raise ValueError(f"{path}: the token {missing[0]} is missing.")
    names = {}
    for piece in table:
        other = names.setdefault(_name(piece), piece)
        if other != piece:
            raise ValueError(
                f"{path}: the tokens {other!r:.60} and {piece!r:.60} are one word in texts here. "
                "A model with both cannot be converted."
            )
    if "" in table:
        raise ValueError(f"{path}: the token number {table['']} has no characters.")
    return table


def _without(model, table):
    """A copy of a SentencePiece model with only the pieces that are in the table.

    The 256 bytes stay only if all of them are in it, as SentencePiece needs them.
    """
    has_bytes = all(p.piece in table for p in model.pieces if p.type == Piece.BYTE)
    copy = type(model)()
    copy.CopyFrom(model)
    copy.trainer_spec.byte_fallback &= has_bytes
    del copy.pieces[:]
    copy.pieces.extend(
        piece
        for piece in model.pieces
        if piece.piece in table and (has_bytes or piece.type != Piece.BYTE)
    )
    return copy
