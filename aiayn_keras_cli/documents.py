"""Documents of `aiayn-keras translate`: formats, one file or standard input, and many files."""

import functools
import sys
from pathlib import Path, PurePosixPath

import click

from aiayn_keras_cli.options import is_given, load_model
from aiayn_keras_cli.running import start_keras
from aiayn_keras_cli.streams import check_standard_output, open_standard_input

_LINES = "lines"
_FORMATS = (_LINES, "text", "srt", "vtt", "html", "md", "po", "docx", "csv", "tsv", "json")
"""`lines`, and the names in `aiayn_keras_light.document_formats.FORMATS`, as a test makes sure."""


def DOCUMENT_FORMAT(command):  # noqa: N802  used like the other options
    """Gives a command the options `document_format` and `columns`."""
    columns = click.option(
        "--columns",
        metavar="NAME|NUMBER,...",
        callback=_read_columns,
        help="For a table: the columns to translate, by the names in its first row or by numbers. "
        "For Parquet files, the name of the column of lines.  [default there: text]",
    )
    document_format = click.option(
        "--format",
        "document_format",
        type=click.Choice(_FORMATS),
        help="Format of the input. Default: that of the file's ending; otherwise lines or, with "
        "--document, text.",
    )
    return document_format(columns(command))


def choose_documents(input_file, output, document, document_format):
    """Finds the documents that a command is to translate.

    Args:
        input_file: Path, URL or pattern, or None for standard input.
        output: Path or URL of a folder, or None.
        document: Whether `--document` is given.
        document_format: Value of `--format`, or None.

    Returns:
        List of `DocumentFile`s, only one without `--output`; None for lines, and for a plain text
        that is translated a piece at a time.
    """
    if output is not None:
        _check_is_a_folder(output)
    if document_format == _LINES:
        if document:
            raise click.UsageError("--document cannot be combined with --format lines.")
        return None
    if input_file is None:
        is_stream = document_format in (None, "text")
        return None if is_stream or output is not None else []
    from aiayn_keras_light.document_formats import format_of

    if output is None and (document_format or format_of(input_file)) in (None, "text"):
        return None
    start_keras()
    from aiayn_keras.scale.translation import DocumentFile, find_documents

    if output is None:
        return [DocumentFile(input_file, input_file, document_format or format_of(input_file))]
    if document_format is not None:
        return find_documents(input_file, output, document_format)
    ending = PurePosixPath(input_file).suffix
    is_known = ending and not any(mark in ending for mark in "*?[")
    if is_known and not document and format_of(input_file) in (None, "text"):
        return None  # a job lists its files itself
    found = find_documents(input_file, output)
    lines = [each for each in found if each.format in (None, "text")]
    if document or not lines:
        return found
    if len(lines) < len(found):
        other = next(each for each in found if each not in lines)
        raise click.UsageError(
            f"{other.address} is a document, and {lines[0].address} may be lines: give --document "
            "or --format lines, or a pattern that matches only one kind."
        )
    return None


def check_table(input_file, document_format, columns):
    """Refuses columns that a file lacks at once, before Keras is loaded.

    Args:
        input_file: Path, URL or pattern, or None for standard input.
        document_format: Value of `--format`, or None.
        columns: Value of `--columns`, or None.

    Raises:
        ValueError: If no columns are given, or the table lacks one of them.
    """
    from aiayn_keras_light.document_formats import MAX_HEADER_BYTES, TABLES, format_of

    if input_file is None or not Path(input_file).is_file():
        return
    document_format = document_format or format_of(input_file)
    if document_format in TABLES:
        with open(input_file, "rb") as file:
            beginning = file.read(MAX_HEADER_BYTES)
        _check_columns_of(beginning, document_format, columns, input_file)


def _check_columns_of(data, format, columns, name):
    from aiayn_keras_light.document_formats import check_columns_of

    try:
        check_columns_of(data, format, columns)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def _check_is_a_folder(output):
    """Refuses a new folder that is named like a file: somebody expects the translation there."""
    if "://" not in output and Path(output).is_file():
        raise click.UsageError(
            f"--output is a folder for the translations of files, and {output!r} is a file. "
            "Name a folder that is new or empty."
        )
    ending = PurePosixPath(output).suffix.lower()
    is_of_a_file = ending[1:] in {*_FORMATS, "txt", "htm", "gz", "parquet"}
    if is_of_a_file and "://" not in output and not Path(output).exists():
        raise click.UsageError(
            f"--output is a folder for the translations of files, and {output!r} is named like a "
            "file. Name a folder; or, for one file, omit --output: "
            f"aiayn-keras translate DIR --input FILE > {output}"
        )


def check_document_options(output, ray, workers, options):
    """Raises a `click.UsageError` for options that are not for documents."""
    if ray is not None or workers is not None:
        raise click.UsageError("Documents are translated by one process: omit --on-ray, --workers.")
    if is_given("long_text"):
        raise click.UsageError("Long sentences of documents are always split: omit --long-text.")
    if is_given("placeables"):
        raise click.UsageError("Placeables of documents are always kept: omit --placeables.")
    if options["num_return_sequences"] > 1:
        raise click.UsageError("Documents have one translation: omit --n-best.")
    del options["long_text"], options["placeables"]


def translate_documents(model_folder, documents, output, document_format, columns, options):
    """Translates documents into a folder or, one of them, to standard output."""
    from aiayn_keras_light.document_formats import MAX_BYTES, TABLES

    data = None
    if not documents:
        check_standard_output()
        data = open_standard_input().read(MAX_BYTES + 1)
        if document_format in TABLES:
            _check_columns_of(data, document_format, columns, "standard input")
    start_keras()
    from aiayn_keras.scale.translation import translate_document_files
    from aiayn_keras_light.progress import SECONDS_BETWEEN_LINES, open_progress

    ensemble = options.pop("ensemble")
    load = functools.partial(load_model, model_folder)
    with open_progress(SECONDS_BETWEEN_LINES, unit=" sentences") as bar:
        options["progress"] = bar.update
        if output is None:
            if documents:
                document = _open_one(*documents, columns)
            else:
                document = _open_standard_input(data, document_format, columns)
            data = _translate_one(load, ensemble, document, options)
        else:
            options["ensemble"] = [load_model(folder) for folder in ensemble]
            translate_document_files(load, documents, output, columns=columns, **options)
    if output is None:
        click.echo(data, nl=False)
    else:
        count = len(documents)
        click.echo(f"{count:,} {'document is' if count == 1 else 'documents are'} in {output}.")


def translate_plain(model, text, options):
    """A piece of plain text, translated; URLs, placeholders and the like stay as they are."""
    from aiayn_keras.documents.formats.document_files import translate_document

    left_out = ("return_alignments", "placeables")
    options = {name: value for name, value in options.items() if name not in left_out}
    return translate_document(model, text.encode(), "text", **options).decode()


def _open_one(found, columns):
    from aiayn_keras.scale.translation import check_columns, open_document

    check_standard_output()
    check_columns([found], columns)
    if found.format == "docx" and sys.stdout.isatty():
        raise click.UsageError("A .docx is not for a terminal: give --output, a folder.")
    return open_document(found.address, found.format, columns)


def _open_standard_input(data, document_format, columns):
    from aiayn_keras.documents.formats.document_files import Document

    try:
        return Document(data, document_format, columns)
    except ValueError as error:
        raise ValueError(f"standard input: {error}") from error


def _translate_one(load, ensemble, document, options):
    """Bytes of the translation of a document."""
    from aiayn_keras.documents.formats.document_files import translate_opened

    model = load()
    options["ensemble"] = [load_model(folder) for folder in ensemble]
    return translate_opened(model, document, **options)


def _read_columns(_context, _parameter, value):
    if value is None:
        return None
    names = [name.strip() for name in value.split(",")]
    if not all(names):
        raise click.BadParameter(f"{value!r} must be names or numbers with commas between them.")
    return names
