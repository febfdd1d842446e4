"""Columns of tables of .csv and .tsv, by their names in the first row or by numbers.

They are here, without Keras, so that a command can refuse a wrong name at once.
"""

import csv
import io
import re

MAX_HEADER_BYTES = 1 << 20
"""Length of the beginning of a table in which its first row is looked for."""
_SEPARATOR = re.compile(r"(?i)sep=(.)[ \t]*(?:\r\n|\r|\n|\Z)")
"""The first line that Excel reads and writes."""


def layout_of(document, format):
    """Finds where the first row of a table begins, and what is between its cells.

    Args:
        document: A string.
        format: `"csv"` or `"tsv"`.

    Returns:
        Position of the first row, and the separator. For a .csv it is the one that the line
        `sep=;` of Excel names, or the one of `,`, `;`, tab and `|` that the first row has most of.
    """
    named = _SEPARATOR.match(document)
    if named:
        return named.end(), named[1]
    if format == "tsv":
        return 0, "\t"
    first = re.sub(r'"(?:[^"]++|"")*+"', "", document.lstrip("\r\n")).split("\n")[0]
    return 0, max(",;\t|", key=first.count)


def choose_columns(columns, header):
    """Finds columns in the first row.

    Args:
        columns: List of names, as in the first row except for spaces around them, or of numbers
            from 1 on; None if none are asked for.
        header: List of strings, the first row.

    Returns:
        Sorted places of the columns, from 0 on, and whether the first row holds their names.

    Raises:
        ValueError: If no columns are given, or the table lacks one of them.
    """
    shown = ", ".join(repr(name) for name in header[:20]) or "no columns"
    if not columns:
        raise ValueError(
            "a table needs --columns, the names or numbers of the columns to translate. "
            f"The first row has: {shown:.300}"
        )
    names = [*header, *(name.strip() for name in header)]
    places, has_header = [], False
    for column in columns:
        if column in names:
            places.append(names.index(column) % len(header))
            has_header = True
        elif column.isascii() and column.isdigit() and 1 <= int(column) <= max(1, len(header)):
            places.append(int(column) - 1)
        else:
            raise ValueError(
                f"--columns: the table has no column {column!r:.60}. "
                f"The first row has: {shown:.300}"
            )
    return sorted(set(places)), has_header


def check_columns_of(data, format, columns):
    """Checks columns with the beginning of a table.

    What cannot be read is left to those who read all of it.

    Args:
        data: Bytes of the table, or of its beginning.
        format: `"csv"` or `"tsv"`.
        columns: As in `choose_columns`.

    Raises:
        ValueError: As `choose_columns`.
    """
    text = data.decode("utf-8-sig", "replace")[:MAX_HEADER_BYTES]
    start, separator = layout_of(text, format)
    try:
        header = next(csv.reader(io.StringIO(text[start:], newline=""), delimiter=separator), [])
    except csv.Error:
        return
    if "\0" not in text and "\ufffd" not in text:
        choose_columns(columns, header)
