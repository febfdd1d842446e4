"""Files found by a pattern: each one once, whatever its name; a change is noticed."""

import os

import pytest

from aiayn_keras.common.found_files import check_unchanged, find_files, fixed_folder, unchanged
from aiayn_keras_light.text_files import CorpusError


def names_of(pattern):
    return [file.address for file in find_files(pattern)]


def write(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(os.fsencode(name))
    return [str(folder / name) for name in sorted(names)]


def test_every_name_is_found_whatever_it_is_made_of(tmp_path):
    names = write(tmp_path, "x", "x::y", "::x", "file:x", "a b", "x\n", "[1]", "caf\udce9", "~")
    assert names_of(f"{tmp_path}/*") == sorted(names)
    assert names_of(f"file://{tmp_path}/*") == sorted(names)
    for name in names:
        assert names_of(name) == [name]


def test_a_pattern_is_relative_to_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (name,) = write(tmp_path, "a/x::y")
    assert names_of("a/*::*") == names_of("*/x::y") == names_of("a/x::y") == [name]


def test_a_folder_with_brackets_is_itself_before_it_is_a_pattern(tmp_path):
    write(tmp_path, "a1/x.txt", "a[1]/x.txt", "a*/x.txt", "ab/x.txt")
    assert names_of(tmp_path / "a[1]/*.txt") == [f"{tmp_path}/a[1]/x.txt"]
    assert names_of(tmp_path / "a[1]/x.txt") == [f"{tmp_path}/a[1]/x.txt"]
    assert len(names_of(tmp_path / "a*/*.txt")) == 4  # not only those in the one of that name


def test_a_file_of_that_name_is_not_taken_for_a_pattern(tmp_path, caplog):
    names = write(tmp_path, "q1.tsv", "q?.tsv", "r1.tsv", "r[1].tsv", "s*.tsv", "t/u?/x", "t/u1/x")
    for name in names:
        assert names_of(name) == [name]
        assert fixed_folder(name) == name.rpartition("/")[0]
    assert f"{tmp_path}/q?.tsv is a file" in caplog.text
    assert f"{tmp_path}/s*.tsv is a file" not in caplog.text  # the pattern matches nothing else
    assert names_of(tmp_path / "q*.tsv") == names[:2]


def test_folders_that_match_are_named(tmp_path, caplog):
    names = write(tmp_path, "a/b/x", "a/y", "z")
    assert names_of(tmp_path / "**/*") == names
    assert names_of(tmp_path / "*/*") == [f"{tmp_path}/a/y"]
    assert caplog.text.count("Left out") == 1
    assert f"Left out: folders that {tmp_path}/*/* matches, such as {tmp_path}/a/b." in caplog.text
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileNotFoundError, match=r"pipe\. It is not a regular file\.$"):
        find_files(tmp_path / "pipe")
    with pytest.raises(FileNotFoundError, match=r"No file matches \S*/a\*\.$"):
        find_files(tmp_path / "a*")
    assert f"folders that {tmp_path}/a* matches, such as {tmp_path}/a." in caplog.text
    with pytest.raises(FileNotFoundError, match=r"/a\. It is a folder: .* give \S*/a/\*\.$"):
        find_files(tmp_path / "a")


def test_a_file_is_found_once_however_links_lead_to_it(tmp_path, caplog):
    first, second = write(tmp_path, "d/a/x.txt", "d/y.txt")
    (tmp_path / "d/a/b").symlink_to(tmp_path / "d/a")
    (tmp_path / "d/a/c").symlink_to(tmp_path / "d")
    os.link(second, tmp_path / "d/z.txt")
    (tmp_path / "d/0.txt").symlink_to("a/x.txt")
    assert names_of(tmp_path / "d/**/?.txt") == [f"{tmp_path}/d/0.txt", second]
    assert "matches under several names, such as" in caplog.text
    assert names_of(tmp_path / "d/**/x.txt") == [first]
    assert names_of(tmp_path / "d/a/b/b/x.txt") == [f"{tmp_path}/d/a/b/b/x.txt"]


def test_two_asterisks_match_folders_of_any_depth_and_no_hidden_ones(tmp_path):
    names = write(tmp_path, "x", "a/x", "a/b/x", "a/b/y")
    write(tmp_path, ".hidden/x", "a/.x")
    assert names_of(tmp_path / "**/x") == [n for n in names if n.endswith("x")]
    assert names_of(tmp_path / "**") == names_of(tmp_path / "**/**") == sorted(names)
    assert names_of(tmp_path / "a/**/b/*") == [n for n in names if "/b/" in n]


def grow(path, times):
    path.write_text("longer\n")
    os.utime(path, ns=times)


def rewrite(path, times):
    path.write_text("new\n")
    os.utime(path, ns=(times[0], times[1] + 1))


def replace(path, times):
    other = path.with_name("other")
    rewrite(other, (times[0], times[1] - 1))
    other.replace(path)


def delete(path, times):
    path.unlink()


@pytest.mark.parametrize("change", [grow, rewrite, replace, delete])
def test_a_change_is_noticed(tmp_path, change):
    path = tmp_path / "a.txt"
    path.write_text("old\n")
    (file,) = find_files(path)
    check_unchanged(file)
    facts = path.stat()
    with (
        pytest.raises(CorpusError, match=r"a\.txt has (changed|been deleted) while"),
        unchanged(file),
    ):
        change(path, (facts.st_atime_ns, facts.st_mtime_ns))


def cut(path, text):
    """Cuts a compressed file while it is read."""
    path.write_text(text)
    raise CorpusError("not a complete gzip file")


def test_damage_by_a_change_is_reported_as_a_change(tmp_path):
    path = tmp_path / "a.gz"
    path.write_text("old")
    (file,) = find_files(path)
    with pytest.raises(CorpusError, match="3 bytes, now 2"), unchanged(file):
        cut(path, "cu")
    (file,) = find_files(path)
    with pytest.raises(CorpusError, match="not a complete"), unchanged(file):
        cut(tmp_path / "other", "")
