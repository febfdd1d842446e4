import io

import pytest

from aiayn_keras.cli.standard_input import MAX_BYTES, read_available_lines


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


def test_a_line_that_is_not_utf8_is_named_by_its_number():
    with pytest.raises(ValueError, match=r"line 3 is not UTF-8 \(byte 2\)"):
        list(read_available_lines(io.BytesIO(b"a\nb\nca\xe9\n")))
