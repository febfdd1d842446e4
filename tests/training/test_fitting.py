import json
import logging
import math
from types import SimpleNamespace

import keras
import numpy as np
import pytest

from aiayn_keras.training import (
    RunFolder,
    average_checkpoints,
    list_checkpoints,
    save_checkpoint,
    train,
)
from aiayn_keras.training.fit_callbacks import (
    Progress,
    gradient_norm,
    loss_sums,
    read_loss,
    save_stopped,
)
from aiayn_keras.training.fitting import (
    Checkpoints,
    Position,
    SeedDropout,
    find_start,
    periods,
)
from aiayn_keras.training.run_folder import write_history
from tests.helpers import assert_close
from tests.runs import small_recipe

# === The start ===


def dense_model(units=3):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(units)])
    model.compile(optimizer="adam", loss="mse")
    model.optimizer.build(model.trainable_variables)
    return model


def start_of(model, folder):
    """`find_start` for a run that has a model, a folder and no changes."""
    return find_start(
        SimpleNamespace(model=model, folder=folder, changes=[], recipe=small_recipe())
    )


def test_a_place_to_go_on_from_follows_from_the_newest_checkpoint(tmp_path, caplog):
    folder = RunFolder(tmp_path)
    folder.checkpoints.mkdir()
    model = dense_model()
    start = start_of(model, folder)
    assert (start.updates, start.history, start.is_measured) == (0, [], False)

    for update in (20, 40):
        save_checkpoint(model, folder.checkpoints, update)
    figures = {"learning_rate": 0.001, "loss": 3.0, "val_loss": 2.0, "val_perplexity": 9.0}
    rows = [{"updates": update, **figures} for update in (20, 40, 60)]
    write_history(folder.history, rows)
    start = start_of(dense_model(), folder)
    assert start.updates == 40
    # A row is written before its checkpoint: that of update 60 was being written.
    assert start.history == rows[:2]
    assert start.is_measured
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]
    write_history(folder.history, rows[:1])
    start = start_of(dense_model(), folder)
    assert (start.updates, start.history, start.is_measured) == (40, rows[:1], False)
    assert "does not have the figures of update 40" in caplog.text


def test_a_later_checkpoint_of_a_stop_is_gone_on_from(tmp_path):
    folder = RunFolder(tmp_path)
    model = dense_model()
    ones = np.ones((1, 2))
    model.fit(ones, np.ones((1, 3)), verbose=0)
    save_stopped(model, folder.stopped, 47, loss_sums(model))
    other = dense_model()
    start = start_of(other, folder)
    assert (start.updates, start.history, start.is_measured) == (47, [], False)
    assert start.loss.count == 1
    assert start.loss.mean == pytest.approx(float(model.metrics[0].result()))
    for actual, expected in zip(other.weights, model.weights, strict=True):
        np.testing.assert_array_equal(np.asarray(actual), np.asarray(expected))
    # Another stop replaces it; a later checkpoint of the training makes it useless.
    save_stopped(model, folder.stopped, 50, loss_sums(model))
    assert [update for update, _ in list_checkpoints(folder.stopped)] == [50]
    folder.checkpoints.mkdir()
    save_checkpoint(model, folder.checkpoints, 60)
    assert start_of(other, folder).updates == 60


@pytest.mark.parametrize("content", [b"", b"[]", b'{"updates": 47, "total": NaN, "count": 1.0}'])
def test_a_damaged_sum_of_losses_is_left_out_with_a_warning(tmp_path, caplog, content):
    (tmp_path / "loss.json").write_bytes(content)
    assert read_loss(tmp_path, 47) is None
    assert "is damaged: the next training loss is counted from here" in caplog.text


@pytest.mark.parametrize(
    ("start", "updates", "expected"),
    [
        (0, 60, [(0, 60, 20)]),
        (0, 7, [(0, 7, 7)]),
        (0, 47, [(0, 40, 20), (40, 47, 7)]),
        (20, 60, [(20, 60, 20)]),
        (25, 50, [(25, 40, 15), (40, 50, 10)]),
        (45, 47, [(45, 47, 2)]),
        (13, 60, [(13, 20, 7), (20, 60, 20)]),
        (60, 60, []),
    ],
)
def test_a_checkpoint_ends_every_period_and_the_last_update(start, updates, expected):
    assert periods(start, updates, checkpoint_every=20) == expected


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
    position = Position(3 * initial_epoch, batches_per_update=1)
    run = SimpleNamespace(recipe=small_recipe(), next_batch=lambda updates: updates)
    callbacks = [position, SeedDropout(run, position), notes]
    options = {"initial_epoch": initial_epoch, "callbacks": callbacks, "verbose": 0}
    model.fit(ones, ones[:, :1], batch_size=1, epochs=epochs, **options)
    return notes.masks


def test_dropout_depends_on_the_epoch_and_not_on_where_a_training_began():
    masks = masks_of_epochs(3)
    assert masks[0] != masks[1] != masks[2] != masks[0]
    assert masks_of_epochs(3, initial_epoch=1) == masks[1:]
    assert masks_of_epochs(3, initial_epoch=2) == masks[2:]


# === Checkpoints ===


@pytest.mark.slow
def test_a_loss_that_is_not_a_number_stops_the_training_and_keeps_what_was(tmp_path):
    recipe = small_recipe("training.updates=40", "training.bleu_every=40")
    folder = tmp_path / "run"

    class Diverge(keras.callbacks.Callback):
        """Test double of a learning rate that is too high."""

        def on_epoch_begin(self, epoch, logs=None):
            if epoch == 1:
                for variable in self.model.trainable_variables:
                    variable.assign(variable * np.nan)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Checkpoints, "on_epoch_begin", Diverge.on_epoch_begin)
        with pytest.raises(ValueError, match=r"loss became nan before update 40.*peak_learning"):
            train(recipe, folder)
    assert [update for update, _ in list_checkpoints(folder / "checkpoints")] == [20]


@pytest.mark.slow
def test_a_training_without_progress_ends_early_with_its_best_weights(tmp_path):
    settings = (
        "training.updates=300",
        "training.checkpoint_every=10",
        "training.average_checkpoints=1",
        "training.patience=2",
        "training.keep=best",
        "training.bleu_every=10",
        "optimizer.peak_learning_rate=0.5",  # so high that it soon gets worse
        "optimizer.ema_momentum=0.5",
        "optimizer.gradient_accumulation_steps=2",
    )
    result = train(small_recipe(*settings), tmp_path)
    history = json.loads((tmp_path / "history.json").read_text())
    losses = [row["val_loss"] for row in history]
    best = int(np.argmin(losses))
    assert len(losses) == best + 3 < 30
    kept = dict(list_checkpoints(tmp_path / "checkpoints"))
    assert list(kept) == [history[best]["updates"], history[-1]["updates"]]
    assert result.delivery.compared_by == "bleu"
    assert [candidate.updates for candidate in result.delivery.candidates] == [
        [history[-1]["updates"]],
        [history[-1]["updates"]],
        [history[best]["updates"]],
    ]
    chosen = next(
        candidate
        for candidate in result.delivery.candidates
        if candidate.name == result.delivery.delivered
    )
    assert chosen.bleu == max(candidate.bleu for candidate in result.delivery.candidates)
    expected = small_recipe(*settings).build_model(200)
    path = kept[chosen.updates[0]]
    average_checkpoints(expected, [path], moving=chosen.is_average)
    for actual, weight in zip(
        result.model.trainable_variables, expected.trainable_variables, strict=True
    ):
        assert_close(actual, weight)


def test_a_callback_ends_a_training_before_its_last_shorter_period(tmp_path):
    callback = "tests.training.stopping_callbacks:StopAtFirstCheckpoint"
    settings = ("training.updates=5", "training.checkpoint_every=2", "training.bleu_every=6")
    result = train(small_recipe(*settings, f"training.callbacks=[{callback}]"), tmp_path)
    assert [update for update, _ in list_checkpoints(tmp_path / "checkpoints")] == [2]
    assert result.delivery.candidates[0].updates == [2]


# === Progress ===


@pytest.fixture(name="clock")
def time_by_hand(monkeypatch):
    """A list of one number: the time that tqdm sees."""
    clock = [1000.0]
    monkeypatch.setattr("tqdm.std.time", lambda: clock[0])
    return clock


def show(clock, seconds_per_update, progress, updates):
    """Calls a `Progress` as `fit` does, for epochs of 10 updates."""
    progress.on_train_begin()
    for update in range(updates):
        clock[0] += seconds_per_update
        progress.on_train_batch_end(update % 10, {"loss": 3.0})
        if update % 10 == 9:
            progress.on_epoch_end(update // 10, {"loss": 3.0, "val_loss": 2.0})
    progress.close()


def test_without_a_terminal_there_is_a_line_every_ten_seconds(clock, capsys):
    show(clock, 0.5, Progress(updates=70, tokens_per_update=100), 60)
    text = capsys.readouterr().err
    assert "\r" not in text
    assert text.endswith("\n")
    lines = text.splitlines()
    assert all(lines)
    shown = [int(line.partition("/")[0]) for line in lines if "update/s" in line]
    # At the start, after 10, 20 and 30 seconds, and at the end.
    assert shown == [0, 20, 40, 60, 60]
    assert "40/70 [00:20<00:15,  2.00update/s, loss 3.000, 200 tokens/s]" in lines
    figures = [line for line in lines if "val_loss" in line]
    assert figures == [
        f"update {n}: loss 3.000; weights of this update: val_loss 2.000"
        for n in (10, 20, 30, 40, 50, 60)
    ]


def test_a_training_that_goes_on_shows_the_updates_of_all(clock, capsys):
    progress = Progress(updates=30, tokens_per_update=1, done=20, batches_per_update=5)
    show(clock, 1, progress, 10)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("20/30 ")
    assert lines[-1].startswith("22/30 ")


def test_what_never_began_can_be_closed():
    Progress(updates=1, tokens_per_update=1).close()


@pytest.mark.parametrize("batches_per_update", [1, 3])
@pytest.mark.parametrize("scales_loss", [False, True])
def test_the_norm_of_the_gradient_is_that_of_the_gradients_of_the_updates(
    batches_per_update, scales_loss
):
    batches, beta_2 = 12, 0.9
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    adam = keras.optimizers.Adam(
        learning_rate=0.0,  # so that the gradients are those of the first weights
        beta_2=beta_2,
        gradient_accumulation_steps=None if batches_per_update == 1 else batches_per_update,
    )
    optimizer = keras.optimizers.LossScaleOptimizer(adam) if scales_loss else adam
    model.compile(optimizer=optimizer, loss="mse", jit_compile=False)
    optimizer.build(model.trainable_variables)
    assert math.isnan(gradient_norm(optimizer))
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(batches, 2)), rng.normal(size=(batches, 1))
    model.fit(x, y, batch_size=1, shuffle=False, verbose=0)
    kernel, bias = map(keras.ops.convert_to_numpy, model.weights)
    by_batch = 2 * (x @ kernel + bias - y) * np.concatenate([x, np.ones((batches, 1))], axis=1)
    gradients = by_batch.reshape(-1, batches_per_update, 3).mean(axis=1)
    shares = beta_2 ** np.arange(len(gradients))[::-1]
    squares = np.sum(gradients**2, axis=1)
    assert_close(gradient_norm(optimizer), math.sqrt(squares @ shares / shares.sum()))
