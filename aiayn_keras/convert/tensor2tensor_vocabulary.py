"""Vocabularies of tensor2tensor: files of subtokens in quotation marks, or of plain tokens.

As `SubwordTextEncoder` and `TokenTextEncoder` of its `data_generators/text_encoder.py` read them.
"""

from aiayn_keras.common.files import read_bytes
from aiayn_keras.convert.joint_vocabulary import Vocabulary
from aiayn_keras.convert.vocabulary_files import MAX_BYTES, check_tokens, read_lines_of

PAD, END = range(2)
UNKNOWN = "UNK"
"""Token of plain vocabularies for words that they lack; subtokens spell every word."""

SPACE_INSIDE = "␠"
"""Stands in our texts for a space inside a subtoken, since a space is between two."""

QUOTES = ("'", '"')


def read_vocabulary(path, num_rows, divisor):
    """Reads a vocabulary whose embeddings have so many rows.

    Args:
        path: The file, such as `vocab.translate_ende_wmt32k.32768.subwords`.
        num_rows: Number of rows of the embeddings, the first multiple of `divisor` from the
            number of tokens on.
        divisor: The setting `vocab_divisor`.

    Returns:
        A `Vocabulary` of the tokens that are in the file. Translations begin with zeros.

    Raises:
        OSError: If there is no such regular file.
        ValueError: If it is damaged, or of another length; with the line.
    """
    lines = [line.rstrip() for line in read_lines_of(read_bytes(path, MAX_BYTES), path)]
    is_quoted = all(len(line) > 1 and line[0] == line[-1] and line[0] in QUOTES for line in lines)
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
    if SPACE_INSIDE in token:
        raise ValueError(
            f"{path}: the subtoken {token!r:.60} cannot be told from one with a space."
        )
    return token.replace(" ", SPACE_INSIDE)
