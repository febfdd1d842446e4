import io

import pytest

from aiayn_keras.cli.standard_input import (
    MAX_BYTES,
    MAX_LINE_BYTES,
    open_standard_input,
    read_available_lines,
    read_whole_lines,
)
from aiayn_keras.cli.standard_output import check_standard_output


def test_lines_are_those_of_the_stream():
    text = "eins\r\nzwei\u2028drei\n\nfünf\n" * MAX_BYTES
    lists = list(read_available_lines(io.BytesIO(text.encode())))
    assert len(lists) > 1
    assert [line for lines in lists for line in lines] == [
        line.removesuffix("\r") for line in text.split("\n")[:-1]
    ]


def test_a_last_line_needs_no_end():
    lists = list(read_available_lines(io.BytesIO(b"eins\nzwei")))
    assert [line for lines in lists for line in lines] == ["eins", "zwei"]


def test_the_mark_of_the_byte_order_is_no_text():
    text = "\ufeffeins\n\ufeffzwei\n".encode()
    assert list(read_available_lines(io.BytesIO(text))) == [["eins", "\ufeffzwei"]]
    assert list(read_whole_lines(io.BytesIO(text))) == ["eins\n", "\ufeffzwei\n"]


def test_a_line_has_one_end():
    text = b"eins\r\r\nzwei\r\r\n\r"
    assert list(read_available_lines(io.BytesIO(text))) == [["eins\r", "zwei\r"], [""]]
    assert "".join(read_whole_lines(io.BytesIO(text))).encode() == text


def test_a_line_that_is_not_utf8_is_named_by_its_number():
    with pytest.raises(ValueError, match=r"line 3 is not UTF-8 \(byte 2\)"):
        list(read_available_lines(io.BytesIO(b"a\nb\nca\xe9\n")))


def test_a_line_has_a_greatest_length():
    lines = list(read_available_lines(io.BytesIO(b"123\n1234\n1234"), max_line_bytes=4))
    assert lines == [["123", "1234"], ["1234"]]

    class Drops(io.BytesIO):
        def read1(self, size=-1):
            return super().read1(5)  # between the two characters of an end

    assert list(read_available_lines(Drops(b"1234\r\n5"), 4)) == [["1234"], ["5"]]
    for text in (b"123\n12345\n", b"123\n12345"):
        with pytest.raises(ValueError, match=r"input, line 2: a line must have at most 4 bytes"):
            list(read_available_lines(io.BytesIO(text), max_line_bytes=4))


def test_a_line_without_an_end_is_not_read_to_its_end():
    stream = io.BytesIO(bytes(4 * MAX_LINE_BYTES))
    with pytest.raises(ValueError, match="line 1: a line must have at most 1,000,000 bytes"):
        list(read_available_lines(stream))
    assert stream.tell() < 2 * MAX_LINE_BYTES


def test_a_line_that_comes_in_drops_is_put_together():
    class Drops(io.BytesIO):
        def read1(self, size=-1):
            return super().read1(1)

    text = "Löwe\r\n\nzwei\n"
    assert list(read_available_lines(Drops(text.encode()))) == [["Löwe"], [""], ["zwei"]]


def test_a_stream_that_cannot_be_read_is_named(tmp_path):
    class Directory(io.BytesIO):
        def read1(self, size=-1):
            raise IsADirectoryError(21, "Is a directory")

    with pytest.raises(OSError, match="standard input cannot be read: Is a directory"):
        list(read_available_lines(Directory()))


def test_a_process_without_standard_input_is_told(monkeypatch):
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(OSError, match=r"standard input is closed.*--input"):
        open_standard_input()


def test_a_process_without_standard_output_is_told(monkeypatch):
    check_standard_output()
    monkeypatch.setattr("sys.stdout", None)
    with pytest.raises(OSError, match="standard output is closed"):
        check_standard_output()
