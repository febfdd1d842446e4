import contextlib
import json
import os
import shutil
import signal

import keras
import keras_hub
import numpy as np
import pytest

from aiayn_keras.decoding.translation_search import EngineError, choose_engine
from aiayn_keras.models import TransformerBackbone, TransformerTokenizer
from aiayn_keras.training import list_checkpoints, read_evaluation, train, trainer
from aiayn_keras.training.fitting import Checkpoints
from aiayn_keras.training.training_data import read_corpus
from aiayn_keras.training.validation import Validation
from tests.helpers import assert_close
from tests.runs import figures_of, small_recipe


@keras.saving.register_keras_serializable(package="test_trainer")
class OwnBackbone(TransformerBackbone):
    """A class of the user's own."""


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


@pytest.mark.parametrize(
    ("settings", "divides", "called"),
    [
        ([], True, ["divide"]),
        ([], False, ["divide", "one at a time"]),
        (["model.hidden_dim=256"], False, ["divide"]),
        (["training.devices=data_parallel"], True, ["one at a time"]),
        (["training.jit_compile=true"], True, ["one at a time"]),
        (["model.class=tests.training.test_trainer:OwnBackbone"], True, ["one at a time"]),
    ],
)
def test_cores_are_shared_as_the_recipe_allows(settings, divides, called, monkeypatch):
    calls = []
    setters = {
        "divide_batches_among_cores": lambda: calls.append("divide") or divides,
        "run_one_operation_at_a_time": lambda: calls.append("one at a time"),
    }
    for name, recorder in setters.items():
        monkeypatch.setattr(trainer, name, recorder)
    trainer._share_cores(small_recipe(*settings))
    assert calls == called


def test_a_training_learns(trained_run):
    history = json.loads((trained_run / "history.json").read_text())
    assert [row["updates"] for row in history] == [20, 40, 60]
    assert history[-1]["val_loss"] < history[0]["val_loss"]
    assert history[-1]["val_perplexity"] < 0.75 * history[0]["val_perplexity"]
    assert "val_bleu" in history[-1]
    assert "val_bleu" not in history[0]


def test_nearly_all_sources_are_of_the_length_that_is_said_to_be_learned(trained_run):
    tokenizer = TransformerTokenizer.from_preset(trained_run)
    sources = read_corpus(small_recipe()).train.pairs(tokenizer, 512).source_lengths + 1
    assert np.mean(sources <= tokenizer.learned_length) >= 0.99
    assert np.mean(sources < tokenizer.learned_length) < 0.99


def test_an_engine_that_cannot_do_the_search_is_refused_before_anything_is_written(tmp_path):
    settings = "evaluation.engine=ctranslate2", "evaluation.no_repeat_ngram_size=2"
    with pytest.raises(EngineError, match=r"`evaluation\.engine`=ctranslate2: .*cannot be used"):
        train(small_recipe(*settings), tmp_path)
    assert not (tmp_path / "recipe.yaml").exists()


def test_a_finished_training_whose_checkpoints_are_damaged_is_kept(trained_run, tmp_path):
    folder = shutil.copytree(trained_run, tmp_path / "run")
    for _, path in list_checkpoints(folder / "checkpoints"):
        path.write_bytes(b"")
    with pytest.raises(FileExistsError, match="no training with checkpoints"):
        train(small_recipe("training.updates=80"), folder)
    assert (folder / "evaluation.json").exists()


def test_the_evaluation_keeps_the_signature(trained_run):
    evaluation = json.loads((trained_run / "evaluation.json").read_text())
    assert evaluation["sentences"] == 60
    assert "tok:13a" in evaluation["signature"]


def test_the_evaluation_names_the_engine_that_searched(trained_run):
    model = keras_hub.models.Seq2SeqLM.from_preset(str(trained_run))
    engine = choose_engine("auto", (model,), small_recipe().evaluation.search_options())
    assert read_evaluation(trained_run / "evaluation.json").engine == engine


def swallow_interrupt_after_47_updates(self, batch, logs=None):
    """Test double of a person who presses Ctrl-C, in a callback that loses the exception."""
    if int(self.model.optimizer.iterations) == 47:
        with contextlib.suppress(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


def be_killed(self):
    """Test double of a process that is killed while it measures BLEU."""
    raise SystemExit


@pytest.mark.slow
def test_a_training_stopped_twice_goes_on_to_the_same_weights_and_history(trained_run, tmp_path):
    folder = tmp_path / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Checkpoints, "on_train_batch_end", swallow_interrupt_after_47_updates)
        with pytest.raises(KeyboardInterrupt):
            train(small_recipe(), folder)
        assert [update for update, _ in list_checkpoints(folder / "checkpoints")] == [20, 40]
        assert [update for update, _ in list_checkpoints(folder / "stopped")] == [47]
        patch.undo()
        patch.setattr(Validation, "translations", be_killed)
        with pytest.raises(SystemExit):
            train(small_recipe(), folder)
    # The checkpoint comes before BLEU.
    assert list_checkpoints(folder / "checkpoints")[-1][0] == 60
    assert "val_bleu" not in (folder / "history.json").read_text()

    result = train(small_recipe(), folder)
    uninterrupted = keras_hub.models.Seq2SeqLM.from_preset(str(trained_run))
    for actual, expected in zip(
        result.model.trainable_variables, uninterrupted.trainable_variables, strict=True
    ):
        assert_close(actual, expected)
    history, expected = figures_of(folder), figures_of(trained_run)
    assert [row["updates"] for row in history] == [20, 40, 60]
    for row, expected_row in zip(history, expected, strict=True):
        assert row == pytest.approx(expected_row)


def test_a_finished_training_is_not_overwritten(trained_run):
    with pytest.raises(FileExistsError, match=r"holds a finished training.*training\.updates"):
        train(small_recipe(), trained_run)


def test_a_folder_of_something_else_is_not_touched(tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(FileExistsError, match="does not hold a training"):
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
    )
    with pytest.raises(FileNotFoundError, match=r"no\.en"):
        train(recipe, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_constraint_that_the_vocabulary_cannot_keep_is_found_before_the_training(tmp_path):
    with pytest.raises(ValueError, match="must have pairs of brackets"):
        train(small_recipe("evaluation.constraint=brackets"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
@pytest.mark.skipif(
    keras.config.backend() != "tensorflow",
    reason="Elsewhere the stopped training is one, and has the weights of the other.",
)
def test_two_trainings_from_one_seed_are_one(trained_run, tmp_path):
    result = train(small_recipe(), tmp_path / "again")
    first = keras_hub.models.Seq2SeqLM.from_preset(str(trained_run))
    for actual, expected in zip(
        result.model.trainable_variables, first.trainable_variables, strict=True
    ):
        np.testing.assert_array_equal(np.asarray(actual), np.asarray(expected))
