"""The tokens of a Marian model of Hugging Face: two SentencePiece models and a table of numbers."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from pydantic import RootModel

from aiayn_keras.common.checks import parse
from aiayn_keras.common.files import read_bytes
from aiayn_keras.convert.sentencepiece_order import SPECIAL, pieces_of, read_model, reorder
from aiayn_keras.models import TransformerTokenizer

MAX_VOCABULARY_BYTES = 1 << 26
FILES = "source.spm", "target.spm", "vocab.json"
PAD, UNK, START, END = SPECIAL


class _Table(RootModel, strict=True):
    root: dict[str, int]


class MarianVocabulary(NamedTuple):
    """Tokens in our order.

    Attributes:
        tokenizer: The `TransformerTokenizer`.
        rows: Integer array `(V,)`, for each of our tokens the number of the other model's token
            whose embedding it has. A piece that the other model has no token for has that of the
            unknown token.
        is_written: Boolean array `(V,)`, False for tokens that the other model cannot write.
    """

    tokenizer: TransformerTokenizer
    rows: np.ndarray
    is_written: np.ndarray


def read_marian_vocabulary(folder, vocabulary_size, start=None):
    """Reads `source.spm`, `target.spm` and `vocab.json`.

    In this format a text's pieces are found by SentencePiece, and their numbers in a table. Here
    the SentencePiece models themselves have the table's order, behind our four special tokens.

    - The start token, which is the padding token there unless the model is an export of ours, is a
      token of its own.
    - A piece of the source that is not in the table, and unknown there, becomes a further token
      with the same embedding. In translations such a piece is split into others.
    - A token such as `>>fra<<`, by which a source asks for a language, is found wherever it is a
      word of the text, there only at its beginning.
    - Characters that SentencePiece does not know are unknown. There they are looked up in the
      table, where the other language may have them.

    Args:
        folder: Path of the folder.
        vocabulary_size: Number of tokens of the other model.
        start: Number of the token that translations begin with, if it is not the padding token.

    Returns:
        A `MarianVocabulary`.

    Raises:
        OSError: If a file is missing.
        ValueError: If a file is damaged, the table does not have every number once, or
            translations begin with another token than `<pad>` and `<s>`.
    """
    folder = Path(folder)
    path = folder / "vocab.json"
    table = parse(_Table, read_bytes(path, MAX_VOCABULARY_BYTES), path, "It is no table.").root
    _check_table(table, path, vocabulary_size)
    start = table[PAD] if start is None else start
    if start not in (table[PAD], table.get(START)):
        raise ValueError(f"{path}: translations begin with token {start}, not {PAD} or {START}.")
    source, target = (read_model(folder / f"{side}.spm") for side in ("source", "target"))
    ids = {_name(piece): table[piece] for piece in sorted(table, key=table.get)}
    in_table = [piece for piece in ids if piece not in SPECIAL]
    languages = {_name(piece) for piece in table if _is_language(piece)}
    beyond = [piece for piece in pieces_of(source) if piece not in table and piece not in SPECIAL]
    tokenizer = TransformerTokenizer(
        reorder(source, in_table + beyond, languages),
        reorder(_without(target, set(table)), in_table + beyond),
    )
    rows = [table[PAD], table[UNK], start, table[END]]
    rows += [ids[piece] for piece in in_table] + [table[UNK]] * len(beyond)
    is_written = np.ones(len(rows), bool)
    is_written[2] = start != table[PAD]
    is_written[len(rows) - len(beyond) :] = False
    return MarianVocabulary(tokenizer, np.array(rows), is_written)


def _is_language(piece):
    return piece.startswith(">>") and piece.endswith("<<")


def _name(piece):
    """Our name of a token: that of a language is a word, which begins with a space."""
    return f"▁{piece}" if _is_language(piece) else piece


def _check_table(table, path, vocabulary_size):
    if sorted(table.values()) != list(range(vocabulary_size)):
        raise ValueError(
            f"{path} must have every number from 0 to {vocabulary_size - 1} once, as `vocab_size` "
            f"of config.json says. Received: {len(table)} tokens."
        )
    missing = [piece for piece in (PAD, UNK, END) if piece not in table]
    if missing:
        raise ValueError(f"{path}: the token {missing[0]} is missing.")
    if "" in table:
        raise ValueError(f"{path}: there is a token without characters, number {table['']}.")


def _without(model, table):
    """A copy of a SentencePiece model with only the pieces that are in the table."""
    copy = type(model)()
    copy.CopyFrom(model)
    del copy.pieces[:]
    copy.pieces.extend(piece for piece in model.pieces if piece.piece in table)
    return copy
