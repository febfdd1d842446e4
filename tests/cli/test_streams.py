import io

import pytest

from aiayn_keras_cli.streams import (
    check_standard_output,
    open_standard_input,
    read_available_lines,
    read_document,
    read_whole_lines,
)


@pytest.mark.slow
def test_lines_are_those_of_the_stream():
    text = "eins\r\nzwei\u2028drei\n\nfünf\n" * 100_000
    lists = list(read_available_lines(io.BytesIO(text.encode())))
    assert len(lists) > 1
    assert [line for lines in lists for line in lines] == [
        line.removesuffix("\r") for line in text.split("\n")[:-1]
    ]


def test_a_last_line_needs_no_end():
    lists = list(read_available_lines(io.BytesIO(b"eins\nzwei")))
    assert [line for lines in lists for line in lines] == ["eins", "zwei"]


def test_a_byte_order_mark_is_not_text():
    text = "\ufeffeins\n\ufeffzwei\n".encode()
    assert list(read_available_lines(io.BytesIO(text))) == [["eins", "\ufeffzwei"]]
    assert list(read_whole_lines(io.BytesIO(text))) == ["eins\n", "\ufeffzwei\n"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf16_is_refused(encoding):
    text = "Привет, мир.\nЁж.\n".encode(encoding)
    for read in (read_available_lines, read_whole_lines):
        with pytest.raises(ValueError, match=r"standard input, line [12]: not UTF-8, but UTF-16"):
            list(read(io.BytesIO(text)))


def test_a_line_has_one_end():
    text = b"eins\r\r\nzwei\r\r\n\r"
    assert list(read_available_lines(io.BytesIO(text))) == [["eins\r", "zwei\r"], [""]]
    assert "".join(read_whole_lines(io.BytesIO(text))).encode() == text


def test_a_line_that_is_not_utf8_is_named_by_its_number():
    with pytest.raises(ValueError, match=r"line 3 is not UTF-8 \(byte 2\)"):
        list(read_available_lines(io.BytesIO(b"a\nb\nca\xe9\n")))


def test_a_line_has_a_maximum_length():
    lines = list(read_available_lines(io.BytesIO(b"123\n1234\n1234"), max_line_bytes=4))
    assert lines == [["123", "1234"], ["1234"]]

    class Pieces(io.BytesIO):
        def read1(self, size=-1):
            return super().read1(5)  # between the two characters of an end

    assert list(read_available_lines(Pieces(b"1234\r\n5"), 4)) == [["1234"], ["5"]]
    for text in (b"123\n12345\n", b"123\n12345"):
        with pytest.raises(ValueError, match=r"input, line 2: a line must have at most 4 bytes"):
            list(read_available_lines(io.BytesIO(text), max_line_bytes=4))


def test_a_line_without_an_end_is_not_read_to_its_end():
    stream = io.BytesIO(bytes(4_000_000))
    with pytest.raises(ValueError, match="line 1: a line must have at most 1,000,000 bytes"):
        list(read_available_lines(stream))
    assert stream.tell() < 2_000_000


def test_a_line_that_arrives_in_pieces_is_joined():
    class Pieces(io.BytesIO):
        def read1(self, size=-1):
            return super().read1(1)

    text = "Löwe\r\n\nzwei\n"
    assert list(read_available_lines(Pieces(text.encode()))) == [["Löwe"], [""], ["zwei"]]


@pytest.mark.parametrize("max_characters", [1, 20, 1000])
def test_the_pieces_of_a_document_are_its_text(tmp_path, max_characters):
    text = "A title\r\n\r\n  The girl is happy. Every day Paul works!\n\n- Half past three"
    path = tmp_path / "document.en"
    path.write_bytes(text.encode())
    pieces = list(read_document(path, max_characters))
    assert "".join(pieces) == text
    assert (len(pieces) > 1) == (max_characters < len(text))
    assert all(piece.endswith("\n") for piece in pieces[:-1])


def test_a_stream_that_cannot_be_read_is_named(tmp_path):
    class Directory(io.BytesIO):
        def read1(self, size=-1):
            raise IsADirectoryError(21, "Is a directory")

    with pytest.raises(OSError, match="standard input cannot be read: Is a directory"):
        list(read_available_lines(Directory()))


def test_a_process_without_standard_input_says_so(monkeypatch):
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(OSError, match=r"standard input is closed.*--input"):
        open_standard_input()


def test_a_process_without_standard_output_says_so(monkeypatch):
    check_standard_output()
    monkeypatch.setattr("sys.stdout", None)
    with pytest.raises(OSError, match="standard output is closed"):
        check_standard_output()
