"""Columns of tables are found by name or number, and wrong ones are named."""

import pytest

from aiayn_keras_light.document_formats import check_columns_of, choose_columns, layout_of


@pytest.mark.parametrize(
    ("document", "format", "expected"),
    [
        ("a;b,c;d\n", "csv", (0, ";")),
        ('"a,b,c"\tb\n', "csv", (0, "\t")),
        ("text\n", "csv", (0, ",")),
        ("sep=|\r\na;b|c\r\n", "csv", (7, "|")),
        ("a,b,c\td\n", "tsv", (0, "\t")),
    ],
)
def test_the_separator_is_found(document, format, expected):
    assert layout_of(document, format) == expected


def test_columns_are_sorted_places():
    assert choose_columns(["c", "1"], ["a", "b", " c"]) == ([0, 2], True)
    assert choose_columns(["2"], ["a", "b"]) == ([1], False)
    for columns in (None, ["d"], ["3"], ["0"]):
        with pytest.raises(ValueError, match="The first row has: 'a', 'b'"):
            choose_columns(columns, ["a", "b"])


def test_a_beginning_is_enough_to_check_columns():
    check_columns_of(b'\xef\xbb\xbfid;"te\nxt"\n1;tea', "csv", ["te\nxt"])
    check_columns_of(b"caf\xe9;text\n", "csv", ["x"])  # left to the reader of the table
    with pytest.raises(ValueError, match="no column 'x'"):
        check_columns_of(b"id\ttext\n1", "tsv", ["x"])
