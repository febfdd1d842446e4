"""The fit of a model: updates, checkpoints and measurements until all updates are done.

`fit` begins with the newest checkpoint, if there is one. Its callbacks, in the order in which they
act at the end of an epoch, are `Checkpoints`, which measures with `Validation`, and `Progress`.
"""

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
import numpy as np

from aiayn_keras.backend import Devices, seed_torch_dropout, with_free_shapes
from aiayn_keras.common.progress import open_progress
from aiayn_keras.data import BatchSequence, ProcessRows, UpdateBatches
from aiayn_keras.models import TransformerSeq2SeqLM
from aiayn_keras.plotting import plot_learning_curves
from aiayn_keras.training.averaging import ValidateEMA, ema_weights
from aiayn_keras.training.bleu import evaluate_bleu
from aiayn_keras.training.building import copy_weights
from aiayn_keras.training.checkpoints import (
    list_checkpoints,
    load_newest_checkpoint,
    prune_checkpoints,
    save_checkpoint,
)
from aiayn_keras.training.recipe import Recipe
from aiayn_keras.training.resume import RunInputs
from aiayn_keras.training.run_folder import (
    RunFolder,
    as_columns,
    best_update,
    is_out_of_patience,
    read_history,
    write_history,
)
from aiayn_keras.training.training_data import RecipeCorpus

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class TrainingRun:
    """Everything that a training works with.

    Attributes:
        recipe: The `Recipe`.
        folder: The `RunFolder`.
        devices: The `Devices`.
        corpus: The `RecipeCorpus`.
        inputs: The `RunInputs`.
        batches: Batches to train on.
        validation_batches: Batches of the validation sentences.
        model: The compiled `TransformerSeq2SeqLM` to train, which takes token ids.
        translator: A `TransformerSeq2SeqLM` that takes text: its backbone is the model's, or a
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
    """Fits the model of a `TrainingRun` until all updates are done or patience ends."""
    training = run.recipe.training
    batches_per_update = run.recipe.optimizer.gradient_accumulation_steps
    logger.info("%s", run.batches)
    start = find_start(run.model, run.folder)
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
        logger.info(
            "The training ends: the last %s measurements of `%s` were no better.",
            training.patience,
            training.monitor,
        )


def _callbacks(run, checkpoints, progress):
    """Makes the callbacks, in the order in which they add to an epoch's figures and read them."""
    callbacks = [SeedDropout(run.recipe), checkpoints]
    if run.devices.is_first:
        callbacks.append(progress)
    if run.recipe.optimizer.ema_momentum is not None:
        callbacks.append(ValidateEMA())
    # TensorBoard's callback writes with TensorFlow, and computes the learning rate, which either
    # all processes must do or none.
    if run.devices.num_processes == 1 and importlib.util.find_spec("tensorflow"):
        callbacks.append(keras.callbacks.TensorBoard(run.folder.tensorboard, write_graph=False))
    return callbacks


# === The start ===


@dataclass(frozen=True)
class StartingPoint:
    """The point at which a training begins or goes on.

    Attributes:
        updates: Number of updates done.
        history: List of dictionaries, one for each checkpoint up to this point.
    """

    updates: int
    history: list

    @property
    def is_measured(self):
        """True if the last row of the history belongs to the checkpoint to go on from."""
        return bool(self.history) and self.history[-1]["updates"] == self.updates


def find_start(model, folder):
    """Loads the newest checkpoint, if there is one, and finds the point to go on from.

    Damaged checkpoints and histories must have been set aside, by one process for all.

    Args:
        model: The model to train.
        folder: The `RunFolder`.

    Returns:
        The `StartingPoint`.
    """
    updates = load_newest_checkpoint(model, folder.checkpoints)
    if updates:
        logger.info("Going on from update %s.", f"{updates:,}")
    start = StartingPoint(updates, read_history(folder.history, updates))
    if updates and not start.is_measured:
        logger.warning(
            "%s does not have the figures of update %s: the choice of the best checkpoint and "
            "the end of patience are based on those that it has.",
            folder.history,
            f"{updates:,}",
        )
    return start


class SeedDropout(keras.callbacks.Callback):
    """Sets the random state of dropout at the first batch of every epoch, from the epoch's number.

    Args:
        recipe: The `Recipe`.
    """

    def __init__(self, recipe):
        super().__init__()
        self._seed, self._epoch = recipe.training.seed, 0
        self._batches_per_epoch = (
            recipe.training.checkpoint_every * recipe.optimizer.gradient_accumulation_steps
        )

    def on_epoch_begin(self, epoch, logs=None):
        self._epoch = epoch

    def on_train_batch_begin(self, batch, logs=None):
        # Not before the first batch: PyTorch's data loader draws from the same generator, once.
        if batch == 0:
            seed_torch_dropout(self._seed, self._epoch)
            _set_seed_counts(self.model, self._epoch * self._batches_per_epoch)


def _set_seed_counts(model, batches):
    """Sets the states `(seed, count)` of Keras' seed generators, which count batches."""
    for variable in model.variables:
        if variable.path.endswith("seed_generator_state"):
            seed, _ = keras.ops.convert_to_numpy(variable)
            variable.assign(np.array([seed, batches]))


# === Checkpoints and their measurement ===


class Checkpoints(keras.callbacks.Callback):
    """Measures the model after every epoch, and saves the history and a checkpoint.

    Logs `val_perplexity` in every epoch and `val_bleu` as often as the recipe asks for it. BLEU may
    take long and therefore comes after the checkpoint: if the training is killed meanwhile,
    `complete` measures it when the training goes on. Keeps the last checkpoints and the best one,
    and stops the training when patience ends. Of several processes, the first one writes.

    Args:
        run: The `TrainingRun`.
        history: List of dictionaries, one for each epoch; extended in place.
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
        """Measures BLEU for the last row if it is due, and does what follows a checkpoint."""
        row = self.history[-1]
        if row["updates"] % self.training.bleu_every == 0 and "val_bleu" not in row:
            row["val_bleu"] = self.validation.bleu()
            if self.writes:
                write_history(self.folder.history, self.history)
        if self.writes:
            existing = dict(list_checkpoints(self.folder.checkpoints))
            best = best_update(self.history, self.training.monitor, among=existing)
            prune_checkpoints(self.folder.checkpoints, self.training.average_checkpoints, best)
            plot_learning_curves(as_columns(self.history), self.folder.learning_curves)

    def is_out_of_patience(self):
        """Tells if the training ends for lack of progress."""
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
            "the validation sentences. Earlier checkpoints are kept; start a new training with a "
            "lower `optimizer.peak_learning_rate` or more `optimizer.warmup_steps`."
        )


class Validation:
    """Measures the model of a `TrainingRun` between two updates.

    Args:
        run: The `TrainingRun`.
    """

    def __init__(self, run):
        self._model, self._translator = run.model, run.translator
        self._pairs, self._evaluation = run.corpus.validation, run.recipe.evaluation
        tokenizer = self._translator.preprocessor.tokenizer
        self._num_tokens = sum(
            len(ids) + 1 for ids in tokenizer.of_targets()(list(self._pairs.targets))
        )

    def perplexity(self):
        """Computes the perplexity per wordpiece."""
        with ema_weights(self._model):
            copy_weights(self._model, self._translator)
            scores = self._translator.score(self._pairs.sources, self._pairs.targets)
        return float(np.exp(-scores.sum(dtype="float64") / self._num_tokens))

    def bleu(self):
        """Computes BLEU, 0 to 100."""
        with ema_weights(self._model):
            copy_weights(self._model, self._translator)
            bleu = evaluate_bleu(self._translator, self._pairs, self._evaluation)
        logger.info("Validation BLEU: %s", bleu)
        return bleu.score


# === Progress and interruption ===


class Progress(keras.callbacks.Callback):
    """Shows the loss, target tokens per second and the time left for all updates.

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
        if sys.stderr is not None:  # like the bar: standard output is for results
            self._bar.write(f"update {self._bar.n:,}: {figures}", file=sys.stderr)

    def close(self):
        """Ends the bar, also after an interruption."""
        if self._bar is not None:
            self._bar.close()


@contextlib.contextmanager
def watch_interrupts():
    """Makes sure that Ctrl-C ends the block even if its exception is swallowed.

    Every SIGINT raises a `KeyboardInterrupt`, as usual in Python, and is also noted. If a callback,
    or a library that it calls, swallows the exception, the note ends the training before its next
    batch, or the block. Where SIGINT is handled differently (outside the main thread, by a handler
    of the caller, or not at all), nothing is changed.

    Yields:
        A callback for `fit`.
    """
    watch, usual = _StopIfInterrupted(), signal.default_int_handler
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


class _StopIfInterrupted(keras.callbacks.Callback):
    """Ends `fit` before the next batch with a `KeyboardInterrupt`, once `interrupted` is set."""

    def __init__(self):
        super().__init__()
        self.interrupted = False

    def on_train_batch_begin(self, batch, logs=None):
        self.check()

    def check(self):
        """Raises a `KeyboardInterrupt` if there was one."""
        if self.interrupted:
            raise KeyboardInterrupt
