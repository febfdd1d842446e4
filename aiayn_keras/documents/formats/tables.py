"""Tables of .csv and .tsv: the cells of the columns that are asked for.

The cells are found by a pattern of RFC 4180, and must be those that Python's own csv module reads.
Formulas and identifiers stay.
"""

import csv
import re

from aiayn_keras.documents.formats.interface_texts import is_identifier
from aiayn_keras.documents.formats.units import Unit, has_letters, protect
from aiayn_keras_light.document_formats import choose_columns, layout_of

_MAX_CELL = 1 << 20
_FORMULA = re.compile(
    r"\s*(?:=(?![=\s]*\Z|=)|[+@-]\s*(?:'[^']*'!|\w+!)?"
    r"(?:\$?[A-Za-z]{1,3}\$?\d{1,7}(?![\w'’-])|[A-Za-z_][\w.]*\())",
)
"""What a spreadsheet computes: =SUM(A1:A3), +A1, -B2*C2, @SUM(A1). A list's `- tea` is text."""


def find_csv_units(document, columns=None):
    """Finds the cells of some columns.

    Args:
        document: A string.
        columns: List of names, as in the first row, or of numbers from 1 on. With a name, the first
            row stays.

    Returns:
        List of `Unit`s.

    Raises:
        ValueError: If no columns are given, the table lacks one of them, or it cannot be read.
    """
    return _find_units(document, columns, "csv")


def find_tsv_units(document, columns=None):
    """Finds the cells of some columns of a table with tabs; see `find_csv_units`."""
    return _find_units(document, columns, "tsv")


def _find_units(document, columns, format):
    start, delimiter = layout_of(document, format)
    read = _read(document[start:], delimiter, document.count("\n", 0, start))
    rows = _cells(document, delimiter, start)
    found = [[_value(document[a:b]) for a, b in row] for row in rows]
    if found != [row or [""] for row in read]:
        line = next((n for n, (a, b) in enumerate(zip(found, read, strict=False)) if a != b), 0) + 1
        raise ValueError(f"row {line}: its quotation marks do not match")
    header = found[0] if found else []
    chosen, has_header = choose_columns(columns, header)
    units = []
    for number, row in enumerate(rows):
        if number == 0 and has_header:
            continue
        if len(header) == 1 < len(row):
            raise ValueError(
                f"row {number + 1}: it has {len(row)} cells, and the first row has one. Put "
                f"quotation marks around a cell with {delimiter!r}."
            )
        for place in chosen:
            units += _unit(document, *row[place], delimiter) if place < len(row) else []
    return units


def _read(document, delimiter, skipped):
    limit = csv.field_size_limit(_MAX_CELL)
    lines = re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", document)
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    try:
        return list(reader)
    except csv.Error as error:
        line = reader.line_num + skipped
        raise ValueError(f"line {line}: not a valid table: {error}") from None
    finally:
        csv.field_size_limit(limit)


def _cells(document, delimiter, place):
    """Start and end of each cell of each row."""
    cell = re.compile(
        rf'("(?:[^"]++|"")*+"|[^{re.escape(delimiter)}\r\n]*)({re.escape(delimiter)}|\r\n|\r|\n|\Z)'
    )
    rows, row = [], []
    while place < len(document) or row:
        match = cell.match(document, place)
        if match is None:
            raise ValueError(f"row {len(rows) + 1}: text follows a cell in quotation marks")
        row.append(match.span(1))
        place = match.end()
        if match[2] != delimiter:
            rows.append(row)
            row = []
    return rows


def _value(raw):
    return raw[1:-1].replace('""', '"') if raw[:1] == '"' else raw


def _unit(document, start, end, delimiter):
    is_quoted = document[start : start + 1] == '"'

    def encode(text):
        return text.replace('"', '""') if is_quoted else text

    def finish(text):
        if not is_quoted and any(mark in text for mark in (delimiter, '"')):
            return '"' + text.replace('"', '""') + '"'
        return text

    value = _value(document[start:end])
    parts = protect(value, encode)
    if _FORMULA.match(value) or is_identifier(value) or not has_letters(parts):
        return []
    return [Unit(start + is_quoted, end - is_quoted, tuple(parts), encode, finish)]
