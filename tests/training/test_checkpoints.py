import contextlib
import errno
import os
import resource

import keras
import numpy as np
import pytest

from aiayn_keras.training import (
    DamagedCheckpointError,
    checkpoints,
    list_checkpoints,
    load_checkpoint,
    load_last_checkpoint,
    save_checkpoint,
)
from aiayn_keras.training.checkpoints import prune_checkpoints
from tests.helpers import assert_close


def dense_model(units=3):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(units)])
    model.compile(optimizer="adam", loss="mse")
    model.optimizer.build(model.trainable_variables)
    return model


def fit_once(model):
    model.fit(np.ones((4, 2)), np.arange(12.0).reshape(4, 3), verbose=0)


def test_a_checkpoint_holds_weights_and_optimizer(tmp_path):
    model = dense_model()
    fit_once(model)
    path = save_checkpoint(model, tmp_path, update=1)
    other = dense_model()
    load_checkpoint(other, path)
    fit_once(model)
    fit_once(other)
    for actual, expected in zip(other.optimizer.variables, model.optimizer.variables, strict=True):
        assert_close(actual, expected)
    assert_close(other.weights[0], model.weights[0])


def test_checkpoints_are_listed_and_pruned_by_update(tmp_path):
    model = dense_model()
    for update in (1000, 20, 300):
        save_checkpoint(model, tmp_path, update)
    (tmp_path / "notes.txt").write_text("mine")
    assert [update for update, _ in list_checkpoints(tmp_path)] == [20, 300, 1000]
    prune_checkpoints(tmp_path, keep=2)
    assert [update for update, _ in list_checkpoints(tmp_path)] == [300, 1000]
    assert (tmp_path / "notes.txt").exists()
    assert list_checkpoints(tmp_path / "nowhere") == []


def test_a_damaged_checkpoint_is_named(tmp_path):
    path = save_checkpoint(dense_model(), tmp_path, update=1)
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(DamagedCheckpointError, match=r"update-00000001.*damaged: its checksum"):
        load_checkpoint(dense_model(), path)


def test_a_checkpoint_renamed_to_another_update_is_damaged(tmp_path):
    path = save_checkpoint(dense_model(), tmp_path, update=1)
    renamed = path.rename(path.with_name(path.name.replace("00000001", "00000002")))
    with pytest.raises(DamagedCheckpointError, match=r"update-00000002.*damaged: its checksum"):
        load_checkpoint(dense_model(), renamed)


@pytest.mark.parametrize(
    "make",
    [
        os.mkfifo,
        os.mkdir,
        lambda path: path.symlink_to("/dev/zero"),
        lambda path: path.symlink_to("nowhere"),
    ],
)
def test_what_is_no_file_is_a_damaged_checkpoint(tmp_path, make):
    path = tmp_path / "update-00000001.0123456789abcdef.weights.h5"
    make(path)
    with pytest.raises(DamagedCheckpointError, match="not a regular file"):
        load_checkpoint(dense_model(), path)
    prune_checkpoints(tmp_path, keep=1)
    assert list_checkpoints(tmp_path) == [(1, path)]


def test_a_full_disk_is_named_and_loses_nothing(tmp_path, monkeypatch):
    model = dense_model()
    first = save_checkpoint(model, tmp_path, update=1)

    def write_half(path):
        path.write_bytes(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(model, "save_weights", write_half)
    with pytest.raises(OSError, match=r"update 2 cannot be written.*No space left.*are kept"):
        save_checkpoint(model, tmp_path, update=2)
    assert list(tmp_path.iterdir()) == [first]


@contextlib.contextmanager
def largest_file(num_bytes):
    """No file of this process can become larger, as if the disk were full."""
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, usual[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)


def test_a_disk_too_full_is_refused_before_anything_is_written(tmp_path, monkeypatch):
    model = dense_model()
    path = save_checkpoint(model, tmp_path, update=1)
    monkeypatch.setattr(model, "save_weights", lambda path: pytest.fail("It was written."))
    # What is asked for is more than what a checkpoint takes.
    with (
        largest_file(path.stat().st_size),
        pytest.raises(OSError, match=r"update 2 cannot be written.*make room"),
    ):
        save_checkpoint(model, tmp_path, update=2)
    assert list(tmp_path.iterdir()) == [path]


def test_the_best_checkpoint_is_not_pruned(tmp_path):
    for update in (1, 2, 3, 4):
        save_checkpoint(dense_model(), tmp_path, update)
    prune_checkpoints(tmp_path, keep=2, best=[1])
    assert [update for update, _ in list_checkpoints(tmp_path)] == [1, 3, 4]


def test_a_checkpoint_of_another_model_is_refused(tmp_path):
    path = save_checkpoint(dense_model(), tmp_path, update=1)
    with pytest.raises(ValueError, match="not a checkpoint of this model"):
        load_checkpoint(dense_model(units=5), path)


# === The newest one ===


def weights_of(model):
    return [keras.ops.convert_to_numpy(weight) for weight in model.weights]


def spoil(path):
    """Changes one bit in the middle of a file."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def test_the_newest_whole_checkpoint_is_used_and_damaged_ones_are_reported(tmp_path, caplog):
    model = dense_model()
    paths = [save_checkpoint(model, tmp_path, update) for update in (1, 2, 3)]
    expected = weights_of(model)
    spoil(paths[1])
    paths[2].write_bytes(paths[2].read_bytes()[:-1])
    other = dense_model()
    assert load_last_checkpoint(other, tmp_path) == 1
    for actual, weight in zip(other.weights, expected, strict=True):
        np.testing.assert_array_equal(keras.ops.convert_to_numpy(actual), weight)
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]
    assert paths[2].name in caplog.text
    assert list_checkpoints(tmp_path) == [(1, paths[0])]
    assert (tmp_path / f"damaged-{paths[1].name}").is_file()


def test_without_a_whole_checkpoint_the_model_stays_as_it_is(tmp_path):
    model = dense_model()
    before = weights_of(model)
    spoil(save_checkpoint(dense_model(), tmp_path, update=1))
    assert load_last_checkpoint(model, tmp_path) == 0
    assert load_last_checkpoint(model, tmp_path / "nowhere") == 0
    for actual, weight in zip(model.weights, before, strict=True):
        assert_close(actual, weight)


@pytest.fixture(name="digested")
def paths_whose_checksum_is_computed(monkeypatch):
    """Paths in the order in which their checksums are computed."""
    paths, digest_of = [], checkpoints._digest_of
    monkeypatch.setattr(
        checkpoints,
        "_digest_of",
        lambda path, update: (paths.append(path), digest_of(path, update))[1],
    )
    return paths


def test_of_whole_checkpoints_the_newest_is_hashed_once_and_no_other(tmp_path, digested):
    model = dense_model()
    *_, newest = [save_checkpoint(model, tmp_path, update) for update in (1, 2, 3)]
    digested.clear()
    assert load_last_checkpoint(dense_model(), tmp_path) == 3
    assert digested == [newest]
