"""Work at the end of every epoch: validation BLEU, history, checkpoints, learning curves."""

import json
import logging
import math
import tempfile

import keras
import numpy as np

from aiayn_keras.files import write_text
from aiayn_keras.plotting import plot_learning_curves
from aiayn_keras.training.bleu import evaluate_bleu
from aiayn_keras.training.checkpoints import prune_checkpoints, save_checkpoint
from aiayn_keras.training.ema import ema_weights
from aiayn_keras.training.history import as_columns, best_update, is_out_of_patience

logger = logging.getLogger(__name__)


def copy_weights(model, translator):
    """Gives a translator the weights of the model in training, if it is a copy."""
    if translator.backbone is not model.backbone:
        translator.backbone.set_weights(model.backbone.get_weights())


class ValidationBleu(keras.callbacks.Callback):
    """Logs `val_perplexity`, per wordpiece, in every epoch and `val_bleu` as often as asked for.

    Args:
        run: The `TrainingRun`.
    """

    def __init__(self, run):
        super().__init__()
        self.translator, self.pairs = run.translator, run.corpus.validation
        self.evaluation, self.training = run.recipe.evaluation, run.recipe.training
        tokenizer = self.translator.preprocessor.tokenizer
        self._num_tokens = sum(len(ids) + 1 for ids in tokenizer(list(self.pairs.targets)))

    def on_epoch_end(self, epoch, logs=None):
        with ema_weights(self.model):
            copy_weights(self.model, self.translator)
            scores = self.translator.score(self.pairs.sources, self.pairs.targets)
            logs["val_perplexity"] = float(np.exp(-scores.sum(dtype="float64") / self._num_tokens))
            if (epoch + 1) * self.training.checkpoint_every % self.training.bleu_every == 0:
                bleu = evaluate_bleu(self.translator, self.pairs, self.evaluation)
                logger.info("Validation BLEU: %s", bleu)
                logs["val_bleu"] = bleu.score


class Checkpoints(keras.callbacks.Callback):
    """Saves the history and a checkpoint after every epoch; draws the learning curves.

    Keeps the last checkpoints and the best one, and stops the training when patience ends. Of
    several processes, the first one writes.

    Args:
        run: The `TrainingRun`.
        history: List of dictionaries, one per epoch; extended in place.
    """

    def __init__(self, run, history):
        super().__init__()
        self.folder, self.training = run.folder, run.recipe.training
        self.writes = run.devices.is_first
        self.history = history

    def on_epoch_end(self, epoch, logs=None):
        training = self.training
        update = (epoch + 1) * training.checkpoint_every
        if not all(math.isfinite(logs[name]) for name in ("loss", "val_loss")):
            raise ValueError(
                f"The loss became {logs['loss']} before update {update}, {logs['val_loss']} on "
                "the validation sentences. Earlier checkpoints are kept; train anew with a lower "
                "`optimizer.peak_learning_rate` or more `optimizer.warmup_steps`."
            )
        rate = float(keras.ops.convert_to_numpy(self.model.optimizer.learning_rate))
        figures = {key: float(value) for key, value in logs.items()}
        self.history.append({"updates": update, "learning_rate": rate, **figures})
        if self.writes:
            self._write(update)
        else:
            # Keras computes the learning rate when it saves, for which it needs all processes.
            with tempfile.TemporaryDirectory() as folder:
                save_checkpoint(self.model, folder, update)
        if is_out_of_patience(self.history, training.monitor, training.patience):
            logger.info("No better `%s` for %s checks: done.", training.monitor, training.patience)
            self.model.stop_training = True

    def _write(self, update):
        write_text(self.folder.history, json.dumps(self.history, indent=1))
        save_checkpoint(self.model, self.folder.checkpoints, update)
        best = best_update(self.history, self.training.monitor)
        prune_checkpoints(self.folder.checkpoints, self.training.average_checkpoints, best)
        plot_learning_curves(as_columns(self.history), self.folder.learning_curves)
