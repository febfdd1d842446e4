import math
import sys

import pytest

from aiayn_keras.training import RunFolder, train
from aiayn_keras.training.delivery import Candidate, Delivery, last_without_gap, read_delivery
from aiayn_keras.training.recipe_changes import Change
from aiayn_keras.training.run_folder import write_history
from tests.runs import small_recipe
from tests.training.changing import short_recipe


@pytest.fixture(name="folder")
def folder_of_four_checkpoints(tmp_path):
    """A `RunFolder` with empty checkpoints of the updates 20 to 80."""
    folder = RunFolder(tmp_path)
    folder.checkpoints.mkdir()
    for update in (20, 40, 60, 80):
        path_of(folder, update).touch()
    return folder


def path_of(folder, update):
    return folder.checkpoints / f"update-{update:08d}.0123456789abcdef.weights.h5"


def test_a_mean_needs_each_of_the_last_checkpoints(folder):
    training = small_recipe("training.average_checkpoints=3").training
    assert last_without_gap(folder, training, [], 3) == [40, 60, 80]
    path_of(folder, 60).unlink()
    with pytest.raises(
        ValueError, match="lacks the checkpoint of update 60, which belongs to the mean"
    ):
        last_without_gap(folder, training, [], 3)
    assert last_without_gap(folder, training, [], 1) == [80]
    # At the start of a training there are fewer.
    for update in (40, 80):
        path_of(folder, update).unlink()
    assert last_without_gap(folder, training, [], 3) == [20]


def test_a_mean_follows_the_checkpoints_of_the_history(folder):
    """The last period is shorter, and so were those after a change."""
    figures = {"learning_rate": 0.001, "loss": 3.0, "val_loss": 2.0, "val_perplexity": 9.0}
    write_history(folder.history, [{"updates": u, **figures} for u in (20, 40, 60, 70, 80, 83)])
    for update in (70, 83):
        path_of(folder, update).touch()
    training = small_recipe("training.average_checkpoints=4").training
    assert last_without_gap(folder, training, [], 4) == [60, 70, 80, 83]


def test_checkpoints_that_a_smaller_number_let_go_are_not_asked_for(folder):
    path_of(folder, 20).unlink()
    training = small_recipe("training.average_checkpoints=4").training
    fields = {"training.average_checkpoints": (2, 4)}
    changes = [Change(updates=60, time="t", backend="b", version="v", fields=fields)]
    # After update 60, those of 40 and 60 were left.
    assert last_without_gap(folder, training, changes, 4) == [40, 60, 80]
    with pytest.raises(ValueError, match="lacks the checkpoint of update 20"):
        last_without_gap(folder, training, [], 4)


def test_a_table_is_read_as_it_was_written_and_printed_with_the_best(tmp_path):
    candidates = [
        Candidate(name="update 60", updates=[60], perplexity=math.inf, bleu=23.2, chrf=40.0),
        Candidate(name="mean of 2", updates=[40, 60], perplexity=9.5, bleu=19.1, chrf=41.0),
    ]
    delivery = Delivery(
        keep="best", compared_by="bleu", delivered="update 60", candidates=candidates
    )
    delivery.write(tmp_path / "candidates.json")
    assert read_delivery(tmp_path / "candidates.json") == delivery
    assert read_delivery(tmp_path / "none.json") is None
    assert str(delivery).splitlines() == [
        "  on the validation text  perplexity        BLEU       chrF2",
        "* update 60                      inf       23.20       40.00",
        "  mean of 2                      9.5       19.10       41.00",
        "Delivered: update 60, the best by BLEU.",
    ]
    (tmp_path / "candidates.json").write_text('{"keep": "best"}')
    with pytest.raises(ValueError, match=r"candidates\.json.*delivered"):
        read_delivery(tmp_path / "candidates.json")


OWN_PARTS = """
import keras

BEGINNINGS = []

def shortness(hypotheses, references, sources):
    assert len(hypotheses) == len(references) == len(sources) == 20
    return -sum(map(len, hypotheses))

def list_of_none():
    return []

def back_up():
    return keras.callbacks.BackupAndRestore("backup")

def swap():
    return keras.callbacks.SwapEMAWeights(swap_on_epoch=True)

def restore():
    return keras.callbacks.EarlyStopping(restore_best_weights=True)

class Count(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        BEGINNINGS.append((epoch, sorted(logs)))
"""


def test_own_figures_choose_the_weights_and_own_callbacks_are_called(tmp_path, monkeypatch):
    (tmp_path / "own_figures.py").write_text(OWN_PARTS)
    monkeypatch.chdir(tmp_path)
    settings = ("training.monitor=own_figures:shortness", "training.keep=best")
    settings += ("training.callbacks=[own_figures:Count]", "training.updates=5")
    settings += ("evaluation.engine=keras",)
    for name, message in (
        ("own_figures:absent", "the module own_figures has no absent"),
        ("own_figures:BEGINNINGS", "cannot be called"),
    ):
        with pytest.raises(ValueError, match=rf"training.monitor`={name}: .*{message}"):
            train(short_recipe(f"training.monitor={name}"), tmp_path / "none")
    with pytest.raises(ValueError, match=r"list_of_none must make a `keras.callbacks.Callback`"):
        train(short_recipe("training.callbacks=[own_figures:list_of_none]"), tmp_path / "none")
    for name in ("back_up", "swap"):
        with pytest.raises(ValueError, match=rf"{name} is a \w+, which replaces the weights"):
            train(short_recipe(f"training.callbacks=[own_figures:{name}]"), tmp_path / "none")
    with pytest.raises(ValueError, match=r"restore has `restore_best_weights`, which replaces"):
        train(short_recipe("training.callbacks=[own_figures:restore]"), tmp_path / "none")
    assert not (tmp_path / "none").exists()
    result = train(short_recipe(*settings), tmp_path / "run")
    figures = {each.name: each.figure for each in result.delivery.candidates}
    assert len(figures) >= 2
    assert figures[result.delivery.delivered] == max(figures.values())
    assert result.delivery.compared_by == "figure"
    assert result.delivery.engine == result.engine == "keras"
    assert read_delivery(tmp_path / "run/candidates.json") == result.delivery
    epochs = sys.modules["own_figures"].BEGINNINGS
    assert [epoch for epoch, _ in epochs] == [0, 1, 2]
    assert {"val_figure", "val_bleu", "val_chrf", "val_loss"} <= set(epochs[1][1])


@pytest.mark.slow
def test_the_best_from_before_a_change_of_evaluation_stays_a_candidate(tmp_path, monkeypatch):
    (tmp_path / "falling.py").write_text(
        "CALLS = []\n\ndef fall(*texts):\n    CALLS.append(1)\n    return -len(CALLS)\n"
    )
    monkeypatch.chdir(tmp_path)
    settings = ("training.monitor=falling:fall", "training.average_checkpoints=1")
    settings += ("training.keep=best", "training.bleu_every=2", "evaluation.engine=keras")
    train(short_recipe(*settings), tmp_path / "run")
    result = train(short_recipe(*settings, "evaluation.num_beams=1"), tmp_path / "run")
    assert [each.updates for each in result.delivery.candidates] == [[6], [2]]
