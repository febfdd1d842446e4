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
from aiayn_keras.training.validation_history import best_update, is_out_of_patience

logger = logging.getLogger(__name__)


def copy_weights(model, translator):
    """Gives a translator the weights of the model in training, if it is a copy."""
    if translator.backbone is not model.backbone:
        translator.backbone.set_weights(model.backbone.get_weights())


class ValidationBleu(keras.callbacks.Callback):
    """Translates the validation sentences; logs `val_bleu`, and `val_perplexity` per wordpiece.

    Args:
        translator: `TransformerSeq2SeqLM` with a preprocessor; its backbone is that of the model
            in training, or a copy that is given the weights each time.
        pairs: `ParallelText` to translate.
        every: Epochs between two BLEUs; the perplexity is logged in every epoch.
        evaluation: The recipe's `EvaluationSection`.

    """

    def __init__(self, translator, pairs, every, evaluation):
        super().__init__()
        self.translator = translator
        self.pairs = pairs
        self.every = every
        self.evaluation = evaluation
        self._signature_logged = False
        tokenizer = translator.preprocessor.tokenizer
        self._num_tokens = sum(len(ids) + 1 for ids in tokenizer(list(pairs.targets)))

    def on_epoch_end(self, epoch, logs=None):
        with ema_weights(self.model):
            copy_weights(self.model, self.translator)
            self._measure(epoch, logs)

    def _measure(self, epoch, logs):
        scores = self.translator.score(self.pairs.sources, self.pairs.targets)
        logs["val_perplexity"] = float(np.exp(-scores.sum(dtype="float64") / self._num_tokens))
        if (epoch + 1) % self.every == 0:
            bleu = evaluate_bleu(self.translator, self.pairs, self.evaluation)
            if not self._signature_logged:
                logger.info("Validation BLEU: %s", bleu.signature)
                self._signature_logged = True
            logs["val_bleu"] = bleu.score


class Checkpoints(keras.callbacks.Callback):
    """Saves the history and a checkpoint after every epoch; draws the learning curves.

    Keeps the last checkpoints and the best one, and stops the training when patience ends.

    Args:
        run_folder: The `RunFolder`.
        training: The recipe's `TrainingSection`.
        history: List of dictionaries, one per epoch; extended in place.
        writes: Whether this process writes: True in the first of several.
    """

    def __init__(self, run_folder, training, history, writes=True):
        super().__init__()
        self.writes = writes
        self.run_folder = run_folder
        self.training = training
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
        folder, training = self.run_folder, self.training
        write_text(folder.history, json.dumps(self.history, indent=1))
        save_checkpoint(self.model, folder.checkpoints, update)
        prune_checkpoints(
            folder.checkpoints,
            training.average_checkpoints,
            best_update(self.history, training.monitor),
        )
        plot_learning_curves(as_columns(self.history), folder.learning_curves)


def as_columns(history):
    """A list of dictionaries as a dictionary of lists, NaN where a value was not measured."""
    keys = dict.fromkeys(key for row in history for key in row)
    return {key: [row.get(key, math.nan) for row in history] for key in keys}
