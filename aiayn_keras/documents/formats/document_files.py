"""Document files: formats by name and ending, bytes in and bytes out."""

import codecs
import importlib
import importlib.util
import re

from aiayn_keras.documents.formats.unit_translation import translate_units
from aiayn_keras.documents.formats.units import Unit, protect, replace_units
from aiayn_keras.documents.splitting import split_strings
from aiayn_keras_light.document_formats import FORMATS, MAX_BYTES
from aiayn_keras_light.placeables import translate_emoji

INSTALL = "pip install 'aiayn-keras[documents]'"


class Document:
    """A document whose texts have been found.

    Args:
        data: Its bytes.
        format: A key of `FORMATS`.
        columns: For tables, a list of names or numbers of columns.

    Raises:
        ValueError: If it is not a valid document of the format.
        ImportError: If the library for it is not installed.
    """

    def __init__(self, data, format, columns=None):
        if format not in FORMATS:
            raise ValueError(f"`format` must be one of {', '.join(FORMATS)}. Received: {format!r}.")
        if len(data) > MAX_BYTES:
            raise ValueError(f"a document must have at most {MAX_BYTES:,} bytes")
        self._data, self._format = data, FORMATS[format]
        find_units = self._finder()
        if format == "docx":
            from aiayn_keras.documents.formats import docx

            self._texts = docx.read_parts(data)
        else:
            self._encoding, self._mark, text = _decode(data, format)
            self._texts = {"": text}
        self._units = {name: find_units(text, columns) for name, text in self._texts.items()}

    def translated(self, split, translate):
        """Translates the document.

        Args:
            split: As in `translate_units`.
            translate: As in `translate_units`.

        Returns:
            Bytes of the translated document.
        """
        units = [unit for found in self._units.values() for unit in found]
        remaining = iter(translate_units(units, split, translate) if units else [])
        written = {
            name: replace_units(self._texts[name], found, [next(remaining) for _ in found])
            for name, found in self._units.items()
        }
        if self._format.name == "docx":
            from aiayn_keras.documents.formats import docx

            return docx.write_parts(self._data, written)
        errors = "xmlcharrefreplace" if self._format.name == "html" else "strict"
        return self._mark + written[""].encode(self._encoding, errors)

    def _finder(self):
        if not self._format.module:
            return _find_plain_units
        library = self._format.library
        if library and importlib.util.find_spec(library) is None:
            raise ImportError(
                f"documents of the format {self._format.name} need the library {library}: {INSTALL}"
            )
        module, _, function = self._format.module.partition(":")
        return getattr(importlib.import_module(f"{__package__}.{module}"), function)


def translate_document(model, data, format, *, columns=None, ensemble=(), **options):
    """Translates a document with a format, such as a page of HTML or a .docx.

    Args:
        model: A `TransformerSeq2SeqLM`.
        data: Bytes of the document.
        format: A key of `FORMATS`.
        columns: For tables, a list of names or numbers of the columns to translate.
        ensemble: As in `TransformerSeq2SeqLM.translate`.
        **options: Other options of `TransformerSeq2SeqLM.translate`.

    Returns:
        Bytes of the translated document. It differs from `data` in its texts alone.

    Raises:
        ValueError: If it is not a valid document of the format, and as
            `TransformerSeq2SeqLM.translate_documents`.
        ImportError: If the library for the format, or TensorFlow Text, is not installed.
    """
    document = Document(data, format, columns)
    return translate_opened(model, document, ensemble=tuple(ensemble), **options)


def translate_opened(model, document, *, ensemble=(), **options):
    """Translates a `Document`; see `translate_document`."""
    tokenizer = model.preprocessor.tokenizer
    positions = min(each.backbone.max_sequence_length for each in (model, *ensemble))
    limit = positions - len(tokenizer.source_ids)
    # A stand-in may have more wordpieces than the number that the text was split with.
    long_text = "error" if options.get("constraint") is not None else "split"
    options = {"long_text": long_text, **options}

    def split(texts):
        return split_strings(texts, tokenizer.proto, limit) if texts else []

    def translate(texts, align):
        if not texts:
            return []
        if align:  # which is about the wordpieces of the texts themselves
            return model.translate(texts, ensemble=ensemble, return_alignments=True, **options)
        return translate_emoji(
            texts, lambda texts: model.translate(texts, ensemble=ensemble, **options)
        )

    return document.translated(split, translate)


def _find_plain_units(document, _columns):
    """Pieces of whole lines, with everything that is not text protected."""
    units, start = [], 0
    for match in re.finditer(r"(?:[^\n]*\n){1,500}|[^\n]+\Z", document):
        start, end = match.span()
        parts = protect(document[start:end])
        units += [Unit(start, end, tuple(parts))]
    return units


_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)
_CHARSET = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([A-Za-z0-9_.:-]{1,40})""", re.I)


def _decode(data, format):
    """Encoding, byte order mark and text of a document."""
    if data.startswith(_UTF16):
        raise ValueError("it is UTF-16 or UTF-32: convert it to UTF-8")
    mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    encoding = "utf-8"
    if format == "html" and not mark:
        encoding = _declared_encoding(data)
    try:
        text = data[len(mark) :].decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"line {line}: not valid {encoding} (byte 0x{data[error.start]:02x}). Convert it to "
            "UTF-8."
        ) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise ValueError(f"line {line}: it has a zero byte, so it is not a text of this format")
    return encoding, mark, text


def _declared_encoding(data):
    match = _CHARSET.search(data[:2048])
    if match is None:
        return "utf-8"
    name = match[1].decode("ascii").lower()
    if name in ("iso-8859-1", "latin1", "us-ascii", "ascii"):
        name = "windows-1252"  # as browsers read it
    try:
        is_text = codecs.lookup(name)._is_text_encoding and "a<\n".encode(name) == b"a<\n"
    except (LookupError, UnicodeError):
        is_text = False
    if not is_text:
        raise ValueError(
            f"its encoding {match[1].decode('ascii')!r} is not known: convert it to UTF-8"
        )
    return name
