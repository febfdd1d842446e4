"""Lists of tokens from files."""

from pathlib import Path
from typing import Annotated

import pydantic

from aiayn_keras.common.checks import parse
from aiayn_keras.common.files import read_bytes

MAX_BYTES = 1 << 26
MAX_TOKENS = 1 << 20
MAX_TOKEN = 1000
"""Bound on the characters of a token."""


class TokenList(pydantic.RootModel):
    """A file with one list of strings in JSON."""

    root: list[Annotated[str, pydantic.Field(max_length=MAX_TOKEN, strict=True)]]


def read_token_file(path):
    """Reads a file of tokens, a JSON list in a file `*.json` and a token a line in any other.

    Args:
        path: The file.

    Returns:
        List of strings that are all different.

    Raises:
        OSError: If there is no such regular file.
        ValueError: If it is damaged, too long, or holds a token twice; with the line.
    """
    path = Path(path)
    content = read_bytes(path, MAX_BYTES)
    if path.suffix == ".json":
        tokens = parse(TokenList, content, path, "It is no list of tokens.").root
        check_tokens(tokens, path, "token")
    else:
        tokens = read_lines_of(content, path)
        check_tokens(tokens, path, "line")
    return tokens


def read_lines_of(content, path):
    """Lines of the UTF-8 bytes of a file; carriage returns stay unless every line has one."""
    try:
        lines = content.decode("utf-8").removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise ValueError(f"{path}, line {line}: not valid UTF-8.") from None
    if all(line.endswith("\r") for line in lines):
        lines = [line[:-1] for line in lines]
    return lines


def check_tokens(tokens, path, unit):
    """Raises a `ValueError` for too many tokens, a token too long, or one that is there twice.

    Args:
        tokens: List of strings.
        path: Their file.
        unit: What is counted there, `"line"` or `"token"`.
    """
    if len(tokens) > MAX_TOKENS:
        raise ValueError(f"{path} has {len(tokens):,} tokens, more than {MAX_TOKENS:,}.")
    places = {}
    for place, token in enumerate(tokens, start=1):
        if len(token) > MAX_TOKEN:
            raise ValueError(f"{path}, {unit} {place}: longer than {MAX_TOKEN} characters.")
        if places.setdefault(token, place) != place:
            raise ValueError(
                f"{path}, {unit} {place}: {token!r:.60} is {unit} {places[token]} already."
            )
