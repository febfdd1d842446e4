"""Parts of files: whatever the cuts, each line is in one part, in its order."""

import gzip

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aiayn_keras.data import CorpusError
from aiayn_keras.data.text_files import MAX_LINE_BYTES
from aiayn_keras.scale.part_lines import BadLine, read_part
from aiayn_keras.scale.parts import plan_parts

LINES = ["a cat", "", "Ein Bär\u2028 und \x85", "日本", "x" * 30]


def lines_of(pattern, part_bytes):
    _, parts = plan_parts(str(pattern), part_bytes)
    assert [part.number for part in parts] == list(range(len(parts)))
    return [line for part in parts for line in read_part(part)]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.text(st.characters(exclude_characters="\n\r\ufeff", exclude_categories=["Cs"]))),
    st.booleans(),
    st.integers(1, 40),
)
def test_every_cut_gives_each_line_once(tmp_path_factory, lines, ends, part_bytes):
    path = tmp_path_factory.mktemp("text") / "lines.txt"
    text = "\n".join(lines) + ("\n" if ends else "")
    path.write_bytes(text.encode())
    expected = text.removesuffix("\n").split("\n") if text else []
    assert lines_of(path, part_bytes) == expected


@pytest.mark.parametrize("part_bytes", [1, 7, 16, 1000])
def test_files_of_a_pattern_come_in_the_order_of_their_names(tmp_path, part_bytes):
    (tmp_path / "b.txt").write_text("\n".join(LINES))
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress("\r\n".join(LINES).encode()))
    (tmp_path / "other.md").write_text("no")
    assert lines_of(tmp_path / "*.txt*", part_bytes) == LINES * 2


@pytest.mark.parametrize("part_bytes", [1, 10**6])
def test_parquet_is_cut_between_row_groups(tmp_path, part_bytes):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pyarrow.table({"text": [*LINES, None], "number": range(6)})
    parquet.write_table(table, tmp_path / "lines.parquet", row_group_size=2)
    _, parts = plan_parts(str(tmp_path / "*.parquet"), part_bytes)
    assert [(part.start, part.stop) for part in parts] == (
        [(0, 1), (1, 2), (2, 3)] if part_bytes == 1 else [(0, 3)]
    )
    assert lines_of(tmp_path / "*.parquet", part_bytes) == [*LINES, BadLine("no text: None")]
    with pytest.raises(CorpusError, match=r"no column 'words'. Its columns: text, number."):
        list(read_part(parts[0], column="words"))


def test_a_file_that_is_no_parquet_is_named(tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "lines.parquet").write_text("text")
    with pytest.raises(ValueError, match=r"lines.parquet is no Parquet file"):
        plan_parts(str(tmp_path / "lines.parquet"))


@pytest.mark.parametrize("part_bytes", [1_000, 300_000, 10**7])
def test_lines_that_cannot_be_used_are_told_and_the_others_are_read(tmp_path, part_bytes):
    path = tmp_path / "lines.txt"
    path.write_bytes(b"one\n\xff\xfe\n" + b"x" * (MAX_LINE_BYTES + 5) + b"\ntwo")
    assert lines_of(path, part_bytes) == [
        "one",
        BadLine("not valid UTF-8 (byte 0xff)"),
        BadLine("a line must have at most 1,000,000 bytes, it has 1,000,006"),
        "two",
    ]


def test_a_damaged_gzip_file_is_an_error(tmp_path):
    content = gzip.compress("\n".join(map(str, range(9999))).encode())
    (tmp_path / "lines.gz").write_bytes(content[:-2000])
    with pytest.raises(CorpusError, match=r"lines.gz: not a complete gzip file"):
        lines_of(tmp_path / "lines.gz", 100)


def test_no_file_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"There is no file .*\*.txt"):
        plan_parts(str(tmp_path / "*.txt"))
    with pytest.raises(FileNotFoundError, match=r"There is no file .*a.txt"):
        plan_parts(str(tmp_path / "a.txt"))
