import pytest

from aiayn_keras.files import atomic_path, new_folder, write_text


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


def test_a_folder_appears_whole(tmp_path):
    path = tmp_path / "above" / "run"
    with new_folder(path) as folder:
        assert folder.name == "run"
        (folder / "deep").mkdir()
        (folder / "deep" / "file").write_text("new")
        assert not path.exists()
    assert (path / "deep" / "file").read_text() == "new"
    assert list(path.parent.iterdir()) == [path]


def test_an_interruption_leaves_no_folder(tmp_path):
    def write_half():
        with new_folder(tmp_path / "run") as folder:
            (folder / "file").write_text("ha")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_half()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("make", [lambda path: path.mkdir(), lambda path: path.write_text("old")])
def test_a_new_folder_takes_the_place_of_nothing(tmp_path, make):
    path = tmp_path / "run"
    make(path)
    with pytest.raises(FileExistsError, match="run exists already: choose another name"):
        new_folder(path).__enter__()
    assert list(tmp_path.iterdir()) == [path]
