import pytest

from aiayn_keras.files import atomic_path, write_text


def test_a_file_appears_whole(tmp_path):
    path = tmp_path / "history.json"
    with atomic_path(path) as temporary:
        temporary.write_text("new")
        assert not path.exists()
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_an_interruption_leaves_the_old_file(tmp_path):
    path = tmp_path / "history.json"
    write_text(path, "old")

    def write_half():
        with atomic_path(path) as temporary:
            temporary.write_text("ha")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_half()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
