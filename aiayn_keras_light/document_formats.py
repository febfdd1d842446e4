"""The formats of documents, by name and by the endings of files."""

from dataclasses import dataclass
from pathlib import PurePosixPath


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
