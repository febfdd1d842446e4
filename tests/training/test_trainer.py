import json

import keras
import keras_hub
import numpy as np
import pytest

from aiayn_keras.training import list_checkpoints, train
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
    assert evaluation["sentences"] == 60
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
