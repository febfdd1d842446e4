"""Parts of files: whatever the cuts, each line is in one part, in its order."""

import gzip
import os
import resource
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aiayn_keras.common import file_addresses
from aiayn_keras.common.bad_lines import BadLine
from aiayn_keras.common.file_addresses import absolute
from aiayn_keras.data import CorpusError
from aiayn_keras.scale import parts
from aiayn_keras.scale.job import Job
from aiayn_keras.scale.parts import plan_parts, read_lines, read_pairs
from aiayn_keras_light.text_files import MAX_LINE_BYTES

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

LINES = ["a cat", "", "Ein Bär\u2028 und \x85", "日本", "x" * 30]
TEXT = st.text(st.characters(exclude_characters="\0\n\r\t\ufeff", exclude_categories=["Cs"]))


def parts_of(patterns, part_bytes):
    _, parts = plan_parts([str(pattern) for pattern in patterns], part_bytes)
    assert [part.number for part in parts] == list(range(len(parts)))
    return parts


def lines_of(pattern, part_bytes=1000):
    return [line for part in parts_of([pattern], part_bytes) for line in read_lines(part)]


def pairs_of(*patterns, part_bytes=1000):
    return [pair for part in parts_of(patterns, part_bytes) for pair in read_pairs(part)]


def write_parquet(path, **columns):
    parquet.write_table(pyarrow.table(columns), path, row_group_size=2)
    return path


# ---- Lines ----


@settings(max_examples=30)
@given(st.lists(TEXT, max_size=8), st.booleans(), st.integers(1, 40))
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
    write_parquet(tmp_path / "c.parquet", text=LINES)
    (tmp_path / "d").mkdir()
    assert lines_of(tmp_path / "*", part_bytes) == 3 * LINES


def test_links_are_followed_and_hidden_files_left_out(tmp_path):
    (tmp_path / "a").mkdir()
    for name in ("a/1.txt", "a/.hidden.txt", "other.txt"):
        (tmp_path / name).write_text(name)
    (tmp_path / "a/2.txt").symlink_to(tmp_path / "other.txt")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    assert lines_of(tmp_path / "a/*.txt") == ["a/1.txt", "other.txt"]
    assert lines_of(tmp_path / "?/*.txt") == ["a/1.txt", "other.txt"]  # once each
    (tmp_path / "other.txt").unlink()
    with pytest.raises(FileNotFoundError, match=r"There is no file .*/a/2\.txt"):
        lines_of(tmp_path / "a/*.txt")


@pytest.mark.parametrize(
    ("output", "pattern", "others"),
    [
        (".", "memory://corpus/*.txt", ["a", "b"]),
        ("memory://corpus/out/", "memory://corpus/**", ["a", "b"]),
        ("memory://corpus/ou", "memory://corpus/**", ["a", "b", "result"]),
    ],
)
def test_results_are_left_out_and_nothing_else(output, pattern, others, monkeypatch, tmp_path):
    import fsspec

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(file_addresses, "PROTOCOLS", file_addresses.PROTOCOLS | {"memory"})
    memory = fsspec.filesystem("memory")
    for name in ("a", "b", "out/result"):
        memory.pipe(f"/corpus/{name}.txt", b"one\n")
    files, _ = plan_parts([pattern], left_out=absolute(output))
    assert sorted(Path(file.address).stem for file in files) == others
    memory.rm("/corpus", recursive=True)


@pytest.mark.parametrize(
    ("folder", "address"),
    [
        ("s3://bucket/out/", "s3://bucket/out"),
        ("hdfs://host:9000/out", "hdfs://host:9000/out"),
        ("file:///srv/out/", "/srv/out"),
        ("/srv/./out/", "/srv/out"),
    ],
)
def test_a_folder_has_one_address(folder, address):
    assert absolute(folder) == address


def test_a_name_that_is_not_valid_text_is_kept(tmp_path):
    name = os.fsencode(tmp_path) + b"/caf\xe9.txt"
    with open(name, "w") as file:
        file.write("one\ntwo")
    (part,) = parts_of([tmp_path / "*.txt"], 1000)
    job = Job(str(tmp_path / "out"), [part])
    for _ in range(2):
        with job.opened({"files": [[part.pieces[0].address]]}):
            assert list(read_lines(part)) == ["one", "two"]


def test_names_with_colons_are_read_as_they_are(tmp_path):
    for name in ("x", "x::y", "::x"):
        (tmp_path / name).write_text(name)
    assert lines_of(tmp_path / "*") == ["::x", "x", "x::y"]
    (tmp_path / "x::z.gz").write_bytes(gzip.compress(b"zipped"))
    write_parquet(tmp_path / "file:x::z.parquet", text=["in a table"])
    assert lines_of(tmp_path / "*z*") == ["in a table", "zipped"]


def replace(path):
    """Puts a file of equal size and time in its place."""
    times = path.stat().st_atime_ns, path.stat().st_mtime_ns
    other = path.with_name("other")
    other.write_bytes(path.read_bytes()[::-1])
    os.utime(other, ns=times)
    other.replace(path)


def cut(path):
    os.truncate(path, 30)


@pytest.mark.parametrize("change", [replace, cut, os.remove])
@pytest.mark.parametrize("name", ["a.txt", "a.gz", "a.parquet"])
def test_a_file_that_changes_between_or_in_parts_is_refused(tmp_path, change, name):
    content = "".join(f"{n}\n" for n in range(100_000))
    if name == "a.parquet":
        table = pyarrow.table({"text": content.split()})
        parquet.write_table(table, tmp_path / name, row_group_size=40_000)
    else:
        (tmp_path / name).write_bytes(
            gzip.compress(content.encode()) if name == "a.gz" else content.encode()
        )
    parts = parts_of([tmp_path / name], 200_000)
    lines = read_lines(parts[0])
    assert next(lines) == "0"
    change(tmp_path / name)
    for left in (lines, read_lines(parts[-1])):
        with pytest.raises(CorpusError, match=rf"{name} has (changed|been deleted) while"):
            list(left)


def test_aligned_files_must_not_change_while_they_are_read(tmp_path, monkeypatch):
    for name in "ab":
        (tmp_path / name).write_text("1\n2\n3\n")
    (part,) = parts_of([tmp_path / "a", tmp_path / "b"], 1000)
    pairs = read_pairs(part)
    assert next(pairs) == ("1", "1")
    replace(tmp_path / "b")
    with pytest.raises(CorpusError, match="/b has changed"):
        list(pairs)
    find_ends = parts._line_ends

    def find_ends_and_replace(path):
        yield from find_ends(path)
        if path.endswith("b"):
            replace(tmp_path / "a")

    monkeypatch.setattr(parts, "_line_ends", find_ends_and_replace)
    with pytest.raises(CorpusError, match="/a has changed"):
        parts_of([tmp_path / "a", tmp_path / "b"], 1000)


def test_a_byte_order_mark_alone_is_not_a_line(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbf")
    assert lines_of(tmp_path / "a.txt") == []
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbf\n")
    assert lines_of(tmp_path / "a.txt") == [""]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_a_file_in_utf16_is_damaged_and_not_a_file_of_bad_lines(encoding, tmp_path):
    (tmp_path / "a.txt").write_bytes("Привет, мир.\nЁж.\n".encode(encoding))
    with pytest.raises(CorpusError, match=r"a.txt, line \d: not UTF-8, but UTF-16 or UTF-32"):
        lines_of(tmp_path / "a.txt")


def test_a_name_with_a_bracket_is_a_file_before_it_is_a_pattern(tmp_path):
    (tmp_path / "a[1].txt").write_text("itself")
    (tmp_path / "a1.txt").write_text("by pattern")
    assert lines_of(tmp_path / "a[1].txt") == ["itself"]
    (tmp_path / "a[1].txt").unlink()
    assert lines_of(tmp_path / "a[1].txt") == ["by pattern"]


def test_unusable_lines_are_reported(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_bytes(b"\xef\xbb\xbfone\n\xff\n" + b"x" * (MAX_LINE_BYTES + 1) + b"\ntwo\n")
    for part_bytes in (300_000, 10_000_000):
        one, bad, long, two = lines_of(path, part_bytes)
        assert (one, two) == ("one", "two")
        assert bad == BadLine("not valid UTF-8 (byte 0xff)")
        assert f"it has {MAX_LINE_BYTES + 2:,}" in long.reason
    texts = pyarrow.array(["a", None, b"\xff\xfe", "ä" * MAX_LINE_BYTES, "b"], "binary")
    strings = texts.view("string")
    for text in (texts, strings, strings.dictionary_encode()):
        a, none, bad, long, b = lines_of(write_parquet(tmp_path / "a.parquet", text=text))
        assert (a, b) == ("a", "b")
        assert none == BadLine("not text: None")
        assert bad == BadLine("not valid UTF-8 (byte 0xff)")
        assert f"it has {2 * MAX_LINE_BYTES:,}" in long.reason
    strings = pyarrow.array(['"a"', None], "string")
    json = pyarrow.ExtensionArray.from_storage(pyarrow.json_(), strings)
    for text in (strings.cast(pyarrow.string_view()), json):
        a, none = lines_of(write_parquet(tmp_path / "c.parquet", text=text))
        assert (a, none) == ('"a"', BadLine("not text: None"))
    (number,) = lines_of(write_parquet(tmp_path / "b.parquet", text=[1]))
    assert number == BadLine("not text: 1")


def test_values_that_python_does_not_have_are_not_text(tmp_path):
    times = pyarrow.array([0, 2**60, None], pyarrow.timestamp("ms"))
    zero, late, none = lines_of(write_parquet(tmp_path / "a.parquet", text=times))
    assert zero.reason.startswith("not text: datetime")
    assert late.reason.startswith("not text: Timestamp")
    assert none == BadLine("not text: None")


def test_long_rows_that_take_few_bytes_are_read_a_few_at_a_time(tmp_path):
    row, number = "x" * 900_000, 5000  # 4.5 GB
    column = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * number, "int32"), [row])
    path = tmp_path / "a.parquet"
    parquet.write_table(pyarrow.table({"text": column}), path)
    assert path.stat().st_size < 1_000_000
    lines = read_lines(*parts_of([path], 10**9))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert all(next(lines) == row for _ in range(300))
    lines.close()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1_500_000  # kB


def test_damaged_files_are_refused(tmp_path):
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"line\n" * 1000)[:-9])
    with pytest.raises(CorpusError, match=r"a\.gz: not a complete gzip file"):
        lines_of(tmp_path / "a.gz")
    (tmp_path / "a.parquet").write_bytes(b"no parquet")
    with pytest.raises(CorpusError, match=r"a\.parquet is not a whole Parquet file"):
        lines_of(tmp_path / "a.parquet")
    with pytest.raises(CorpusError, match=r"no column 'text'. Its columns: a, b"):
        lines_of(write_parquet(tmp_path / "b.parquet", a=["x"], b=["y"]))
    twice = pyarrow.table([["x"], ["y"]], names=["text", "text"])
    parquet.write_table(twice, tmp_path / "c.parquet")
    with pytest.raises(CorpusError, match=r"2 times the column 'text'"):
        lines_of(tmp_path / "c.parquet")
    with pytest.raises(FileNotFoundError, match=r"No file matches .*/\*\.tsv"):
        lines_of(tmp_path / "*.tsv")


# ---- Pairs ----


@settings(max_examples=30)
@given(st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=8), st.booleans(), st.integers(1, 40))
def test_every_cut_of_aligned_files_gives_each_pair_once(tmp_path_factory, pairs, ends, part_bytes):
    folder = tmp_path_factory.mktemp("text")
    for name, side in zip("ab", zip(*pairs, strict=True), strict=True):
        # An empty last line is one only with its newline.
        text = "\n".join(side) + ("\n" if ends or not side[-1] else "")
        (folder / name).write_bytes(text.encode())
    expected = [tuple(unicodedata.normalize("NFC", side) for side in pair) for pair in pairs]
    assert pairs_of(folder / "a", folder / "b", part_bytes=part_bytes) == expected


def test_cuts_do_not_depend_on_blocks(tmp_path, monkeypatch):
    for name in "ab":
        (tmp_path / name).write_text("\n".join(LINES * 9))
    whole = parts_of([tmp_path / "a", tmp_path / "b"], 20)
    monkeypatch.setattr(parts, "_BLOCK", 3)
    assert parts_of([tmp_path / "a", tmp_path / "b"], 20) == whole
    assert len(whole) > 9


def test_the_number_of_parts_is_limited(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("\n".join(LINES * 9))
    assert len(parts_of([tmp_path / "a.txt"], 1)) > 300
    monkeypatch.setattr(parts, "MAX_PARTS", 10)
    assert len(parts_of([tmp_path / "a.txt"], 1)) in (10, 11)
    assert lines_of(tmp_path / "a.txt", 1) == LINES * 9


def test_pairs_come_from_columns_and_from_many_files(tmp_path):
    expected = [(line, line[::-1]) for line in LINES]
    (tmp_path / "a.tsv").write_text("".join(f"{a}\t{b}\tmore\n" for a, b in expected))
    assert pairs_of(tmp_path / "a.tsv", part_bytes=9) == expected
    sources, targets = zip(*expected, strict=True)
    write_parquet(tmp_path / "a.parquet", target=targets, source=sources)
    assert pairs_of(tmp_path / "a.parquet", part_bytes=1) == expected
    for number in (1, 2):
        (tmp_path / f"{number}.en.gz").write_bytes(gzip.compress("\n".join(sources).encode()))
        (tmp_path / f"{number}.de").write_text("\n".join(targets))
    assert pairs_of(tmp_path / "*.en.gz", tmp_path / "*.de") == 2 * expected


def test_unusable_pairs_are_reported(tmp_path):
    (tmp_path / "a.tsv").write_bytes(b"a\tb\nno tab\n\xff\tc\n")
    pair, no_tab, not_text = pairs_of(tmp_path / "a.tsv")
    assert pair == ("a", "b")
    assert no_tab == BadLine("expected `source<TAB>target`, found no tab")
    assert "UTF-8" in not_text.reason


def test_files_that_are_not_aligned_are_refused(tmp_path):
    (tmp_path / "a").write_text("1\n2\n3\n")
    (tmp_path / "b").write_text("1\n2")
    with pytest.raises(CorpusError, match=r"Received: 3 lines in .*/a, 2 lines in .*/b\."):
        pairs_of(tmp_path / "a", tmp_path / "b")
    (tmp_path / "b.gz").write_bytes(gzip.compress(b"1\n2\n"))
    with pytest.raises(CorpusError, match=r"same number of lines: .*/a and .*/b\.gz differ"):
        pairs_of(tmp_path / "a", tmp_path / "b.gz")
    with pytest.raises(
        CorpusError, match=r"same number of source and target files.* Received: 2 .*, 1 like .*/a\."
    ):
        pairs_of(tmp_path / "b*", tmp_path / "a")
    write_parquet(tmp_path / "c.parquet", source=["a"], target=["b"])
    with pytest.raises(CorpusError, match="holds both sides"):
        pairs_of(tmp_path / "c.parquet", tmp_path / "a")
