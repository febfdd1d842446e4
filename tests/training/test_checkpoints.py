import keras
import numpy as np
import pytest

from aiayn_keras.training import list_checkpoints, load_checkpoint, save_checkpoint
from aiayn_keras.training.checkpoints import prune_checkpoints
from tests.helpers import assert_close


def dense_model(units=3):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(units)])
    model.compile(optimizer="adam", loss="mse")
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
    with pytest.raises(ValueError, match=r"update-00000001.*damaged"):
        load_checkpoint(dense_model(), path)


def test_a_checkpoint_of_another_model_is_refused(tmp_path):
    path = save_checkpoint(dense_model(), tmp_path, update=1)
    with pytest.raises(ValueError, match="no checkpoint of this model"):
        load_checkpoint(dense_model(units=5), path)
