import json

import keras
import keras_hub
import numpy as np
import pytest

from aiayn_keras.training import average_checkpoints, list_checkpoints, train
from aiayn_keras.training.callbacks import Checkpoints
from tests.helpers import assert_close
from tests.runs import small_recipe


def test_a_training_leaves_a_model_folder(trained_run):
    names = {path.name for path in trained_run.iterdir()}
    assert names >= {
        "attention.png",
        "config.json",
        "evaluation.json",
        "history.json",
        "learning_curves.png",
        "model.weights.h5",
        "recipe.yaml",
        "task.json",
        "tensorboard",
        "tokenizer.json",
    }
    model = keras_hub.models.Seq2SeqLM.from_preset(str(trained_run))
    assert model.backbone.hidden_dim == 32
    assert len(model.translate(["The girl is happy."])) == 1


def test_a_training_learns(trained_run):
    history = json.loads((trained_run / "history.json").read_text())
    assert [row["updates"] for row in history] == [20, 40, 60]
    assert history[-1]["val_loss"] < history[0]["val_loss"]
    assert history[-1]["val_perplexity"] < 0.5 * history[0]["val_perplexity"]
    assert "val_bleu" in history[-1]
    assert "val_bleu" not in history[0]


def test_the_evaluation_keeps_the_signature(trained_run):
    evaluation = json.loads((trained_run / "evaluation.json").read_text())
    assert evaluation["sentences"] == 1000
    assert "tok:13a" in evaluation["signature"]


class StopAfter(keras.callbacks.Callback):
    """Test double of a person who presses Ctrl-C."""

    def __init__(self, update):
        super().__init__()
        self.update = update

    def on_train_batch_end(self, batch, logs=None):
        if int(self.model.optimizer.iterations) == self.update:
            raise KeyboardInterrupt


def test_an_interrupted_training_goes_on_to_the_same_weights(trained_run, tmp_path, monkeypatch):
    folder = tmp_path / "run"
    stop = StopAfter(update=47)
    monkeypatch.setattr(
        Checkpoints,
        "on_train_batch_end",
        lambda self, batch, logs=None: (stop.set_model(self.model), stop.on_train_batch_end(batch)),
    )
    with pytest.raises(KeyboardInterrupt):
        train(small_recipe(), folder)
    assert [update for update, _ in list_checkpoints(folder / "checkpoints")] == [20, 40]
    monkeypatch.undo()

    result = train(small_recipe(), folder)
    uninterrupted = keras_hub.models.Seq2SeqLM.from_preset(str(trained_run))
    for actual, expected in zip(
        result.model.trainable_variables, uninterrupted.trainable_variables, strict=True
    ):
        assert_close(actual, expected)
    updates = [row["updates"] for row in json.loads((folder / "history.json").read_text())]
    assert updates == [20, 40, 60]


def test_a_finished_training_is_not_overwritten(trained_run):
    with pytest.raises(FileExistsError, match="holds a finished training"):
        train(small_recipe(), trained_run)


def test_a_folder_of_something_else_is_not_touched(tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(FileExistsError, match="is no training"):
        train(small_recipe(), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_an_unfinished_training_of_another_recipe_is_not_touched(tmp_path):
    (tmp_path / "recipe.yaml").write_text(small_recipe("training.seed=2").to_yaml())
    with pytest.raises(
        FileExistsError, match=r"another recipe.*`training.seed` \(2 there, 1 here\)"
    ):
        train(small_recipe(), tmp_path)


def test_a_corpus_that_cannot_be_read_leaves_nothing(tmp_path):
    recipe = small_recipe(
        "corpus.name=null",
        "corpus.train=[no.en, no.de]",
        "corpus.validation=[no.en, no.de]",
        "corpus.train_size=null",
    )
    with pytest.raises(FileNotFoundError, match=r"no\.en"):
        train(recipe, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_two_trainings_from_one_seed_are_one(trained_run, tmp_path):
    result = train(small_recipe(), tmp_path / "again")
    first = keras_hub.models.Seq2SeqLM.from_preset(str(trained_run))
    for actual, expected in zip(
        result.model.trainable_variables, first.trainable_variables, strict=True
    ):
        np.testing.assert_array_equal(np.asarray(actual), np.asarray(expected))


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


def test_a_training_without_progress_ends_early_with_its_best_weights(tmp_path):
    settings = (
        "training.updates=300",
        "training.checkpoint_every=10",
        "training.bleu_every=50",
        "training.average_checkpoints=1",
        "training.patience=2",
        "training.keep_best=true",
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
    expected = small_recipe(*settings).build_model(200)
    average_checkpoints(expected, [kept[history[best]["updates"]]])
    for actual, weight in zip(
        result.model.trainable_variables, expected.trainable_variables, strict=True
    ):
        assert_close(actual, weight)
