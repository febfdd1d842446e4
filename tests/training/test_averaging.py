import shutil

import keras
import numpy as np
import pytest

from aiayn_keras import TransformerSeq2SeqLM
from aiayn_keras.training import (
    average_checkpoints,
    list_checkpoints,
    load_recipe,
    save_checkpoint,
    write_average,
)
from aiayn_keras.training.averaging import (
    KeepWeights,
    ValidateEMA,
    checkpoints_in_a_row,
    ema_weights,
    expected_updates,
)
from aiayn_keras.training.building import build_model
from aiayn_keras.training.run_folder import read_history
from tests.helpers import assert_close

# === The mean of checkpoints ===


def test_the_average_is_the_mean_of_the_weights(tmp_path):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(3)])
    model.compile(optimizer="sgd", loss="mse")
    paths = []
    for update, value in enumerate((1.0, 2.0, 6.0)):
        model.set_weights([keras.ops.full(w.shape, value) for w in model.weights])
        paths.append(save_checkpoint(model, tmp_path, update))
    average_checkpoints(model, paths)
    assert_close(model.weights[0], [[3.0] * 3] * 2)
    average_checkpoints(model, paths[1:])
    assert_close(model.weights[1], [4.0] * 3)


def test_no_checkpoint_is_refused():
    with pytest.raises(ValueError, match="at least one checkpoint"):
        average_checkpoints(keras.Sequential(), [])


@pytest.mark.slow
def test_write_average_gives_the_model_that_training_gave(trained_run, tmp_path):
    paths = write_average(trained_run, tmp_path / "mean")
    assert paths == [path for _, path in list_checkpoints(trained_run / "checkpoints")]
    mean, trained = (
        TransformerSeq2SeqLM.from_preset(str(folder)) for folder in (tmp_path / "mean", trained_run)
    )
    for actual, expected in zip(mean.weights, trained.weights, strict=True):
        assert_close(actual, expected)
    assert (tmp_path / "mean" / "recipe.yaml").is_file()


def test_a_training_shorter_than_its_mean_is_averaged_whole(trained_run, tmp_path):
    run = shutil.copytree(trained_run, tmp_path / "run")
    for _, path in list_checkpoints(run / "checkpoints"):
        path.unlink()
    (run / "history.json").unlink()
    tokenizer = TransformerSeq2SeqLM.from_preset(run).preprocessor.tokenizer
    model = build_model(load_recipe(run / "recipe.yaml"), tokenizer)
    model.optimizer.build(model.trainable_variables)
    path = save_checkpoint(model, run / "checkpoints", 20)
    assert write_average(run, tmp_path / "mean") == [path]
    averaged = TransformerSeq2SeqLM.from_preset(tmp_path / "mean").preprocessor.tokenizer
    assert averaged.learned_length == tokenizer.learned_length > 5
    with pytest.raises(ValueError, match=r"`output` must be outside of .*run, which holds a tr"):
        write_average(run, run / "checkpoints" / "mean")
    assert not (run / "checkpoints" / "mean").exists()
    with pytest.raises(ValueError, match="`last` must be at least 1"):
        write_average(run, tmp_path / "none", last=0)


def test_write_average_refuses_what_it_cannot_do(trained_run, tmp_path):
    with pytest.raises(
        ValueError, match=r"has 2 checkpoints in a row .*fewer than 3: give --last 2"
    ):
        write_average(trained_run, tmp_path / "mean", last=3)
    with pytest.raises(FileExistsError, match="exists"):
        write_average(trained_run, trained_run)
    with pytest.raises(FileNotFoundError, match="does not hold a training"):
        write_average(tmp_path, tmp_path / "mean")
    delivered = tmp_path / "delivered"
    shutil.copytree(trained_run, delivered, ignore=shutil.ignore_patterns("checkpoints"))
    with pytest.raises(FileNotFoundError, match="delivered has no checkpoints to average"):
        write_average(delivered, tmp_path / "mean")
    assert not (tmp_path / "mean").exists()


@pytest.mark.parametrize(
    ("name", "damage", "message"),
    [
        ("recipe.yaml", lambda path: path.write_text(path.read_text() + "# mine\n"), "replaced"),
        ("tokenizer.spm", lambda path: path.write_bytes(b""), "replaced"),
        ("inputs.json", lambda path: path.write_bytes(b"[]"), "is damaged"),
        ("history.json", lambda path: path.write_bytes(b"[]]"), "is damaged"),
    ],
)
def test_write_average_names_a_damaged_file_and_leaves_nothing(
    trained_run, tmp_path, name, damage, message
):
    run = tmp_path / "run"
    shutil.copytree(trained_run, run)
    damage(run / name)
    with pytest.raises(ValueError, match=rf"{name} .*{message}"):
        write_average(run, tmp_path / "mean")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_write_average_takes_no_checkpoint_from_before_a_gap(trained_run, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(trained_run, run)
    before, _ = sorted((run / "checkpoints").iterdir())
    before.rename(before.with_name(before.name.replace("0040", "0020")))
    with pytest.raises(ValueError, match="has 1 checkpoints in a row up to the newest, fewer tha"):
        write_average(run, tmp_path / "mean", last=2)


def test_write_average_misses_the_newest_checkpoint(trained_run, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(trained_run, run)
    older, newest = sorted((run / "checkpoints").iterdir())
    newest.unlink()
    message = rf"has no checkpoint of update \d+, .*newest one is {older.name}.* or give --last"
    with pytest.raises(ValueError, match=message):
        write_average(run, tmp_path / "mean")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    assert write_average(run, tmp_path / "mean", last=1) == [run / "checkpoints" / older.name]
    kept = read_history(tmp_path / "mean" / "history.json", 100)
    assert [row["updates"] for row in kept] == [20, 40]


def test_checkpoints_in_a_row_follow_the_history_and_before_it_the_period():
    history = [{"updates": update} for update in (40, 50, 55)]
    expected = [10, 20, 30, 40, 50, 55]
    assert expected_updates([50, 55], history, checkpoint_every=10) == expected
    assert checkpoints_in_a_row(expected, history, 10) == expected
    assert checkpoints_in_a_row([10, 40, 50, 55], history, 10) == [40, 50, 55]
    assert checkpoints_in_a_row([20, 30], [], 10) == [20, 30]
    assert checkpoints_in_a_row([7], [], 10) == [7]
    assert checkpoints_in_a_row([], [], 10) == []


# === The moving average ===


def model_with_ema(momentum=0.75):
    """`y = w·x` with loss `-w·x`, so that each update adds the rate 1 to `w`, from 0 on."""
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, use_bias=False)])
    model.set_weights([np.zeros((1, 1))])
    optimizer = keras.optimizers.SGD(
        1.0, use_ema=momentum is not None, ema_momentum=momentum or 0.0
    )
    model.compile(optimizer, loss=lambda y_true, y_pred: -y_pred)
    return model


def fit(model, updates, **options):
    ones = np.ones((updates, 1))
    return model.fit(ones, ones, batch_size=1, shuffle=False, verbose=0, **options)


class NoteWeights(keras.callbacks.Callback):
    """Notes the weight in validation and after it."""

    def on_test_batch_end(self, batch, logs=None):
        self.mean = keras.ops.convert_to_numpy(self.model.trainable_variables[0]).item()

    def on_epoch_end(self, epoch, logs=None):
        self.weight = keras.ops.convert_to_numpy(self.model.trainable_variables[0]).item()


# Weights 1, 2, 3 after the updates; the mean starts with the first and keeps three quarters.
MEAN = 0.75 * (0.75 * 1 + 0.25 * 2) + 0.25 * 3


def test_validation_measures_the_mean_and_training_goes_on_from_the_weights():
    model, notes = model_with_ema(), NoteWeights()
    one = np.ones((1, 1))
    history = fit(model, 3, validation_data=(one, one), callbacks=[ValidateEMA(), notes])
    assert_close([notes.mean, notes.weight], [MEAN, 3.0])
    assert_close(history.history["val_loss"], [-MEAN])


def test_training_goes_on_after_validation_with_weights_and_mean():
    """On JAX a compiled step uses up the arrays it is given, so mean and weight must be two."""
    model, notes = model_with_ema(), NoteWeights()
    one = np.ones((1, 1))
    options = {"validation_data": (one, one), "callbacks": [ValidateEMA(), notes]}
    fit(model, 3, epochs=2, **options)
    assert notes.weight == 6.0
    mean = MEAN
    for weight in (4, 5, 6):
        mean = 0.75 * mean + 0.25 * weight
    # The end of `fit` leaves the mean in the model.
    assert_close(model.trainable_variables[0], [[mean]])


def test_a_second_fit_goes_on_from_the_weights_and_not_from_their_mean():
    model, notes = model_with_ema(), KeepWeights()
    fit(model, 3, callbacks=[notes])
    assert_close(model.trainable_variables[0], [[3.0]])
    fit(model, 1, callbacks=[notes])
    assert_close(model.trainable_variables[0], [[4.0]])


def test_the_weights_themselves_can_be_loaded_without_their_mean(tmp_path):
    model = model_with_ema()
    fit(model, 3, callbacks=[KeepWeights()])
    path = save_checkpoint(model, tmp_path, 3)
    for moving, expected in ((True, MEAN), (False, 3.0)):
        other = model_with_ema()
        average_checkpoints(other, [path], moving=moving)
        assert_close(other.trainable_variables[0], [[expected]])


def test_the_mean_starts_with_the_first_weights_and_moves_once_a_batch():
    """Keras' way, which the docstrings tell: `w` is 0, 1, 1, 2, 2, 3 after the six batches."""
    model = model_with_ema()
    optimizer = keras.optimizers.SGD(
        1.0, use_ema=True, ema_momentum=0.75, gradient_accumulation_steps=2
    )
    model.compile(optimizer, loss=lambda y_true, y_pred: -y_pred)
    fit(model, 6)
    mean = 1.0
    for weight in (1, 2, 2, 3):
        mean = 0.75 * mean + 0.25 * weight
    assert_close(model.trainable_variables[0], [[mean]])


def test_the_weights_come_back_after_the_block(tmp_path):
    model = model_with_ema()
    seen = []

    class Look(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            with ema_weights(self.model):
                seen.append(keras.ops.convert_to_numpy(self.model.trainable_variables[0]).item())
            seen.append(keras.ops.convert_to_numpy(self.model.trainable_variables[0]).item())
            self.path = save_checkpoint(self.model, tmp_path, 3)

    look = Look()
    fit(model, 3, callbacks=[look])
    assert_close(seen, [MEAN, 3.0])
    other = model_with_ema()
    average_checkpoints(other, [look.path])
    assert_close(other.trainable_variables[0], [[MEAN]])


def test_without_a_mean_the_weights_stay():
    model = model_with_ema(momentum=None)
    fit(model, 2)
    with ema_weights(model):
        assert_close(model.trainable_variables[0], [[2.0]])
