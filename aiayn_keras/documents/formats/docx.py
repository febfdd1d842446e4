"""Documents of Word: the text of the paragraphs, also of tables, headers, footers and notes.

A .docx is a ZIP archive of XML. Expat, the parser in Python, says where each text stands in it; all
between stays byte for byte, and so do all other files of the archive. Document types and
entities, which Word never writes, are refused, and nothing outside the archive is read.
"""

import io
import re
import zipfile
import zlib
from dataclasses import dataclass, replace
from xml.parsers import expat
from xml.sax.saxutils import escape

from aiayn_keras.documents.formats.units import Kind, Mark, Unit, has_letters, protect

_MAIN = re.compile(r"word/document\d*\.xml")
_PARTS = re.compile(r"word/(?:document|header|footer|footnotes|endnotes|comments)\d*\.xml")
"""Names that Word gives, with a number if SharePoint has written the document."""
_WORDS = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_STRICT_WORDS = "http://purl.oclc.org/ooxml/wordprocessingml/main"
_MAX_FILES = 10_000
_MAX_UNPACKED = 1 << 28
_MAX_EXPANSION = 200
_FREE_BYTES = 1 << 22
_MAX_DEPTH = 256
_BREAKS = frozenset({"br", "cr", "tab", "ptab"})
_SIGNS = frozenset(
    (
        *("instrText", "fldChar", "footnoteReference", "endnoteReference", "pgNum", "sym"),
        *("drawing", "pict", "object", "?oMath"),
    )
)
_HYPHEN = "noBreakHyphen"
_UNSEEN = re.compile(
    r"</?(?:\w+:)?(?:lang|noProof)\b[^<>]*>"
    r"|<(?:\w+:)?rFonts\s+(?:\w+:)?hint=\"\w*\"\s*/>|\s(?:\w+:)?hint=\"\w*\""
)
"""Properties that do not change the look of a run: marks for spelling and East Asian input."""
_HYPHEN_TAG = re.compile(rf"<(?:\w+:)?{_HYPHEN}\b[^<>]*>(?:</(?:\w+:)?{_HYPHEN}\s*>)?")


def read_parts(data):
    """The XML files of a document that hold text.

    Args:
        data: Bytes of the archive.

    Returns:
        Dictionary of strings by their names in the archive.

    Raises:
        ValueError: If it is not a .docx, is damaged, encrypted, or unpacks to far too much.
    """
    with _opened(data) as archive:
        names = [info.filename for info in archive.infolist()]
        if not any(map(_MAIN.fullmatch, names)):
            raise ValueError("not a .docx: it has no word/document.xml")
        found = sorted(name for name in set(names) if _PARTS.fullmatch(name))
        return {name: _decode(name, _unpack(archive, name)) for name in found}


def write_parts(data, parts):
    """A copy of a document with other XML files in it.

    Args:
        data: Bytes of the archive.
        parts: Dictionary of strings by names, those of `read_parts`.

    Returns:
        Bytes of an archive; all other files are those of `data`.
    """
    written = io.BytesIO()
    with _opened(data) as archive, zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as copy:
        for info in archive.infolist():
            if info.filename in parts:
                content = parts[info.filename].encode("utf-8")
            else:
                content = _unpack(archive, info.filename)
            copy.writestr(info, content, compress_type=info.compress_type)
        copy.comment = archive.comment
    return written.getvalue()


def _opened(data):
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OverflowError) as error:
        raise ValueError(f"not a .docx: it is not a ZIP archive ({error})") from None
    files = archive.infolist()
    if len({info.filename for info in files}) != len(files):
        raise ValueError("two files in the archive have one name")
    unpacked = sum(info.file_size for info in files)
    if (
        len(files) > _MAX_FILES
        or unpacked > _MAX_UNPACKED
        or unpacked > _FREE_BYTES + _MAX_EXPANSION * len(data)
    ):
        raise ValueError(
            f"its {len(files):,} files unpack to {unpacked:,} bytes, which is unusual for a "
            "document; save it again with Word or LibreOffice"
        )
    if any(info.flag_bits & 1 for info in files):
        raise ValueError("it is encrypted: save it without a password")
    return archive


def _unpack(archive, name):
    try:
        with archive.open(name) as file:
            size = archive.getinfo(name).file_size
            content = file.read(size + 1)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError) as error:
        raise ValueError(f"{name} in the archive is damaged ({error})") from None
    if len(content) != size:
        raise ValueError(f"{name} in the archive is not as large as it says")
    return content


def _decode(name, content):
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"{name} in the archive is not UTF-8: save it again with Word") from None


_FIRST_LETTER = re.compile(r"((?:<[^<>]*>)*)([^\w<&]*(?:\w|&[^;]+;))")


@dataclass
class _Text:
    """The text of a run: its place in the XML, and the look of the run and of what contains it."""

    start: int
    end: int
    look: tuple


def find_units(document, _columns=None):
    """Finds the paragraphs of an XML file of a document.

    Args:
        document: A string.

    Returns:
        List of `Unit`s.

    Raises:
        ValueError: If it is not XML, is nested too deeply, or declares entities.
    """
    found = _Paragraphs(document)
    return [
        _with_drop_cap(document, unit, found.drop_caps.get(number))
        for number, paragraph in enumerate(found.paragraphs)
        for unit in _as_units(document, paragraph)
    ]


class _Paragraphs:
    """Goes through XML and notes texts, breaks and other signs of each paragraph, in order."""

    def __init__(self, document):
        self.paragraphs, self.drop_caps = [], {}  # from the number of a paragraph to a `_Text`
        self._drop_cap, self._is_drop_cap = None, False
        self._stack, self._numbers, self._count, self._open = [], [], 0, []
        self._data = document.encode("utf-8")
        self._offset, self._place = 0, 0
        self._document = document
        self._text_start = self._run_look = None
        parser = self._parser = expat.ParserCreate(namespace_separator=" ")
        parser.StartDoctypeDeclHandler = self._refuse
        parser.EntityDeclHandler = self._refuse
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        try:
            parser.Parse(self._data, True)
        except expat.ExpatError as error:
            raise ValueError(f"its XML is damaged: {error}") from None

    def _refuse(self, *_):
        raise ValueError("its XML declares a document type or entities, which are not read")

    def _here(self):
        """The place of the parser in the string, which is that in bytes or before."""
        index = self._parser.CurrentByteIndex
        self._place += len(self._data[self._offset : index].decode("utf-8"))
        self._offset = index
        return self._place

    def _end_of_tag(self, place):
        return self._document.index(">", place) + 1

    def _start(self, name, attributes):
        space, _, local = name.rpartition(" ")
        local = local if space in (_WORDS, _STRICT_WORDS) else f"?{local}"
        self._stack.append(local)
        self._count += 1
        self._numbers.append(self._count)
        if len(self._stack) > _MAX_DEPTH:
            raise ValueError("its XML is nested too deeply")
        if local == "p":
            self._open.append([])
            return
        if not self._open:
            return
        if local == "r":
            self._run_look = self._here(), None
        elif local == "t" and self._run_look is not None:  # outside a run, Word shows no text
            self._text_start = self._end_of_tag(self._here())
        elif local == "framePr":
            self._is_drop_cap = attributes.get(f"{space} dropCap") in ("drop", "margin")
        elif local in _BREAKS and self._stack[-2] == "r":
            self._open[-1].append("break")
        elif local in _SIGNS:
            self._open[-1].append("sign")
        elif local == _HYPHEN:
            self._open[-1].append("hyphen")

    def _end(self, name):
        local = self._stack.pop()
        self._numbers.pop()
        if not self._open:
            return
        if local == "p":
            if self._end_drop_cap():
                return
            self.paragraphs.append(self._open.pop())
            if self._open:  # that of a text box
                self.paragraphs.append(self._open[-1])
                self._open[-1] = []
        elif local == "rPr" and self._stack[-1:] == ["r"] and self._run_look is not None:
            start = self._run_look[0]
            begin = self._document.find("rPr", start)
            look = _UNSEEN.sub("", self._document[begin : self._here()])
            self._run_look = start, look.removeprefix("rPr>").strip() or None
        elif local == "t" and self._text_start is not None:
            end = self._here()
            # Runs of one look are in one link or other container, and have equal properties.
            look = (self._numbers[-2], self._run_look[1])
            if end > self._text_start:
                self._open[-1].append(_Text(self._text_start, end, look))
            self._text_start = None

    def _end_drop_cap(self):
        """Takes a paragraph that is the first letter of the next one; returns whether it was."""
        before, self._drop_cap = self._drop_cap, None
        texts, is_drop_cap = self._open[-1], self._is_drop_cap
        self._is_drop_cap = False
        if is_drop_cap and len(texts) == 1 and isinstance(texts[0], _Text):
            text = _unescape(self._document[texts[0].start : texts[0].end])
            if len(text) == 1 and text.isalpha():
                self._drop_cap = texts[0]
                self._open.pop()
                return True
        if before is not None:
            self.drop_caps[len(self.paragraphs)] = before
        return False


def _with_drop_cap(document, unit, drop_cap):
    """The unit of a paragraph with its big first letter, which Word keeps in another paragraph."""
    if drop_cap is None:
        return unit
    place = next(n for n, part in enumerate(unit.parts) if isinstance(part, str))
    letter = document[drop_cap.start : drop_cap.end]
    between = _keep_spaces(document[drop_cap.end : unit.start])

    def finish(text):
        text = unit.finish(text)
        first = _FIRST_LETTER.match(text)
        return f"{first[2]}{between}{first[1]}{text[first.end() :]}" if first else between + text

    parts = (*unit.parts[:place], letter + unit.parts[place], *unit.parts[place + 1 :])
    return replace(unit, start=drop_cap.start, parts=parts, finish=finish)


def _as_units(document, paragraph):
    """A list of one `Unit` for the texts of a paragraph, or of none."""
    texts = [each for each in paragraph if isinstance(each, _Text)]
    if not texts:
        return []
    base = max(
        dict.fromkeys(each.look for each in texts),  # of equal ones the first
        key=lambda look: sum(each.end - each.start for each in texts if each.look == look),
    )
    _join_spaces(document, texts, base)
    parts, signs, last = [], [], None
    for each in paragraph:
        if not isinstance(each, _Text):
            signs.append(each)
            continue
        if last is not None:
            between = document[last.end : each.start]
            if last.look == each.look and set(signs) == {"hyphen"}:
                parts.append("-" * len(signs))
                between = _HYPHEN_TAG.sub("", between)
                signs = []
            parts.append(_between(between, signs, last.look, each.look, base))
        parts.append(_unescape(document[each.start : each.end]))
        last, signs = each, []
    start, end = texts[0].start, texts[-1].end
    tag = document.rindex("<", 0, start)
    begun, ended = _first_and_last_runs(document[tag:start], texts, base)
    if begun:
        parts.insert(0, Mark(begun, Kind.OPEN, _name(texts[0].look)))
    if ended:
        parts.append(Mark(ended, Kind.CLOSE, _name(texts[-1].look)))
    parts = _with_joints_last(parts)
    parts = [
        piece
        for part in parts
        for piece in ([part] if isinstance(part, Mark) else protect(part, escape, with_tags=False))
    ]
    if not has_letters(parts):
        return []
    if len(texts) == 1:
        return [Unit(start, end, tuple(parts), escape)]
    first = document[tag:start]
    if begun:  # the run that is open there stays empty
        first = _new_run(first, base).partition(">")[2]
    parts.insert(0, Mark(first, Kind.CUT))

    def finish(text):
        if begun and text.startswith(first + begun):
            text = document[tag:start] + text.removeprefix(first + begun)
        return _keep_spaces(text.removesuffix(ended))

    return [Unit(tag, end, tuple(parts), escape, finish)]


def _first_and_last_runs(tag, texts, base):
    """The XML around the words of the first and last run that have a look of their own.

    It lets such words move into the middle of a sentence. It is empty for a run with the look of
    most texts, and for one that is in a link or other container alone.
    """
    first, last = texts[0].look, texts[-1].look
    begun = _new_run(tag, first) if first != base and first[0] == base[0] else ""
    ended = _new_run(tag, base) if last != base and last[0] == base[0] else ""
    return begun, ended


def _new_run(tag, look):
    """The XML that ends a text and its run and begins others, with a tag such as `<w:t>`."""
    name = tag[1 : tag.index("t")]
    properties = f"<{name}rPr>{look[1]}</{name}rPr>" if look[1] else ""
    return f"</{name}t></{name}r><{name}r>{properties}<{name}t>"


def _name(look):
    """The name of the marks around texts of a look."""
    return "sup" if "vertAlign" in (look[1] or "") else "run"


def _between(raw, signs, before, after, base):
    """The mark of the XML between two texts of a paragraph."""
    if "break" in signs:
        return Mark(raw, Kind.BREAK)
    if "sign" in signs:
        return Mark(raw, Kind.CUT)
    if before == after:
        return Mark(raw, Kind.CUT, "joint")
    if before == base:
        return Mark(raw, Kind.OPEN, _name(after))
    return Mark(raw, Kind.CLOSE, _name(before)) if after == base else Mark(raw, Kind.CUT)


def _join_spaces(document, texts, base):
    """Gives a single space the look of the texts around it, or else the look of most texts.

    Nobody sees whether a space is bold, and it would divide a sentence.
    """
    for before, each, after in zip(texts, texts[1:], texts[2:], strict=False):
        if document[each.start : each.end] == " ":
            each.look = before.look if before.look == after.look else base


def _with_joints_last(parts):
    """Texts that runs of one look divide, in the first of the runs; the others are left empty."""
    joined, joints = [], ""
    for part in parts:
        if isinstance(part, Mark) and part.name == "joint":
            joints += part.raw
        elif isinstance(part, Mark):
            joined.append(Mark(joints + part.raw, part.kind, part.name))
            joints = ""
        elif joined and isinstance(joined[-1], str):
            joined[-1] += part
        else:
            joined.append(part)
    return [*joined, Mark(joints, Kind.CUT)] if joints else joined


def _unescape(raw):
    """The text of XML character data."""
    parts = []
    parser = expat.ParserCreate()
    parser.CharacterDataHandler = parts.append
    parser.Parse(f"<t>{raw}</t>".encode(), True)
    return "".join(parts)


def _keep_spaces(text):
    """Makes Word keep the spaces at the ends of a unit's texts, which a translation may change."""
    return re.sub(r"<(\w+:)?t>", r'<\1t xml:space="preserve">', text)
