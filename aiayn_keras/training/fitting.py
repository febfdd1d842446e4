"""Ctrl-C that ends a training even where its exception gets lost."""

import contextlib
import importlib.util
import logging
import math
import signal
import sys
import tempfile
import threading
from dataclasses import dataclass

import keras

from aiayn_keras.backend import Devices, with_free_shapes
from aiayn_keras.common.progress import open_progress
from aiayn_keras.data import BatchSequence, ProcessRows, UpdateBatches
from aiayn_keras.models import TransformerSeq2SeqLM
from aiayn_keras.plotting import plot_learning_curves
from aiayn_keras.training.checkpoints import list_checkpoints, prune_checkpoints, save_checkpoint
from aiayn_keras.training.recipe import Recipe
from aiayn_keras.training.resume import RunInputs, SeedDropout, resume
from aiayn_keras.training.run_folder import (
    RunFolder,
    as_columns,
    best_update,
    is_out_of_patience,
    write_history,
)
from aiayn_keras.training.training_data import RecipeCorpus
from aiayn_keras.training.validation import ValidateEMA, Validation


class StopIfInterrupted(keras.callbacks.Callback):
    """Ends `fit` before the next batch by a `KeyboardInterrupt`, once `interrupted` is set."""

    def __init__(self):
        super().__init__()
        self.interrupted = False

    def on_train_batch_begin(self, batch, logs=None):
        self.check()

    def check(self):
        """Raises a `KeyboardInterrupt` if there was one."""
        if self.interrupted:
            raise KeyboardInterrupt


@contextlib.contextmanager
def watch_interrupts():
    """Context manager that notes every SIGINT and raises a `KeyboardInterrupt`, as Python does.

    A callback, or a library that it calls, may swallow the exception; the note stays, and ends the
    block at the latest. Where SIGINT is handled otherwise (in another thread than the main one, by
    a handler of the caller's, or not at all), nothing is changed.

    Yields:
        A `StopIfInterrupted` for `fit`.
    """
    watch, usual = StopIfInterrupted(), signal.default_int_handler
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not usual:
        yield watch
        return

    def note(number, frame):
        watch.interrupted = True
        usual(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield watch
        watch.check()
    finally:
        signal.signal(signal.SIGINT, usual)


class Progress(keras.callbacks.Callback):
    """Shows loss, target tokens per second and time left over all updates.

    Args:
        updates: Number of updates of the whole training.
        tokens_per_update: Mean number of real target tokens in an update.
        done: Number of updates done before, when a training goes on.
        batches_per_update: Number of batches that make an update.
    """

    def __init__(self, updates, tokens_per_update, done=0, batches_per_update=1):
        super().__init__()
        self.updates = updates
        self.tokens_per_update = tokens_per_update
        self.done = done
        self.batches_per_update = batches_per_update
        self._bar = None

    def on_train_begin(self, logs=None):
        self._bar = open_progress(
            total=self.updates, initial=self.done, unit="update", smoothing=0.1
        )

    def on_train_batch_end(self, batch, logs=None):
        if (batch + 1) % self.batches_per_update:
            return
        shown = f"loss {float(logs['loss']):.3f}"
        if rate := self._bar.format_dict["rate"]:
            shown += f", {rate * self.tokens_per_update:,.0f} tokens/s"
        self._bar.set_postfix_str(shown, refresh=False)
        self._bar.update()

    def on_epoch_end(self, epoch, logs=None):
        names = ("loss", "val_loss", "val_perplexity", "val_bleu")
        figures = ", ".join(f"{name} {logs[name]:.3f}" for name in names if name in logs)
        if sys.stderr is not None:  # as the bar: standard output is for results
            self._bar.write(f"update {self._bar.n:,}: {figures}", file=sys.stderr)

    def close(self):
        """Ends the bar, also after an interruption."""
        if self._bar is not None:
            self._bar.close()


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


logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class TrainingRun:
    """All that a training works with.

    Attributes:
        recipe: The `Recipe`.
        folder: The `RunFolder`.
        devices: The `Devices`.
        corpus: The `RecipeCorpus`.
        inputs: The `RunInputs`.
        batches: Batches to train on.
        validation_batches: Batches of the validation sentences.
        model: The compiled `TransformerSeq2SeqLM` in training, which takes token ids.
        translator: The `TransformerSeq2SeqLM` that takes text: its backbone is the model's, or a
            copy of it on one device.
    """

    recipe: Recipe
    folder: RunFolder
    devices: Devices
    corpus: RecipeCorpus
    inputs: RunInputs
    batches: BatchSequence
    validation_batches: BatchSequence
    model: TransformerSeq2SeqLM
    translator: TransformerSeq2SeqLM


def fit(run):
    """Fits a `TrainingRun`'s model until all updates are done or patience ends."""
    training = run.recipe.training
    batches_per_update = run.recipe.optimizer.gradient_accumulation_steps
    logger.info("%s", run.batches)
    start = resume(run.model, run.folder)
    checkpoints = Checkpoints(run, start.history)
    if start.is_measured:
        checkpoints.complete()
    if checkpoints.is_out_of_patience():
        return
    updates = UpdateBatches(run.batches, batches_per_update)
    tokens_per_batch = run.batches.real_target_tokens / run.batches.steps_per_epoch
    progress = Progress(
        training.updates, batches_per_update * tokens_per_batch, start.updates, batches_per_update
    )
    devices = run.devices
    rows = ProcessRows(devices.num_models, devices.num_processes, devices.process)
    data = updates.to_iter_dataset(start.updates * batches_per_update).map(rows)
    if len(run.batches.shapes) > 1:
        data = with_free_shapes(data)
    with contextlib.closing(progress), watch_interrupts() as watch:
        run.model.fit(
            data,
            steps_per_epoch=training.checkpoint_every * batches_per_update,
            epochs=training.updates // training.checkpoint_every,
            initial_epoch=start.updates // training.checkpoint_every,
            validation_data=UpdateBatches(run.validation_batches).to_iter_dataset().map(rows),
            validation_steps=len(run.validation_batches),
            callbacks=[watch, *_callbacks(run, checkpoints, progress)],
            shuffle=False,
            verbose=0,
        )
    if run.model.stop_training:
        logger.info("No better `%s` for %s checks: done.", training.monitor, training.patience)


def _callbacks(run, checkpoints, progress):
    """Makes the callbacks, in the order in which they add to an epoch's figures and read them."""
    callbacks = [SeedDropout(run.recipe), checkpoints]
    if run.devices.is_first:
        callbacks.append(progress)
    if run.recipe.optimizer.ema_momentum is not None:
        callbacks.append(ValidateEMA())
    # TensorBoard's callback writes with TensorFlow, and computes the learning rate, which all
    # processes must do or none.
    if run.devices.num_processes == 1 and importlib.util.find_spec("tensorflow"):
        callbacks.append(keras.callbacks.TensorBoard(run.folder.tensorboard, write_graph=False))
    return callbacks
