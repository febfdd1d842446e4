"""Text files that nobody should give to the command, and files that are none."""

import functools
import gzip
import io
import json
import os
import zipfile

import click

from aiayn_keras.data import read_lines, read_parallel
from tests.claims.forked_cases import MEGABYTE, Case
from tests.claims.hostile_text import BROKEN_UTF8, hostile_texts

LINE = b"The girl is happy.\n"


def file_cases(rng, folder, model):
    """Yields the cases of all groups of files.

    Args:
        rng: `random.Random`.
        folder: Path of a folder for the files.
        model: Path of a model folder.
    """
    good = _write(folder / "good.en", LINE * 3)
    for name, data, lines in _odd_texts(rng):
        path = _write(folder / f"odd {name}", data)
        run = functools.partial(_show_lines, path)
        check = functools.partial(_is_json_of, lines)
        yield Case("odd text", name, run, "answer", check=check)
    for name, data, message in (*_damaged_texts(rng), *_damaged_gzips(rng)):
        path = _write(folder / f"damaged {name}", data)
        # Of as many lines, as otherwise that would be what is wrong.
        num_lines = data.removesuffix(b"\n").count(b"\n") + 1
        beside = _write(folder / f"beside {name} in plain text", LINE * num_lines)
        for reader, run in _readers(path, beside, model):
            yield Case("damaged text", f"{name}, {reader}", run, "refusal", message)
    yield from _flipped_gzips(rng, folder)
    for name, data, message in _bombs():
        path = _write(folder / f"bomb {name}", data)
        for reader, run in _readers(path, path, model):
            yield Case("bombs", f"{name}, {reader}", run, "refusal", message)
    for name, path in _special_files(folder):
        for reader, run in (*_readers(path, good, model), *_more_readers(path)):
            yield Case("special files", f"{name}, {reader}", run, "refusal")
    for name, run in _unequal_files(folder, model):
        yield Case("unequal files", name, run, "refusal", "lines")


def _write(path, data):
    path.write_bytes(data)
    return path


def _show_lines(path):
    click.echo(json.dumps(read_lines(path)))


def _is_json_of(lines, output):
    return json.loads(output) == lines


def _readers(path, other, model):
    """All that reads a text file: functions, and arguments of the command."""
    yield "read_lines", functools.partial(read_lines, path)
    yield "read_parallel", functools.partial(read_parallel, path, other)
    yield "translate", ("translate", model, "--input", path)
    yield "--prefixes", ("translate", model, "--input", other, "--prefixes", path)
    yield "evaluate", ("evaluate", model, "--source", other, "--reference", path)
    yield "score", ("score", model, "--source", path, "--target", other)


def _more_readers(path):
    yield "train", ("train", path)
    yield "info", ("info", path)
    yield "model folder", ("translate", path)
    yield "average", ("average", path, "--output", "mean")


def _odd_texts(rng):
    """Files that are odd and right: name, bytes and lines."""
    yield "empty", b"", []
    yield "mark alone", b"\xef\xbb\xbf", []
    yield "mark", b"\xef\xbb\xbfone\ntwo\n", ["one", "two"]
    yield "second mark", b"one\n\xef\xbb\xbftwo", ["one", "\ufefftwo"]
    yield "no end", b"one\ntwo", ["one", "two"]
    yield "carriage returns", b"one\r\ntwo\rthree\r\n", ["one", "two\rthree"]
    yield "separators", "a\u2028b\x85c\x0bd\n".encode(), ["a\u2028b\x85c\x0bd"]
    yield "NULs", b"\0\n\0\0\n", ["\0", "\0\0"]
    yield "empty lines", b"\n" * 100_000, [""] * 100_000
    yield "longest line", b"x" * 999_999 + b"\n", ["x" * 999_999]
    yield "empty.gz", gzip.compress(b""), []
    yield "nothing.gz", b"", []
    yield "members.gz", gzip.compress(b"one\nt") + gzip.compress(b"wo\n"), ["one", "two"]
    yield "zeros behind.gz", gzip.compress(b"one\n") + bytes(100), ["one"]
    texts = [text for text in hostile_texts(400, ["The old bus."], 1, 1_000) if b"\n" not in text]
    for number in range(10):
        lines = [_valid(text) for text in rng.sample(texts, 20)]
        data = "".join(f"{line}\n" for line in lines).encode()
        yield f"hostile {number}", data, [line.removesuffix("\r") for line in lines]


def _valid(text):
    """A line in UTF-8; with zeros at its ends it could also be one of UTF-16."""
    return text.decode("utf-8", errors="ignore").strip("\ufeff\0")


def _damaged_texts(rng):
    """Files that are no UTF-8 or have giant lines: name, bytes and message."""
    for number, broken in enumerate(BROKEN_UTF8):
        lines = rng.randint(0, 5)
        yield f"UTF-8 {number}", LINE * lines + broken + b"\n", f"line {lines + 1}: not valid UTF-8"
    yield "latin-1", LINE + "Löwe\n".encode("latin-1"), "line 2: not valid UTF-8"
    yield "UTF-16", "\ufeffone\n".encode("utf-16"), "line 1: not UTF-8, but UTF-16"
    yield "UTF-32", "\ufeffone\n".encode("utf-32"), "line 1: not UTF-8, but UTF-16 or UTF-32"
    yield "random", b"\xff" + rng.randbytes(10_000), "lines? 1(-[0-9]+)?: not valid UTF-8"
    for size in (1, 40):
        lines = rng.randint(0, 5)
        data = LINE * lines + b"x" * (size * MEGABYTE)
        yield f"line of {size} MB", data, f"line {lines + 1}: .*1,000,000 bytes"
    yield "line of spaces", b" " * (8 * MEGABYTE), "line 1: .*1,000,000 bytes"
    yield "line of NULs", bytes(8 * MEGABYTE), "line 1: .*1,000,000 bytes"


def _damaged_gzips(rng):
    packed = gzip.compress(b"".join(b"%d\n" % rng.randrange(10**9) for _ in range(2_000)))
    for number in range(6):
        size = rng.randrange(1, len(packed) - 1)
        yield f"cut {number}.gz", packed[:size], "not a complete gzip file"
    yield "plain.gz", LINE, "not a complete gzip file"
    yield "random.gz", rng.randbytes(1_000), "not a complete gzip file"
    yield "random inside.gz", packed[:20] + rng.randbytes(1_000), "not a complete gzip|not valid"
    yield "garbage behind.gz", packed + b"garbage", "not a complete gzip file"
    yield "twice.gz", gzip.compress(packed), "not text, but packed by gzip"
    yield "zip.gz", _zip(), "not a complete gzip file"


def _zip():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.en", LINE)
    return file.getvalue()


def _flipped_gzips(rng, folder):
    """A compressed file with a changed byte is refused, or gives the same lines."""
    lines = [str(rng.random()) for _ in range(50)]
    packed = gzip.compress("".join(f"{line}\n" for line in lines).encode())
    for number in range(40):
        data = bytearray(packed)
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        path = _write(folder / f"flipped {number}.gz", bytes(data))
        check = functools.partial(_is_json_of, lines)
        yield Case("flipped bits", str(number), functools.partial(_show_lines, path), check=check)


def _bombs():
    """Small files that grow: name, bytes and message."""
    zeros = gzip.compress(bytes(16 * MEGABYTE))
    yield "1 GB of zeros.gz", zeros * 64, "1,000,000 bytes|200 times"
    yield "256 MB of newlines.gz", gzip.compress(b"\n" * (16 * MEGABYTE)) * 16, "200 times"
    short = gzip.compress(b"a\n" * (8 * MEGABYTE))
    yield "1 GB of short lines.gz", short * 64, "200 times"
    long = gzip.compress((b"a" * 999_999 + b"\n") * 16)
    yield "1 GB of long lines.gz", long * 64, "200 times"
    yield "spaces and newlines.gz", gzip.compress(b" " * 900_000 + b"\n" * 10**8), "200 times"
    yield "comment.gz", b"\x1f\x8b\x08\x10" + bytes(6) + b"a" * MEGABYTE, ""


def _special_files(folder):
    """Files that are not regular, or not there."""
    os.mkfifo(folder / "pipe")
    (folder / "zero").symlink_to("/dev/zero")
    (folder / "zero.gz").symlink_to("/dev/zero")
    (folder / "loop").symlink_to(folder / "loop")
    (folder / "gone").symlink_to(folder / "nowhere")
    for name in ("pipe", "zero", "zero.gz", "loop", "gone", "nowhere", "good.en/under"):
        yield name, folder / name
    yield "folder", folder
    yield "random device", "/dev/urandom"
    yield "null device", "/dev/null"
    yield "long name", "x" * 300
    yield "NUL", "a\0b"
    yield "no name", ""
    yield "control characters", "\x1b[31m\x07\n"
    yield "half a character", "\udcff.en"


def _unequal_files(folder, model):
    one, two = _write(folder / "one", LINE), _write(folder / "two", LINE * 2)
    for first, second in ((one, two), (two, one), (one, _write(folder / "none", b""))):
        name = f"{first.name} and {second.name}"
        for reader, run in _readers(first, second, model):
            if reader not in ("read_lines", "translate"):
                yield f"{name}, {reader}", run
