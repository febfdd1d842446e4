"""Rows of text for the command and for jobs: read in chunks, written as the fields of a line."""

import re

MAX_ROWS = 10_000
_MAX_CHARACTERS = 10_000_000


def chunk_rows(rows, max_rows=MAX_ROWS, max_characters=_MAX_CHARACTERS):
    """Cuts an iterable of rows into lists, without reading further than the current one.

    Args:
        rows: Iterable of tuples of strings.
        max_rows: Maximum number of rows in a list.
        max_characters: Number of characters at which a list ends, after the row that reaches it.

    Yields:
        Lists of at least one row, in order.

    Example:
    >>> list(chunk_rows([("a",), ("b",), ("c",)], max_rows=2))
    [[('a',), ('b',)], [('c',)]]
    """
    chunk, characters = [], 0
    for row in rows:
        chunk.append(row)
        characters += sum(map(len, row))
        if len(chunk) == max_rows or characters >= max_characters:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk


def without_breaks(text):
    """Replaces each tab and line break by a space, so that the text is one field of one line."""
    return re.sub(r"[\t\n\v\f\r]", " ", text)
