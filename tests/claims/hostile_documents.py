"""Hostile documents of all formats are refused in one line or translated; nothing else happens.

Run from the repository's root:

    python -m tests.claims.hostile_documents

About 400 documents are made: deep nesting, entities and archives that grow, lies in headers of
archives, broken encodings, external entities, macros, huge cells, and runs of every sign that a
format reads. Each is read and translated, by a double of a model that writes capitals, in a forked
process with 2 GB and 30 seconds. A process that opens a file other than its document and Python's
own modules, starts a program or connects to anything, ends with an unexpected error. Prints a
table, and exits with 1 if a case falls through.
"""

import dataclasses
import functools
import io
import itertools
import os
import random
import re
import struct
import sys
import tempfile
import zipfile
from pathlib import Path

import click

from tests.claims.forked_cases import MEGABYTE, Case, Limits, print_table, run_cases
from tests.documents.formats.double import CapitalsDouble, split_double
from tests.documents.formats.samples import COLUMNS, SAMPLES, docx_sample

LIMITS = Limits(bytes=2 * 2**30, seconds=30.0)
SECRET = "hidden words of another file"
"""The text of a file that documents name, which must not be read."""

_WORDS = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_RUN_BYTES = 200_000
_MAX_WORDS = 200
"""Maximum number of words of a sentence."""
_SIGNS = (
    *("<", ">", "&", "{", "%", "\\", '"', "'", "`", "[", "](", "*", "_", "|", "~", "$", "@"),
    *("<!--", "<![CDATA[", "<a ", "<a b='", "&#", "{{", "%(", "- ", "> ", "1. ", "a.", "[^", "\t"),
    *("\n", "\r", " \n", "-->\n", "msgid ", '"a" ', ',"', '{"a":', "[1,", "a@", "http://", "+++\n"),
)
_BROKEN = {
    "latin-1": "caf\xe9 tea".encode("latin-1"),
    "half a character": "tea €".encode()[:-1],
    "overlong": b"tea \xc0\xaf",
    "surrogate": b"tea \xed\xa0\x80",
    "UTF-16": "tea".encode("utf-16"),
    "UTF-16 without mark": "tea".encode("utf-16-le"),
    "UTF-32": "tea".encode("utf-32"),
    "zero byte": b"tea\0tea",
    "beyond Unicode": b"tea \xf4\x90\x80\x80",
}


class ForbiddenError(Exception):
    """A document made its reader do what it never has to."""


def cases(folder, seed=0):
    """Yields all cases.

    Args:
        folder: Path of an empty folder for the files.
        seed: Seed of the damages.
    """
    rng = random.Random(seed)
    secret = folder / "secret.txt"
    secret.write_text(SECRET, "utf-8")
    texts = itertools.chain(*(_texts(kind, secret, rng) for kind in SAMPLES))
    for number, (kind, name, data) in enumerate(
        itertools.chain(texts, _archives(secret), _damaged_archives(rng))
    ):
        path = folder / f"{number}.{kind}"
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        run = functools.partial(translate, path, kind)
        expected = "refusal" if name in _BROKEN else "either"
        yield Case(kind, name, run, expected, path.name, check=lambda text: SECRET not in text)


def translate(path, format):
    """Reads and translates a document under watch, and prints the translation.

    Args:
        path: Path of the document.
        format: Its format.
    """
    from aiayn_keras.scale.translation import open_document

    sys.addaudithook(functools.partial(_watch, os.fspath(path)))
    document = open_document(path, format, COLUMNS)
    translated = document.translated(_split, CapitalsDouble(change=str.title))
    if format == "docx":
        with zipfile.ZipFile(io.BytesIO(translated)) as archive:
            translated = archive.read("word/document.xml")
    sys.stdout.write(translated.decode("utf-8", "replace"))


def _split(texts):
    """In the place of `split_strings`: `split_double`, and cut as a model's positions cut."""
    results = []
    for separators, sentences in split_double(texts):
        cut, found = separators[:1], []
        for sentence, separator in zip(sentences, separators[1:], strict=True):
            parts = list(re.finditer(rf"\S+(?:\s+\S+){{0,{_MAX_WORDS - 1}}}", sentence))
            found += [part[0] for part in parts]
            cut += [
                sentence[before.end() : after.start()]
                for before, after in itertools.pairwise(parts)
            ]
            cut.append(separator)
        results.append((cut, found))
    return results


_OWN = tuple({sys.prefix, sys.base_prefix, str(Path(__file__).parents[2])})
_FORBIDDEN = (
    *("subprocess.", "os.system", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.remove"),
    *(
        "os.rename",
        "os.mkdir",
        "socket.",
        "ctypes.",
        "webbrowser.",
        "urllib.",
        "shutil.",
        "ftplib.",
    ),
)


def _watch(document, event, arguments):
    if event == "open" and isinstance(arguments[0], (str, bytes)):
        name, mode = os.fsdecode(arguments[0]), arguments[1] or "r"
        if name == document or (name.startswith(_OWN) and mode in ("r", "rb")):
            return
        raise ForbiddenError(f"open {name} {mode}")
    if event.startswith(_FORBIDDEN):
        raise ForbiddenError(event)


# ---- Texts ----


def _texts(format, secret, rng):
    sample = SAMPLES[format][0]
    head, tail = {
        "csv": ("text\n", ""),
        "tsv": ("text\n", ""),
        "json": ('["', '"]'),
        "po": ('msgid "', '"\nmsgstr ""\n'),
        "srt": ("1\n00:00:01,000 --> 00:00:02,000\n", "\n"),
        "vtt": ("WEBVTT\n\n00:01.000 --> 00:02.000\n", "\n"),
    }.get(format, ("", ""))
    for name, data in _BROKEN.items():
        yield format, name, data
    for name, data in (("empty", b""), ("a mark alone", b"\xef\xbb\xbf"), ("spaces", b" " * 9)):
        yield format, name, data
    signs = [sign for sign in _SIGNS if rng.random() < 0.5] if format != "html" else _SIGNS
    for sign in signs:
        many = sign * (_RUN_BYTES // len(sign))
        yield format, f"many {sign!r}", f"{head}tea {many} tea{tail}"
    yield format, "one long word", head + "a" * (8 * MEGABYTE) + tail
    yield format, "many lines", head + "tea\n" * 100_000 + tail
    yield format, "many samples", (sample + "\n") * (MEGABYTE // len(sample))
    yield format, "controls", head + "tea\x01\x1b[2J\u202e\ufeff\ufffe\U000e0041" + tail
    yield format, "a name of a file", str(secret)
    yield format, "an include", f'{head}<?php include "{secret}" ?>&x;{tail}'
    yield format, "a document type", f'<!DOCTYPE a [<!ENTITY x SYSTEM "{secret}">]><p>&x;</p>'
    yield format, "a command", f"{head}=cmd|'/C touch {secret}.out'!A1 $(touch x) `id`{tail}"
    for number in range(3):
        yield format, f"damaged {number}", _damaged(sample.encode(), rng)


def _damaged(data, rng):
    data = bytearray(data)
    for _ in range(rng.randint(1, 8)):
        place, length = rng.randrange(len(data)), rng.randint(0, 20)
        new = rng.choice([b"", bytes(data[place : place + length]) * 3, rng.randbytes(length)])
        data[place : place + length] = new
        data = data or bytearray(b"a")
    return bytes(data)


# ---- Archives ----


def _word(body, before=""):
    return (
        f'<?xml version="1.0"?>{before}<w:document xmlns:w="{_WORDS}"><w:body>{body}</w:body>'
        "</w:document>"
    )


def _paragraph(text):
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


def zipped(files, compression=zipfile.ZIP_DEFLATED):
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return written.getvalue()


def _archives(secret):
    for name, text in word_texts(secret):
        yield "docx", name, zipped({"word/document.xml": text})
    tea = _word(_paragraph("tea"))
    for name, files in {
        "a flat bomb": {"word/document.xml": tea, "bomb": bytes(300 * MEGABYTE)},
        "a small bomb": {"word/document.xml": tea, "bomb": bytes(60 * MEGABYTE)},
        "a bomb of text": {"word/document.xml": _word(_paragraph("a" * (60 * MEGABYTE)))},
        "a bomb in a bomb": {
            "word/document.xml": tea,
            "bomb": zipped({"bomb": bytes(90 * MEGABYTE)}),
        },
        "many files": {"word/document.xml": tea} | {f"f{n}": b"" for n in range(12_000)},
        "names outside": {"word/document.xml": tea, "../../out": b"a", "/etc/out": b"a"},
        "odd names": {"word/document.xml": tea, "a\nb\x1b": b"a", "C:\\out": b"a", "CON": b"a"},
        "macros": {"word/document.xml": tea, "word/vbaProject.bin": b"\xd0\xcf\x11\xe0" * 99},
        "external relations": {
            "word/document.xml": tea,
            "word/_rels/document.xml.rels": f'<Relationships><Relationship Target="file://{secret}"'
            ' TargetMode="External"/></Relationships>',
        },
        "a bad header": {"word/document.xml": tea, "word/header1.xml": "<a>"},
        "a broken footnote": {"word/document.xml": tea, "word/footnotes.xml": b"\xff\xfe<a/>"},
    }.items():
        yield "docx", name, zipped(files)
    whole = zipped({"word/document.xml": tea})
    for name, method in (("bzip2", zipfile.ZIP_BZIP2), ("lzma", zipfile.ZIP_LZMA)):
        yield "docx", name, zipped({"word/document.xml": tea}, method)
        bomb = {"word/document.xml": _word(_paragraph(" " * (200 * MEGABYTE)))}
        yield "docx", f"a bomb in {name}", zipped(bomb, method)
    yield "docx", "a program before it", b"MZ" * 5_000 + whole
    yield "docx", "text behind it", whole + b"tea" * 99
    yield "docx", "twice", whole + whole
    yield from lies(whole)


def word_texts(secret):
    """Names and texts of word/document.xml."""
    laughs = "".join(f"<!ENTITY {b} '{f'&{a};' * 10}'>" for a, b in itertools.pairwise("abcdefghi"))
    types = {
        "laughs": f"<!DOCTYPE d [<!ENTITY a 'ha'>{laughs}]>",
        "quadratic": f"<!DOCTYPE d [<!ENTITY i '{'a' * 90_000}'>]>",
        "an external entity": f'<!DOCTYPE d [<!ENTITY i SYSTEM "file://{secret}">]>',
        "an address": '<!DOCTYPE d [<!ENTITY i SYSTEM "http://127.0.0.1:9/a">]>',
        "parameters": f'<!DOCTYPE d [<!ENTITY % p SYSTEM "file://{secret}"> %p;]>',
        "an external type": f'<!DOCTYPE d SYSTEM "file://{secret}">',
    }
    for name, before in types.items():
        yield name, _word(_paragraph("&i;" * 500), before)
    include = '<x:include xmlns:x="http://www.w3.org/2001/XInclude" parse="text" href="'
    yield "XInclude", _word(f'{include}{secret}"/>' + _paragraph("tea"))
    yield "a style sheet", _word(_paragraph("tea"), f'<?xml-stylesheet href="file://{secret}"?>')
    yield (
        "a macro field",
        _word(
            "<w:p><w:r><w:instrText>DDEAUTO c:\\\\cmd.exe</w:instrText></w:r></w:p>"
            + _paragraph("tea")
        ),
    )
    for depth in (300, 50_000, 1_000_000):
        yield f"depth {depth}", _word("<w:p>" * depth + "</w:p>" * depth)
        yield f"open {depth}", _word("<w:sdt>" * depth)
    runs = "<w:r><w:rPr><w:b/></w:rPr><w:t>a</w:t></w:r><w:r><w:t> tea</w:t></w:r>"
    yield "many runs", _word(f"<w:p>{runs * 60_000}</w:p>")
    yield "many bare runs", _word("<w:p>" + "<w:r><w:t>tea </w:t></w:r>" * 200_000 + "</w:p>")
    yield "many properties", _word("<w:p><w:r>" + "<w:rPr></w:rPr>" * 20_000 + "</w:r></w:p>")
    yield (
        "runs without properties",
        _word(
            "<w:p>" + "<w:r><w:x></w:x></w:r>" * 20_000 + "<w:r><w:rPr/><w:t>a</w:t></w:r></w:p>"
        ),
    )
    yield "many paragraphs", _word(_paragraph("tea") * 100_000)
    yield "many text boxes", _word("<w:p>" + _paragraph("tea") * 50_000 + "</w:p>")
    yield "texts in texts", _word("<w:p><w:r>" + "<w:t>a" * 100 + "</w:t>" * 100 + "</w:r></w:p>")
    yield "text without a run", _word("<w:p><w:t>tea</w:t></w:p>")
    yield "text alone", _word("<w:t>tea</w:t>")
    yield "CDATA", _word(_paragraph("<![CDATA[tea & <b>]]>"))
    yield "a comment", _word(_paragraph("te<!-- > -->a"))
    yield "a sign in an attribute", _word('<w:p><w:r><w:t a=">">tea</w:t></w:r></w:p>')
    yield "many attributes", _word("<w:p " + " ".join(f'a{n}="b"' for n in range(90_000)) + "/>")
    yield "a long attribute", _word(f'<w:p a="{"a" * 5_000_000}"/>')
    yield "a long name", _word(f"<{'a' * 5_000_000}/>")
    yield "characters by number", _word(_paragraph("&#116;&#x65;&#x1F600;a &#38; &#60;"))
    yield "forbidden characters", _word(_paragraph("&#0;&#xFFFFFFFF;"))
    yield "UTF-16", _word(_paragraph("tea")).encode("utf-16")
    yield "another encoding", '<?xml version="1.0" encoding="utf-7"?><a/>'
    yield (
        "says latin-1",
        _word(_paragraph("é")).replace('version="1.0"', 'version="1.0" encoding="iso-8859-1"'),
    )
    yield "XML 1.1", '<?xml version="1.1"?><a/>'
    yield "empty", ""
    yield "not XML", "tea"


def lies(whole):
    """Archives whose headers say what is not so."""
    entry, local = whole.index(b"PK\1\2"), whole.index(b"PK\3\4")
    fields = {
        "flags": (entry + 8, "<H", (1, 0x41, 0x800, 0xFFFF)),
        "method": (entry + 10, "<H", (0, 1, 9, 12, 99, 0xFFFF)),
        "checksum": (entry + 16, "<I", (0, 0xFFFFFFFF)),
        "packed size": (entry + 20, "<I", (0, 1, 0x7FFFFFFF, 0xFFFFFFFF)),
        "size": (entry + 24, "<I", (0, 1, 10_000, 0x7FFFFFFF, 0xFFFFFFFF)),
        "length of the name": (entry + 28, "<H", (0, 0xFFFF)),
        "length of extras": (entry + 30, "<H", (1, 0xFFFF)),
        "place": (entry + 42, "<I", (1, 0x7FFFFFFF, 0xFFFFFFFF)),
        "name here": (local + 26, "<H", (0, 5, 0xFFFF)),
        "method here": (local + 8, "<H", (0, 99)),
        "entries": (whole.index(b"PK\5\6") + 10, "<H", (0, 9, 0xFFFF)),
        "size of the list": (whole.index(b"PK\5\6") + 12, "<I", (0, 1, 0xFFFFFFFF)),
        "place of the list": (whole.index(b"PK\5\6") + 16, "<I", (1, 0x7FFFFFFF, 0xFFFFFFFF)),
    }
    for name, (place, kind, values) in fields.items():
        for value in values:
            changed = bytearray(whole)
            struct.pack_into(kind, changed, place, value)
            yield "docx", f"{name} {value}", bytes(changed)
    for share in (0.3, 0.6, 0.95):
        yield "docx", f"cut at {share}", whole[: int(len(whole) * share)]


def _damaged_archives(rng):
    for number in range(10):
        yield "docx", f"damaged {number}", _damaged(docx_sample(), rng)


@click.command(help="Read and translate hostile documents.")
@click.option("--seed", default=0, show_default=True)
@click.option("--seconds", default=30.0, show_default=True, help="Limit for each document.")
@click.option("--only", help="Only documents of this format.")
def main(seed, seconds, only):
    import aiayn_keras.scale.translation  # noqa: F401 - loaded once, before the first fork

    with tempfile.TemporaryDirectory() as folder:
        some = (case for case in cases(Path(folder), seed) if only in (None, case.group))
        results = []
        for result in run_cases(some, dataclasses.replace(LIMITS, seconds=seconds)):
            results.append(result)
            if result.fault is not None:  # said at once: the whole takes minutes
                case = result.case
                click.echo(f"{case.group}: {case.name}: {result.fault}", err=True)
    raise SystemExit(1 if print_table(results) else 0)


if __name__ == "__main__":
    main()
