"""Addresses: what is not a URL is a path, whatever its name; only some kinds of URLs are opened."""

import pytest

from aiayn_keras.common.file_addresses import (
    absolute,
    copy_file,
    delete_file,
    file_system,
    is_url,
    join,
    read_file,
    sizes_in,
    whole_file,
)

NAMES = [
    "res::1",
    "::x.txt",
    "x::file",
    "file:y",
    "local:z",
    "~",
    "a b\n",
    "50%20",
    "s3:",
    "c?v=1#d",
]
"""Names that a parser of URLs would take apart."""
OTHERS = [
    "reference://a.txt::evil.json",
    "simplecache::s3://bucket/key",
    "zip://x::file://a.zip",
    "filecache::file:///etc/hostname",
    "memory://a",
    "local:///etc/hostname",
    "ftp://host/a",
    "github://owner:name@/a",
    "S3://bucket/key",
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("is_relative", [True, False])
def test_a_path_is_only_a_path(tmp_path, monkeypatch, name, is_relative):
    monkeypatch.chdir(tmp_path)
    for each in NAMES:  # the files that would be read or lost instead
        tmp_path.joinpath(each.partition("::")[0] or "other").touch()
    address = name if is_relative else str(tmp_path / name)
    with whole_file(address) as path:
        path.write_text("text of its own")
    assert (tmp_path / name).read_text() == "text of its own"
    assert read_file(address, 99) == b"text of its own"
    copy_file(address, tmp_path / "copy")
    assert (tmp_path / "copy").read_text() == "text of its own"
    assert sizes_in(".")[name] == 15
    delete_file(address)
    assert name not in sizes_in(tmp_path)
    with whole_file(join(absolute(name), "file")) as path:
        path.write_text("in a folder")
    assert (tmp_path / name / "file").read_text() == "in a folder"


@pytest.mark.parametrize("address", OTHERS)
def test_a_url_of_another_kind_is_refused(address, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert is_url(address)
    kind = address.partition("://")[0]
    message = rf"a URL of the kind {kind}://, .* Use one of abfs://, file://, .* put \./ before it"
    for use in (file_system, sizes_in, lambda url: read_file(url, 9)):
        with pytest.raises(ValueError, match=message):
            use(address)
    with pytest.raises(ValueError, match=message), whole_file(join(absolute(address), "file")):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_path_that_looks_like_another_kind_of_url_is_read_with_a_dot_before_it(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "zip:").mkdir()
    (tmp_path / "zip:/x").write_text("text")
    assert read_file("./zip://x", 9) == b"text"
    assert read_file(f"{tmp_path}/zip://x", 9) == b"text"


def test_the_name_of_an_object_holds_no_second_url():
    pytest.importorskip("aiohttp")
    _, path = file_system("http://127.0.0.1/corpus/a::reference://b")
    assert path == "http://127.0.0.1/corpus/a::reference://b"


def test_a_file_url_is_a_path(tmp_path):
    (tmp_path / "a::b%20").write_text("text")
    assert read_file(f"file://{tmp_path}/a::b%20", 9) == b"text"
    assert absolute(f"file://{tmp_path}/a::b%20/") == f"{tmp_path}/a::b%20"
