"""Work at the end of every epoch: history, checkpoint, validation BLEU, learning curves."""

import math
import tempfile

import keras

from aiayn_keras.plotting import plot_learning_curves
from aiayn_keras.training.checkpoints import list_checkpoints, prune_checkpoints, save_checkpoint
from aiayn_keras.training.history import (
    as_columns,
    best_update,
    is_out_of_patience,
    write_history,
)
from aiayn_keras.training.validation import Validation


class Checkpoints(keras.callbacks.Callback):
    """Measures the model after every epoch, and saves the history and a checkpoint.

    Logs `val_perplexity` in every epoch and `val_bleu` as often as asked for. BLEU, which may take
    long, comes after the checkpoint: `complete` measures what a training that was killed meanwhile
    has left out. Keeps the last checkpoints and the best one, and stops the training when patience
    ends. Of several processes, the first one writes.

    Args:
        run: The `TrainingRun`.
        history: List of dictionaries, one per epoch; extended in place.
    """

    def __init__(self, run, history):
        super().__init__()
        self.folder, self.training = run.folder, run.recipe.training
        self.writes = run.devices.is_first
        self.history, self.validation = history, Validation(run)

    def on_epoch_end(self, epoch, logs=None):
        update = (epoch + 1) * self.training.checkpoint_every
        _check_finite(logs, update)
        logs["val_perplexity"] = self.validation.perplexity()
        rate = float(keras.ops.convert_to_numpy(self.model.optimizer.learning_rate))
        row = {"updates": update, "learning_rate": rate}
        row.update({name: float(value) for name, value in logs.items()})
        self.history.append(row)
        self._save(update)
        self.complete()
        if "val_bleu" in row:
            logs["val_bleu"] = row["val_bleu"]
        if self.is_out_of_patience():
            self.model.stop_training = True

    def complete(self):
        """Measures the last row's BLEU if it is due, and does what follows a checkpoint."""
        row = self.history[-1]
        if row["updates"] % self.training.bleu_every == 0 and "val_bleu" not in row:
            row["val_bleu"] = self.validation.bleu()
            if self.writes:
                write_history(self.folder.history, self.history)
        if self.writes:
            there = dict(list_checkpoints(self.folder.checkpoints))
            best = best_update(self.history, self.training.monitor, among=there)
            prune_checkpoints(self.folder.checkpoints, self.training.average_checkpoints, best)
            plot_learning_curves(as_columns(self.history), self.folder.learning_curves)

    def is_out_of_patience(self):
        """Whether the training has ended for want of progress."""
        return is_out_of_patience(self.history, self.training.monitor, self.training.patience)

    def _save(self, update):
        if self.writes:
            write_history(self.folder.history, self.history)
            save_checkpoint(self.model, self.folder.checkpoints, update)
        else:
            # Keras computes the learning rate when it saves, for which it needs all processes.
            with tempfile.TemporaryDirectory() as folder:
                save_checkpoint(self.model, folder, update)


def _check_finite(logs, update):
    if not all(math.isfinite(logs[name]) for name in ("loss", "val_loss")):
        raise ValueError(
            f"The loss became {logs['loss']} before update {update}, {logs['val_loss']} on "
            "the validation sentences. Earlier checkpoints are kept; train anew with a lower "
            "`optimizer.peak_learning_rate` or more `optimizer.warmup_steps`."
        )
