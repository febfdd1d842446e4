"""Documents of several files, translated into a folder that keeps their tree of folders."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path

from aiayn_keras.common.file_addresses import (
    absolute,
    file_system,
    is_in,
    is_url,
    join,
    naming_errors,
    read_file,
    whole_file,
)
from aiayn_keras.common.found_files import find_files, fixed_folder
from aiayn_keras.documents.formats.document_files import Document, translate_opened
from aiayn_keras_light.document_formats import MAX_BYTES, TABLES, format_of
from aiayn_keras_light.files import check_places, read_bytes


@dataclass(frozen=True)
class DocumentFile:
    """A document to translate.

    Attributes:
        address: Path or URL.
        name: Path below the folder that all are in, and below that of the translations.
        format: A key of `FORMATS`; None for a file of lines.
    """

    address: str
    name: str
    format: str | None


def find_documents(pattern, output=None, format=None):
    """Finds the files that match a pattern, with their formats by their endings.

    Args:
        pattern: As in `find_files`.
        output: Folder whose files are left out.
        format: The format of all files, regardless of their endings.

    Returns:
        Non-empty list of `DocumentFile`s.

    Raises:
        FileNotFoundError: If there is no file.
        ValueError: For a file of a format that is known and not supported.
    """
    folder = fixed_folder(pattern).rstrip("/")
    addresses = [file.address for file in find_files(pattern)]
    if output is not None:
        addresses = [each for each in addresses if not is_in(each, absolute(output))]
    if not addresses:
        raise FileNotFoundError(f"There is no file {pattern} outside {output}.")
    return [
        DocumentFile(address, address[len(folder) + 1 :], format or format_of(address))
        for address in addresses
    ]


def open_document(address, format, columns=None):
    """Reads a document and finds its texts; errors name the file.

    Args:
        address: Path or URL.
        format: A key of `FORMATS`.
        columns: As in `Document`; ignored for files that are not tables.

    Returns:
        A `Document`.

    Raises:
        ValueError: If it is not a valid document of the format.
    """
    try:
        read = read_file if is_url(address) else read_bytes
        data = read(address, MAX_BYTES)
        return Document(data, format, columns if format in TABLES else None)
    except RecursionError:
        raise ValueError(f"{address}: it is nested too deeply.") from None
    except ValueError as error:
        message = str(error)
        if not message.startswith(str(address)):
            message = f"{address}: {message}"
        raise ValueError(message) from error


def check_columns(documents, columns):
    """Raises a `ValueError` if there are columns and no table among documents."""
    if columns and not any(each.format in TABLES for each in documents):
        raise ValueError(
            f"`columns` are for tables ({', '.join(sorted(TABLES))}), and {documents[0].address} "
            f"is {documents[0].format}."
        )


def translate_document_files(load_model, documents, output, *, columns=None, **options):
    """Translates documents into a folder, each under its name below the pattern's folder.

    All documents are read before the first is translated, so that one that cannot be read, or whose
    place is taken, is named before anything is written.

    Args:
        load_model: Function that returns a `TransformerSeq2SeqLM`, called once.
        documents: List of `DocumentFile`s, as `find_documents` gives them.
        output: Path or URL of the folder.
        columns: As in `Document`, for the tables.
        **options: Of `TransformerSeq2SeqLM.translate`.

    Raises:
        FileExistsError: If a file is in the place of a translation.
        OSError: If something else is, or a link in the place of a folder.
        ValueError: If a document cannot be read.
    """
    documents = [dataclasses.replace(each, format=each.format or "text") for each in documents]
    check_columns(documents, columns)
    _check_places(documents, output)
    for each in documents:
        open_document(each.address, each.format, columns)
    model = load_model()
    for each in documents:
        document = open_document(each.address, each.format, columns)
        translated = translate_opened(model, document, **options)
        with whole_file(join(output, each.name)) as path:
            path.write_bytes(translated)


def _check_places(documents, output):
    if not is_url(output):
        check_places(Path(output), [each.name for each in documents])
    for each in documents:
        address = join(output, each.name)
        system, path = file_system(address)
        with naming_errors(address):
            is_taken = system.exists(path)
        if is_taken:
            raise FileExistsError(
                f"{address} exists already: choose a different folder, or delete it."
            )
