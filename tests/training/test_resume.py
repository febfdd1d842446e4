import logging

import keras
import numpy as np
import pytest

from aiayn_keras.training import (
    RecipeError,
    RunFolder,
    checkpoints,
    list_checkpoints,
    load_last_checkpoint,
    save_checkpoint,
)
from aiayn_keras.training.resume import SeedDropout, check_folder, resume
from aiayn_keras.training.run_folder import write_history
from tests.helpers import assert_close
from tests.runs import small_recipe


def dense_model(units=3):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(units)])
    model.compile(optimizer="adam", loss="mse")
    model.optimizer.build(model.trainable_variables)
    return model


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
    """Paths, in the order in which `digest_of` is given them."""
    paths, digest_of = [], checkpoints.digest_of
    monkeypatch.setattr(
        checkpoints,
        "digest_of",
        lambda path, update: (paths.append(path), digest_of(path, update))[1],
    )
    return paths


def test_of_whole_checkpoints_the_newest_is_hashed_once_and_no_other(tmp_path, digested):
    model = dense_model()
    *_, newest = [save_checkpoint(model, tmp_path, update) for update in (1, 2, 3)]
    digested.clear()
    assert load_last_checkpoint(dense_model(), tmp_path) == 3
    assert digested == [newest]


def test_a_place_to_go_on_from_follows_from_the_newest_checkpoint(tmp_path, caplog):
    folder = RunFolder(tmp_path)
    folder.checkpoints.mkdir()
    model = dense_model()
    start = resume(model, folder)
    assert (start.updates, start.history, start.is_measured) == (0, [], False)

    for update in (20, 40):
        save_checkpoint(model, folder.checkpoints, update)
    figures = {"learning_rate": 0.001, "loss": 3.0, "val_loss": 2.0, "val_perplexity": 9.0}
    rows = [{"updates": update, **figures} for update in (20, 40, 60)]
    write_history(folder.history, rows)
    start = resume(dense_model(), folder)
    assert start.updates == 40
    # A row is written before its checkpoint: that of update 60 was being written.
    assert start.history == rows[:2]
    assert start.is_measured
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]
    write_history(folder.history, rows[:1])
    start = resume(dense_model(), folder)
    assert (start.updates, start.history, start.is_measured) == (40, rows[:1], False)
    assert "does not have the figures of update 40" in caplog.text


def test_a_free_folder_is_one_with_half_written_leftovers_at_most(tmp_path):
    folder = RunFolder(tmp_path / "run")
    check_folder(folder, small_recipe())
    (folder.path / ".writing-abc").mkdir(parents=True)
    check_folder(folder, small_recipe())
    (folder.path / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="is no training"):
        check_folder(folder, small_recipe())


def test_the_model_folder_of_an_average_is_no_training(tmp_path):
    folder = RunFolder(tmp_path)
    folder.recipe.write_text(small_recipe().to_yaml())
    (folder.path / "task.json").write_text("{}")
    with pytest.raises(FileExistsError, match="holds a model and no training"):
        check_folder(folder, small_recipe())


def test_only_the_same_recipe_goes_on(tmp_path):
    folder = RunFolder(tmp_path)
    folder.recipe.write_text(small_recipe("training.seed=2", "evaluation.num_beams=3").to_yaml())
    check_folder(folder, small_recipe("training.seed=2", "evaluation.num_beams=3"))
    with pytest.raises(
        FileExistsError,
        match=r"`training.seed` \(2 there, 1 here\); `evaluation.num_beams` \(3 there, 2 here\)",
    ):
        check_folder(folder, small_recipe())


def test_a_recipe_from_before_an_option_was_there_has_its_default(tmp_path):
    folder = RunFolder(tmp_path)
    text = small_recipe().to_yaml()
    assert "  coverage_penalty: 0.0\n" in text
    folder.recipe.write_text(text.replace("  coverage_penalty: 0.0\n", ""))
    check_folder(folder, small_recipe())
    folder.recipe.write_text("half a recipe")
    with pytest.raises(RecipeError, match="must hold the sections"):
        check_folder(folder, small_recipe())


class MaskOfEachEpoch(keras.callbacks.Callback):
    """Notes the mask that dropout would draw for the first batch of each epoch."""

    def __init__(self):
        super().__init__()
        self.masks = []

    def on_train_batch_begin(self, batch, logs=None):
        if batch == 0:
            generator = self.model.layers[0].seed_generator
            mask = keras.random.dropout(keras.ops.ones(40), 0.5, seed=generator)
            self.masks.append(keras.ops.convert_to_numpy(mask).tolist())


def masks_of_epochs(epochs, initial_epoch=0):
    keras.utils.set_random_seed(7)
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dropout(0.5), keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse", jit_compile=False)
    ones, notes = np.ones((3, 2)), MaskOfEachEpoch()
    callbacks = [
        SeedDropout(small_recipe("training.checkpoint_every=3", "training.bleu_every=3")),
        notes,
    ]
    options = {"initial_epoch": initial_epoch, "callbacks": callbacks, "verbose": 0}
    model.fit(ones, ones[:, :1], batch_size=1, epochs=epochs, **options)
    return notes.masks


def test_dropout_depends_on_the_epoch_and_not_on_where_a_training_began():
    masks = masks_of_epochs(3)
    assert masks[0] != masks[1] != masks[2] != masks[0]
    assert masks_of_epochs(3, initial_epoch=1) == masks[1:]
    assert masks_of_epochs(3, initial_epoch=2) == masks[2:]
