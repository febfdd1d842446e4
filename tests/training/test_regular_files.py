import os

import pytest

from aiayn_keras.training.regular_files import read_regular


def test_a_file_is_read_up_to_its_bound(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    assert read_regular(path, 5) == b"12345"
    with pytest.raises(OSError, match=r"file is larger than 4 bytes"):
        read_regular(path, 4)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        read_regular(tmp_path / "nowhere", 4)


@pytest.mark.parametrize("kind", ["pipe", "folder", "endless"])
def test_what_is_no_file_is_not_read(tmp_path, kind):
    path = tmp_path / "file"
    {"pipe": os.mkfifo, "folder": os.mkdir, "endless": lambda path: path.symlink_to("/dev/zero")}[
        kind
    ](path)
    with pytest.raises(OSError, match="file is no regular file"):
        read_regular(path, 4)
