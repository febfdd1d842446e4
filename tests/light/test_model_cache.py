"""Entries of the cache: their keys, and that none is ever found that is not whole."""

import multiprocessing
import os
import shutil

import pytest

from aiayn_keras_light import converted_model
from aiayn_keras_light.converted_model import cache_folder, cache_key, find_entry, store_entry
from aiayn_keras_light.files import write_checksums

NUM_PROCESSES = 4
NUM_ROUNDS = 20
CONTENT = b"weights" * 1000


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """An empty cache."""
    monkeypatch.setenv("AIAYN_KERAS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "ctranslate2"


@pytest.fixture
def model_folder(tmp_path):
    folder = tmp_path / "model"
    (folder / "assets" / "tokenizer").mkdir(parents=True)
    for name in ("config.json", "model.weights.h5", "assets/tokenizer/vocabulary.spm"):
        (folder / name).write_text(name)
    write_checksums(folder)
    return folder


def write(folder):
    (folder / "model").mkdir()
    (folder / "model" / "model.bin").write_bytes(CONTENT)
    (folder / "settings.json").write_text("{}")


def names(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def test_the_folder_is_that_of_the_variable_or_the_user_s(cache, tmp_path, monkeypatch):
    assert cache_folder() == cache
    monkeypatch.delenv("AIAYN_KERAS_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder().parts[-2:] == ("aiayn_keras", "ctranslate2")


def test_what_is_stored_is_found(cache):
    assert find_entry("k") is None
    store_entry("k", write)
    folder = find_entry("k")
    assert folder == cache / "k"
    assert names(folder) == ["SHA256SUMS", "model", "model/model.bin", "settings.json"]
    assert (folder / "model" / "model.bin").read_bytes() == CONTENT
    assert find_entry("other") is None


def change_a_byte(entry):
    content = bytearray((entry / "model" / "model.bin").read_bytes())
    content[len(content) // 2] ^= 1
    (entry / "model" / "model.bin").write_bytes(content)


def cut(entry):
    (entry / "model" / "model.bin").write_bytes(CONTENT[:-1])


def remove_a_file(entry):
    (entry / "settings.json").unlink()


def add_a_file(entry):
    (entry / "model" / "new").write_text("new")


def cut_the_list(entry):
    path = entry / "SHA256SUMS"
    path.write_text(path.read_text().splitlines(keepends=True)[0])


def remove_the_list(entry):
    (entry / "SHA256SUMS").unlink()


def spoil_the_list(entry):
    (entry / "SHA256SUMS").write_bytes(b"\xff\0")


def put_a_file_in_its_place(entry):
    shutil.rmtree(entry)
    entry.write_text("no folder")


DAMAGES = [
    change_a_byte,
    cut,
    remove_a_file,
    add_a_file,
    cut_the_list,
    remove_the_list,
    spoil_the_list,
    put_a_file_in_its_place,
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_entry_is_not_found_and_can_be_replaced(damage, cache):
    store_entry("k", write)
    damage(cache / "k")
    assert find_entry("k") is None
    store_entry("k", write)
    assert (find_entry("k") / "model" / "model.bin").read_bytes() == CONTENT


def test_an_entry_that_is_whole_stays(cache):
    store_entry("k", write)
    inode = (cache / "k").stat().st_ino
    store_entry("k", write)
    assert (cache / "k").stat().st_ino == inode


def test_a_writer_that_fails_leaves_nothing(cache):
    def fail(folder):
        write(folder)
        raise ValueError("no model")

    with pytest.raises(ValueError, match="no model"):
        store_entry("k", fail)
    assert names(cache) == []


def test_nothing_is_stored_where_there_can_be_no_folder(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("AIAYN_KERAS_CACHE", str(tmp_path / "file"))
    store_entry("k", write)
    assert find_entry("k") is None
    assert (tmp_path / "file").read_text() == "no folder"


def test_entries_used_least_recently_make_room(cache, monkeypatch):
    monkeypatch.setattr(converted_model, "_MAX_CACHE_BYTES", int(2.5 * len(CONTENT)))
    for age, key in ((300, "old"), (200, "older in use")):
        store_entry(key, write)
        os.utime(cache / key, (0, os.stat(cache / key).st_mtime - age))
    os.utime(cache / "older in use", (0, os.stat(cache / "old").st_mtime - 100))
    assert find_entry("older in use") is not None  # now it is the one used last
    store_entry("new", write)
    assert sorted(os.listdir(cache)) == ["new", "older in use"]


def test_the_newest_entry_stays_however_large_it_is(cache, monkeypatch):
    monkeypatch.setattr(converted_model, "_MAX_CACHE_BYTES", 10)
    store_entry("first", write)
    assert find_entry("first") is not None
    store_entry("second", write)
    assert os.listdir(cache) == ["second"]


def test_what_killed_processes_left_is_deleted_a_day_later(cache):
    for name, age in ((".writing-now", 60), (".writing-then", 90_000)):
        (cache / name / "k").mkdir(parents=True)
        os.utime(cache / name, (0, (cache / name).stat().st_mtime - age))
    store_entry("k", write)
    assert sorted(os.listdir(cache)) == [".writing-now", "k"]


def _store_and_damage(barrier):
    barrier.wait()
    for number in range(NUM_ROUNDS):
        store_entry("k", write)
        find_entry("k")
        if number % 3 == 0:
            (cache_folder() / "k" / "settings.json").unlink(missing_ok=True)


def test_processes_that_store_at_once_leave_a_whole_entry(cache):
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(NUM_PROCESSES)
    processes = [
        context.Process(target=_store_and_damage, args=(barrier,)) for _ in range(NUM_PROCESSES)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * NUM_PROCESSES
    store_entry("k", write)
    assert (find_entry("k") / "model" / "model.bin").read_bytes() == CONTENT
    assert os.listdir(cache) == ["k"]


def test_a_key_is_that_of_the_files(model_folder, tmp_path):
    key = cache_key(model_folder)
    assert key == cache_key(shutil.copytree(model_folder, tmp_path / "copy"))
    keys = {key}
    for name in ("config.json", "model.weights.h5", "assets/tokenizer/vocabulary.spm"):
        (model_folder / name).write_text(f"changed {name}")
        keys.add(cache_key(model_folder))
    (model_folder / "assets" / "tokenizer" / "target_vocabulary.spm").write_text("new")
    keys.add(cache_key(model_folder))
    (model_folder / "checkpoints").mkdir()
    keys.add(cache_key(model_folder))
    (model_folder / "SHA256SUMS").unlink()
    keys.add(cache_key(model_folder))
    assert len(keys) == 7
    assert None not in keys


def test_a_folder_that_cannot_be_read_has_no_key(model_folder, tmp_path):
    assert cache_key(tmp_path / "nowhere") is None
    with (model_folder / "SHA256SUMS").open("a") as file:
        file.write(f"{'0' * 64}  elsewhere/file\n")
    assert cache_key(model_folder) is None


@pytest.mark.parametrize("variable", ["KERAS_BACKEND", "CUDA_VISIBLE_DEVICES", "JAX_PLATFORMS"])
def test_a_key_is_that_of_backend_and_devices(variable, model_folder, monkeypatch):
    key = cache_key(model_folder)
    monkeypatch.setenv(variable, "another")
    assert cache_key(model_folder) != key


def test_a_key_is_that_of_keras_settings(model_folder, tmp_path, monkeypatch):
    key = cache_key(model_folder)
    (tmp_path / "keras.json").write_text('{"backend": "jax"}')
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    assert cache_key(model_folder) != key


def test_a_key_is_that_of_the_packages_installed(model_folder, tmp_path, monkeypatch):
    key = cache_key(model_folder)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    assert cache_key(model_folder) == key
    (tmp_path / "site" / "ctranslate2-99.dist-info").mkdir(parents=True)
    assert cache_key(model_folder) != key
