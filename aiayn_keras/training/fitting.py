"""The fit of a model: updates, checkpoints and measurements until all updates are done.

`fit` begins with the newest checkpoint, if there is one. Each of Keras' epochs is a period between
two checkpoints. The callbacks, in the order in which they act at its end, are `StopAtUpdate`,
`Checkpoints`, which measures with `Validation`, and `Progress`.
"""

import contextlib
import dataclasses
import functools
import importlib.util
import logging
import math
from dataclasses import dataclass

import keras
import numpy as np

from aiayn_keras.backend import Devices, seed_torch_dropout, with_free_shapes
from aiayn_keras.data import BatchSequence, ProcessRows, UpdateBatches
from aiayn_keras.models import TransformerSeq2SeqLM
from aiayn_keras.plotting import plot_learning_curves
from aiayn_keras.training.averaging import KeepWeights, ValidateEMA
from aiayn_keras.training.building import InitialModel
from aiayn_keras.training.checkpoints import (
    list_checkpoints,
    load_newest_checkpoint,
    newest_update,
    prune_checkpoints,
    save_checkpoint,
    take_part_in_saving,
)
from aiayn_keras.training.fit_callbacks import (
    LossSoFar,
    Progress,
    Speed,
    discard_stopped,
    gradient_norm,
    read_loss,
    save_stopped,
    watch_signals,
)
from aiayn_keras.training.recipe import Recipe
from aiayn_keras.training.recipe_changes import best_updates, comparable, next_batch, value_at
from aiayn_keras.training.resume import RunInputs
from aiayn_keras.training.run_folder import (
    RunFolder,
    as_columns,
    column_of,
    is_out_of_patience,
    read_history,
    write_history,
)
from aiayn_keras.training.training_data import RecipeCorpus
from aiayn_keras.training.validation import Validation

logger = logging.getLogger(__name__)

_FIRST_PERPLEXITY = 10
"""The first checkpoint causes a warning if its perplexity is this many times that of chance."""


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
        own_callbacks: Keras callbacks that the recipe names.
        initial: The `InitialModel` of a fine-tuning.
        changes: List of `Change`, filled when the folder is opened.
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
    own_callbacks: tuple = ()
    initial: InitialModel | None = None
    changes: list = dataclasses.field(default_factory=list)

    @property
    def rows(self):
        """Takes the rows of this process from a batch."""
        devices = self.devices
        return ProcessRows(devices.num_models, devices.num_processes, devices.process)

    def next_batch(self, updates):
        """Number of the first batch after an update."""
        steps = self.recipe.optimizer.gradient_accumulation_steps
        return next_batch(self.changes, updates, steps)


def fit(run):
    """Fits the model of a `TrainingRun` until all updates are done or patience ends."""
    logger.info("%s", run.batches)
    training, start = run.recipe.training, find_start(run)
    position = Position(start.updates, run.recipe.optimizer.gradient_accumulation_steps)
    save = functools.partial(_save_stopped, run)
    with watch_signals(position, save, run.devices.agree) as stop:
        checkpoints = Checkpoints(run, start.history, position, stop)
        _measure_start(run, start, checkpoints)
        if start.updates < training.updates and not checkpoints.is_out_of_patience():
            _fit_periods(run, start, checkpoints, position, stop)
    if checkpoints.is_out_of_patience():
        logger.info(
            "The training ends: the last %s measurements of `%s` were no better.",
            training.patience,
            training.monitor,
        )


def _save_stopped(run, updates, sums):
    if run.devices.is_first:
        save_stopped(run.model, run.folder.stopped, updates, sums)
    else:
        take_part_in_saving(run.model, updates)
    run.devices.wait("the checkpoint of the stop is written")
    logger.warning("Stopped after update %s; its checkpoint is written.", f"{updates:,}")


def _measure_start(run, start, checkpoints):
    """Finishes the measurements of the checkpoint from which the training goes on."""
    if start.is_measured:
        checkpoints.complete()
    elif start.loss is not None and _is_due(start.updates, run.recipe.training):
        checkpoints.set_model(run.model)
        val_loss = run.model.evaluate(
            _validation_data(run),
            steps=len(run.validation_batches),
            callbacks=_ema_callbacks(run),
            verbose=0,
        )
        checkpoints.on_epoch_end(None, {"loss": start.loss.mean, "val_loss": val_loss})


def _fit_periods(run, start, checkpoints, position, stop):
    """Fits the updates that are left, checkpoint by checkpoint."""
    training, batches_per_update = run.recipe.training, position.batches_per_update
    updates = UpdateBatches(run.batches, batches_per_update)
    tokens_per_batch = run.batches.real_target_tokens / run.batches.steps_per_epoch
    uses_ema = run.recipe.optimizer.ema_momentum is not None
    progress = Progress(
        training.updates,
        batches_per_update * tokens_per_batch,
        start.updates,
        batches_per_update,
        "moving average of the weights" if uses_ema else "weights of this update",
    )
    callbacks = [position, stop, SeedDropout(run, position), Speed(tokens_per_batch)]
    if start.loss is not None and not _is_due(start.updates, training):
        callbacks.append(_ContinueLoss(start.loss))
    callbacks += [checkpoints, *_callbacks(run, progress)]
    with contextlib.closing(progress):
        for first, last, size in periods(
            start.updates, training.updates, training.checkpoint_every
        ):
            data = updates.to_iter_dataset(run.next_batch(first)).map(run.rows)
            if len(run.batches.shapes) > 1:
                data = with_free_shapes(data)
            epochs = -(-last // training.checkpoint_every)
            run.model.fit(
                data,
                steps_per_epoch=size * batches_per_update,
                epochs=epochs,
                initial_epoch=epochs - (last - first) // size,
                validation_data=_validation_data(run),
                validation_steps=len(run.validation_batches),
                callbacks=callbacks,
                shuffle=False,
                verbose=0,
            )
            if run.model.stop_training:  # out of patience, or stopped by a callback of the user's
                break


def periods(start, updates, checkpoint_every):
    """Divides updates into stretches of equally long periods, each of which ends in a checkpoint.

    Checkpoints are due after every multiple of `checkpoint_every` and after the last update.

    Args:
        start: Number of updates done.
        updates: Number of updates at the end.
        checkpoint_every: Number of updates between checkpoints.

    Returns:
        List of at most three tuples `(first, last, size)`: the updates done before and after a
        stretch, and the number of updates in each of its periods.

    Example:
        >>> periods(130, 450, checkpoint_every=100)
        [(130, 200, 70), (200, 400, 100), (400, 450, 50)]
    """
    head = min(-(-start // checkpoint_every) * checkpoint_every, updates)
    whole = max(updates // checkpoint_every * checkpoint_every, head)
    stretches = (start, head), (head, whole), (whole, updates)
    return [
        (first, last, min(checkpoint_every, last - first))
        for first, last in stretches
        if last > first
    ]


def _is_due(updates, training):
    """Tells whether an update of a `TrainingSection` ends in a checkpoint."""
    return updates % training.checkpoint_every == 0 or updates == training.updates


def _validation_data(run):
    return UpdateBatches(run.validation_batches).to_iter_dataset().map(run.rows)


def _ema_callbacks(run):
    return [] if run.recipe.optimizer.ema_momentum is None else [ValidateEMA()]


def _callbacks(run, progress):
    """Makes the callbacks after `Checkpoints`, in the order in which they read its figures."""
    callbacks = _ema_callbacks(run)
    if callbacks:
        callbacks.append(KeepWeights())
    if run.devices.is_first:
        callbacks.append(progress)
    # TensorBoard's callback writes with TensorFlow, and computes the learning rate, which either
    # all processes must do or none.
    if run.devices.num_processes == 1 and importlib.util.find_spec("tensorflow"):
        callbacks.append(keras.callbacks.TensorBoard(run.folder.tensorboard, write_graph=False))
    return [*callbacks, *run.own_callbacks]


# === The position ===


class Position(keras.callbacks.Callback):
    """Counts updates; the first callback, since the others ask it.

    Args:
        updates: Number of updates done.
        batches_per_update: Number of batches in an update.

    Attributes:
        updates: Number of updates done.
        is_between_updates: False while only some batches of an update are done.
    """

    def __init__(self, updates, batches_per_update):
        super().__init__()
        self.updates, self.batches_per_update = updates, batches_per_update
        self._batches = 0

    @property
    def is_between_updates(self):
        return self._batches == 0

    def on_train_batch_end(self, batch, logs=None):
        self._batches = (self._batches + 1) % self.batches_per_update
        self.updates += self._batches == 0


# === The start ===


@dataclass(frozen=True)
class _StartingPoint:
    """The point at which a training begins or goes on.

    Attributes:
        updates: Number of updates done.
        history: List of dictionaries, one for each checkpoint up to this point.
        loss: The `LossSoFar`, if the training was stopped between two checkpoints.
    """

    updates: int
    history: list
    loss: LossSoFar | None = None

    @property
    def is_measured(self):
        """True if the last row of the history belongs to the checkpoint to go on from."""
        return bool(self.history) and self.history[-1]["updates"] == self.updates


def find_start(run):
    """Loads the newest checkpoint, if there is one, and finds the point to go on from.

    Damaged checkpoints and histories must have been set aside, by one process for all.

    Args:
        run: The `TrainingRun`.

    Returns:
        The `_StartingPoint`.
    """
    folder = run.folder
    is_stopped = newest_update(folder.stopped) > newest_update(folder.checkpoints)
    updates = load_newest_checkpoint(
        run.model, folder.stopped if is_stopped else folder.checkpoints
    )
    if updates:
        logger.info("Going on from update %s.", f"{updates:,}")
        _count_batches_anew(run, updates)
    if is_stopped:
        history = read_history(folder.history, updates - 1)
        return _StartingPoint(updates, history, read_loss(folder.stopped, updates))
    start = _StartingPoint(updates, read_history(folder.history, updates))
    if updates and not start.is_measured:
        logger.warning(
            "%s does not have the figures of update %s: the choice of the best checkpoint and "
            "the end of patience are based on those that it has.",
            folder.history,
            f"{updates:,}",
        )
    return start


def _count_batches_anew(run, updates):
    """Lets the optimizer, which counts batches, go on at the same update of the schedule."""
    name, now = "optimizer.gradient_accumulation_steps", run.recipe.optimizer
    now = now.gradient_accumulation_steps
    then = value_at(run.changes, updates, name, now)
    if then != now:
        # Not `optimizer.iterations`, which counts updates where gradients are accumulated.
        (batches,) = (
            variable
            for variable in run.model.optimizer.variables
            if variable.path.endswith("/iteration")
        )
        batches.assign(int(keras.ops.convert_to_numpy(batches)) // then * now)


class SeedDropout(keras.callbacks.Callback):
    """Sets the random state of dropout from the number of the batch, wherever a training began.

    Args:
        run: The `TrainingRun`.
        position: The `Position`.
    """

    def __init__(self, run, position):
        super().__init__()
        self._seed, self._next_batch = run.recipe.training.seed, run.next_batch
        self._position, self._first = position, 0

    def on_train_batch_begin(self, batch, logs=None):
        # Not before the first batch: PyTorch's data loader draws from the same generator, once.
        if batch == 0:
            self._first = self._next_batch(self._position.updates)
            _set_seed_counts(self.model, self._first)
        seed_torch_dropout(self._seed, self._first + batch)


def _set_seed_counts(model, batches):
    """Sets the states `(seed, count)` of Keras' seed generators, which count batches."""
    for variable in model.variables:
        if variable.path.endswith("seed_generator_state"):
            seed, _ = keras.ops.convert_to_numpy(variable)
            variable.assign(np.array([seed, batches]))


class _ContinueLoss(keras.callbacks.Callback):
    """Makes the first mean of the training loss include the batches before the training stopped.

    Args:
        loss: The `LossSoFar`.
    """

    def __init__(self, loss):
        super().__init__()
        self._loss = loss

    def on_train_batch_begin(self, batch, logs=None):
        if self._loss is not None:
            self._loss.give_to(self.model)
            self._loss = None


# === Checkpoints and their measurement ===


class Checkpoints(keras.callbacks.Callback):
    """Measures the model after every period, and saves the history and a checkpoint.

    Logs `val_perplexity` every time, and `val_bleu`, `val_chrf` and the user's own figure as often
    as the recipe asks for them. Translations may take long and therefore come after the
    checkpoint: if the training is killed meanwhile, `complete` makes them when the training goes
    on. Keeps the last checkpoints and the best one, and stops the training when patience ends. Of
    several processes, the first one writes.

    Args:
        run: The `TrainingRun`.
        history: List of dictionaries, one for each checkpoint; extended in place.
        position: The `Position`.
        stop: The `StopAtUpdate`.
    """

    def __init__(self, run, history, position, stop):
        super().__init__()
        self.folder, self.training = run.folder, run.recipe.training
        self.writes = run.devices.is_first
        self.history, self.validation = history, Validation(run)
        self.position, self.stop, self.changes = position, stop, run.changes

    def on_epoch_end(self, epoch, logs=None):
        update = self.position.updates
        _check_finite(logs, update)
        perplexity = self.validation.perplexity()
        self._warn_if_diverging(perplexity, update)
        rate = float(keras.ops.convert_to_numpy(self.model.optimizer.learning_rate))
        row = {"updates": update, "learning_rate": rate}
        names = ("loss", "val_loss", "tokens_per_second")
        row.update({name: float(logs[name]) for name in names if name in logs})
        row.update(val_perplexity=perplexity, gradient_norm=gradient_norm(self.model.optimizer))
        self.history.append(row)
        self._save(update)
        self.stop.saved()
        with self.stop.at_once():
            self.complete()
        shown = (name for name in row if name.startswith("val_") or name == "gradient_norm")
        logs.update({name: _in_float32(row[name]) for name in shown})
        if self.is_out_of_patience():
            self.model.stop_training = True

    def complete(self):
        """Adds translation scores to the last row if due, and does what follows a checkpoint."""
        row = self.history[-1]
        if row["updates"] % self.training.bleu_every == 0 and self._lacks_translations(row):
            figures = self.validation.translations()
            row.update({f"val_{name}": figure for name, figure in figures.items()})
            if self.writes:
                write_history(self.folder.history, self.history)
        if self.writes:
            existing = dict(list_checkpoints(self.folder.checkpoints))
            best = best_updates(self.history, self.changes, self.training.monitor, existing)
            prune_checkpoints(self.folder.checkpoints, self.training.average_checkpoints, best)
            plot_learning_curves(as_columns(self.history), self.folder.learning_curves)

    def is_out_of_patience(self):
        """Tells if the training ends for lack of progress."""
        monitor, patience = self.training.monitor, self.training.patience
        return is_out_of_patience(self._comparable(), monitor, patience)

    def _comparable(self):
        return comparable(self.history, self.changes, self.training.monitor)

    def _lacks_translations(self, row):
        return not {"val_bleu", column_of(self.training.monitor)} <= row.keys()

    def _warn_if_diverging(self, perplexity, update):
        """Warns of a perplexity that is worse than chance, unless it is still falling to it."""
        chance = self.validation.vocabulary_size
        before = [row["val_perplexity"] for row in self.history] or [_FIRST_PERPLEXITY * chance]
        if not (perplexity <= chance or perplexity < min(before)):
            logger.warning(
                "At update %s the perplexity on the validation text, %.3g, is above %s, that of "
                "guessing at random: the training diverges. If it does not fall again, start a new "
                "training with a lower `optimizer.peak_learning_rate` or more "
                "`optimizer.warmup_steps`.",
                f"{update:,}",
                perplexity,
                f"{chance:,}",
            )

    def _save(self, update):
        if self.writes:
            write_history(self.folder.history, self.history)
            save_checkpoint(self.model, self.folder.checkpoints, update)
            discard_stopped(self.folder.stopped)
        else:
            take_part_in_saving(self.model, update)


def _check_finite(logs, update):
    if not all(math.isfinite(logs[name]) for name in ("loss", "val_loss")):
        raise ValueError(
            f"The training diverged: the loss became {logs['loss']} before update {update:,}, and "
            f"{logs['val_loss']} on the validation sentences. Earlier checkpoints are kept; start "
            "a new training with a lower `optimizer.peak_learning_rate` or more "
            "`optimizer.warmup_steps`."
        )


def _in_float32(figure):
    """A figure as TensorBoard, which only knows float32, can show it."""
    return figure if abs(figure) <= float(np.finfo("float32").max) else figure * math.inf
