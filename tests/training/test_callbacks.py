import json

import keras
import numpy as np
import pytest

from aiayn_keras.training import average_checkpoints, list_checkpoints, train
from aiayn_keras.training.fitting import Checkpoints
from tests.helpers import assert_close
from tests.runs import small_recipe


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
