import os
import socket

import pytest

from aiayn_keras.regular_files import open_regular_file, read_regular_file


def test_a_regular_file_and_a_link_to_one_are_read(tmp_path):
    (tmp_path / "file").write_bytes(b"abc")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    for name in ("file", "link"):
        assert read_regular_file(tmp_path / name, max_bytes=3) == b"abc"
        with open_regular_file(tmp_path / name) as file:
            assert file.read() == b"abc"


def test_a_file_larger_than_allowed_is_refused(tmp_path):
    (tmp_path / "file").write_bytes(b"abc")
    with pytest.raises(ValueError, match=r"note '.*file' must have at most 2 bytes"):
        read_regular_file(tmp_path / "file", "note", max_bytes=2)


def test_what_is_no_regular_file_is_refused_without_reading_it(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/zero")
    for path, found in [("pipe", "a named pipe"), ("link", "a device"), (".", "a directory")]:
        with pytest.raises(OSError, match=f"must be a regular file. It is {found}"):
            open_regular_file(tmp_path / path)


def test_a_socket_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the path of a socket must be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s")
        with pytest.raises(OSError, match="The file 's' cannot be opened: "):
            open_regular_file("s")


@pytest.mark.parametrize("name", ["none", "file/none", "nul\0"])
def test_a_file_that_is_not_there_is_named(tmp_path, name):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(FileNotFoundError, match=r"no note .*(none|nul)"):
        open_regular_file(tmp_path / name, "note")
