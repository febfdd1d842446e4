"""The formats of documents, by name and by the endings of files, and the columns of tables.

Columns of .csv and .tsv are named by the first row, or have numbers. They are read here, without
Keras, so that a command can refuse a wrong name at once.
"""

import csv
import io
import re
from dataclasses import dataclass
from pathlib import PurePosixPath

TABLES = frozenset({"csv", "tsv"})
MAX_BYTES = 1 << 26
"""Maximum size of a document."""
_UNSUPPORTED = frozenset(
    (
        *(".pdf", ".doc", ".docm", ".dot", ".dotx", ".dotm", ".odt", ".ott", ".rtf", ".pages"),
        *(".xls", ".xlsx", ".xlsm", ".ods", ".ppt", ".pptx", ".pptm", ".odp", ".epub", ".mobi"),
        *(".xml", ".xliff", ".xlf", ".tmx", ".sdlxliff", ".ts", ".resx", ".svg", ".rst", ".tex"),
        *(".yaml", ".yml", ".toml", ".ini", ".properties", ".strings", ".jsonl", ".ipynb", ".mo"),
        *(".ass", ".ssa", ".sub", ".sbv", ".ttml", ".adoc", ".org", ".textile", ".mdx", ".eml"),
        *(".arb", ".ftl", ".json5", ".plist", ".stringsdict", ".xcstrings", ".php", ".js", ".vue"),
        *(".mqxliff", ".mxliff", ".txlf", ".ttx", ".tbx", ".idml", ".dita", ".fodt"),
        *(".msg", ".mbox", ".zip", ".tar", ".7z", ".rar", ".png", ".jpg", ".jpeg", ".gif"),
    )
)
"""Endings of files that are not plain text, or have marks of their own that would be translated."""
MAX_HEADER_BYTES = 1 << 20
"""Length of the beginning of a table in which its first row is looked for."""
_SEPARATOR = re.compile(r"(?i)sep=(.)[ \t]*(?:\r\n|\r|\n|\Z)")
"""The first line that Excel reads and writes."""


@dataclass(frozen=True)
class Format:
    """A format of documents.

    Attributes:
        name: Its name.
        endings: Endings of its files.
        module: Name of the module in `aiayn_keras.documents.formats` that finds the units, with a
            colon and the name of the function; empty for plain text.
        library: Name of the module of the library that is needed, if any.
    """

    name: str
    endings: tuple[str, ...]
    module: str = ""
    library: str = ""


FORMATS = {
    each.name: each
    for each in (
        Format("text", (".txt", ".text")),
        Format("srt", (".srt",), "subtitles:find_srt_units", "webvtt"),
        Format("vtt", (".vtt",), "subtitles:find_vtt_units", "webvtt"),
        Format("html", (".html", ".htm", ".xhtml"), "html:find_units"),
        Format("md", (".md", ".markdown"), "markdown:find_units", "mdit_py_plugins"),
        Format("po", (".po", ".pot"), "po:find_units", "polib"),
        Format("docx", (".docx",), "docx:find_units"),
        Format("csv", (".csv",), "tables:find_csv_units"),
        Format("tsv", (".tsv",), "tables:find_tsv_units"),
        Format("json", (".json",), "json_values:find_units"),
    )
}


def format_of(name):
    """The name of the format of a file, by its ending.

    Args:
        name: Name or path of the file.

    Returns:
        A key of `FORMATS`; None for an ending that none of them has.

    Raises:
        ValueError: For the ending of a format that is known and not supported, and for a document
            that is packed as `.gz`.
    """
    path = PurePosixPath(str(name))
    ending = path.suffix.lower()
    if ending == ".gz":
        if format_of(path.with_suffix("")) not in (None, "text"):
            raise ValueError(
                f"{name}: a document is not read from a .gz file: unpack it, for example with "
                "`gunzip`, or give --format lines if it only has lines of text."
            )
        return None
    if ending in _UNSUPPORTED:
        raise ValueError(
            f"{name}: the format {ending} is not supported. Formats are {', '.join(FORMATS)}; "
            "convert the file, or give --format text if it is plain text."
        )
    return next((each.name for each in FORMATS.values() if ending in each.endings), None)


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

    What cannot be read here is left to the code that reads the whole table.

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
