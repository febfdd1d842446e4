import bz2
import gzip
import json
import lzma
import os

import pytest

from aiayn_keras.common.bad_lines import stream_lines_and_bad
from aiayn_keras.data import CorpusError, read_lines, stream_lines
from aiayn_keras_light.text_files import (
    FREE_BYTES,
    MAX_LINE_BYTES,
    as_json_line,
    chunk_rows,
    without_breaks,
)
from tests.data.text_bytes import write


@pytest.mark.parametrize("name", ["a.en", "a.en.gz"])
def test_a_line_has_a_greatest_length(tmp_path, name):
    data = b"one\n" + b"x" * 8 + b"\nthree\n"
    path = write(tmp_path / name, gzip.compress(data) if name.endswith("gz") else data)
    assert read_lines(path, max_line_bytes=9) == ["one", "x" * 8, "three"]
    with pytest.raises(CorpusError, match=r"a\.en.*, line 2: .*at most 8 bytes"):
        read_lines(path, max_line_bytes=8)


def test_the_lines_before_a_giant_one_are_given_without_it(tmp_path):
    path = write(tmp_path / "a.en", b"one\n" + bytes(3 * MAX_LINE_BYTES))
    lines = stream_lines(path)
    assert next(lines) == "one"
    with pytest.raises(CorpusError, match=r"a\.en, line 2: .*at most 1,000,000 bytes"):
        next(lines)


@pytest.mark.parametrize(
    ("packer", "packed"),
    [
        ("gzip: unpack it, for example with `gunzip`, or", gzip.compress(b"a\tb\n")),
        ("bzip2: unpack it", bz2.compress(b"a\tb\n")),
        ("xz: unpack it", lzma.compress(b"a\tb\n")),
        ("zstd: unpack it", b"\x28\xb5\x2f\xfd\x24\0\n"),
        ("zip, as tables .* export it as text", b"PK\x03\x04\x14\0\n"),
        ("Parquet: write .* or `translate --output`", b"PAR1\x15\x04\x15\xf0\n\0a\0\0\n"),
    ],
    ids=["gzip", "bzip2", "xz", "zstd", "zip", "Parquet"],  # gzip's bytes have the time in them
)
def test_what_another_program_packed_is_told_from_text(packer, packed, tmp_path):
    path = tmp_path / "a.tsv"
    path.write_bytes(packed)
    for read in (stream_lines, stream_lines_and_bad):
        with pytest.raises(CorpusError, match=rf"a\.tsv: not text, but packed by {packer}"):
            list(read(path))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be"])
@pytest.mark.parametrize("text", ["The girl.\n", "The girl.\r\nPaul\r\n", "Да.\nНет.\n", "łąę\nA"])
def test_utf16_is_refused_with_and_without_its_mark(encoding, text, tmp_path):
    path = write(tmp_path / "a.en", text.encode(encoding))
    with pytest.raises(CorpusError, match=r"a\.en, line [12]: not UTF-8, but UTF-16.*iconv"):
        read_lines(path)


def test_zeros_in_utf8_are_characters(tmp_path):
    data = b"\0\n\0\0\na\0b\n\0abc\nabcd\0\n\0abcd\n\xe2\x80\x9cab\0\n"
    assert read_lines(write(tmp_path / "a.en", data)) == data.decode().splitlines()


def test_more_lines_than_memory_should_hold_are_refused(tmp_path):
    path = write(tmp_path / "a.en", "line\n" * 4)
    assert len(read_lines(path, max_lines=4)) == 4
    with pytest.raises(CorpusError, match=r"a\.en, line 4: .*at most 3 lines.*prepare"):
        read_lines(path, max_lines=3)


def test_a_gzip_bomb_is_refused(tmp_path):
    path = write(tmp_path / "bomb.gz", gzip.compress((b"x" * 999 + b"\n") * (FREE_BYTES // 900)))
    with pytest.raises(CorpusError, match=r"bomb\.gz: the unpacked .*200 times as.*unpack it"):
        sum(1 for _ in stream_lines(path))


def test_a_small_file_may_repeat_itself(tmp_path):
    path = write(tmp_path / "a.gz", gzip.compress(b"line\n" * 100_000))
    assert sum(1 for _ in stream_lines(path)) == 100_000


def test_a_named_pipe_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match=r"pipe is not a regular file"):
        read_lines(tmp_path / "pipe")


def test_rows_are_cut_by_number_and_by_characters():
    rows = [("a", "b"), ("c", "d"), ("e" * 9, ""), ("f", "g")]
    assert list(chunk_rows(rows)) == [rows]
    assert list(chunk_rows(rows, max_rows=2)) == [rows[:2], rows[2:]]
    assert list(chunk_rows(rows, max_characters=10)) == [rows[:3], rows[3:]]
    assert list(chunk_rows([])) == []


def test_a_chunk_is_given_before_the_next_is_read():
    read = []

    def rows():
        for number in range(6):
            read.append(number)
            yield (str(number),)

    next(chunk_rows(rows(), max_rows=2))
    assert read == [0, 1]


def test_a_text_is_one_field_of_one_line():
    assert without_breaks("a\tb\r\nc\vd\fe") == "a b  c d e"
    assert without_breaks(" a\u2028b ") == " a\u2028b "


def test_json_is_one_line_to_every_reader():
    texts = ["a\u2028b", "c\u2029d\x85", "é\n\x0b\x1c中"]
    (line,) = as_json_line(texts).splitlines()
    assert json.loads(line) == texts
    assert "é" in line
