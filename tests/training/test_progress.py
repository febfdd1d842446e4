import pytest

from aiayn_keras.training.fitting import Progress


@pytest.fixture(name="clock")
def time_by_hand(monkeypatch):
    """A list of one number: the time that tqdm sees."""
    clock = [1000.0]
    monkeypatch.setattr("tqdm.std.time", lambda: clock[0])
    return clock


def train(clock, seconds_per_update, progress, updates):
    """Calls a `Progress` as `fit` does, for epochs of 10 updates."""
    progress.on_train_begin()
    for update in range(updates):
        clock[0] += seconds_per_update
        progress.on_train_batch_end(update % 10, {"loss": 3.0})
        if update % 10 == 9:
            progress.on_epoch_end(update // 10, {"loss": 3.0, "val_loss": 2.0})
    progress.close()


def test_without_a_terminal_there_is_a_line_every_ten_seconds(clock, capsys):
    train(clock, 0.5, Progress(updates=70, tokens_per_update=100), 60)
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
    assert figures == [f"update {n}: loss 3.000, val_loss 2.000" for n in (10, 20, 30, 40, 50, 60)]


def test_a_training_that_goes_on_shows_the_updates_of_all(clock, capsys):
    progress = Progress(updates=30, tokens_per_update=1, done=20, batches_per_update=5)
    train(clock, 1, progress, 10)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("20/30 ")
    assert lines[-1].startswith("22/30 ")


def test_what_never_began_can_be_closed():
    Progress(updates=1, tokens_per_update=1).close()
