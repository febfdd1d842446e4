import gzip
import os

import pytest

from aiayn_keras.common.text_files import FREE_BYTES, MAX_LINE_BYTES
from aiayn_keras.data import CorpusError, read_lines, stream_lines
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
