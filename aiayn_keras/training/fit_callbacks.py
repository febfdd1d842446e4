"""The progress of a training, and the way in which it is stopped.

Progress is a bar, and for each checkpoint a line of figures: loss, speed and gradients.

Ctrl-C or SIGTERM stops a training at the end of an update, with a checkpoint of it. That
checkpoint, in the folder `stopped` of the training, only serves to resume the training: it is never
averaged, compared or delivered, so a training that was stopped ends as if it had not been.
"""

import contextlib
import json
import logging
import math
import os
import shutil
import signal
import sys
import threading
import time
from typing import Annotated

import keras
import pydantic
from pydantic import Field, PositiveInt

from aiayn_keras.training.checkpoints import save_checkpoint
from aiayn_keras_light.files import read_bytes, write_text
from aiayn_keras_light.progress import open_progress

logger = logging.getLogger(__name__)
_LOSS = "loss.json"
_MAX_LOSS_BYTES = 1_000
_Float = Annotated[float, Field(allow_inf_nan=False)]


class Progress(keras.callbacks.Callback):
    """Shows the loss, target tokens per second and the time left for all updates.

    Args:
        updates: Number of updates of the whole training.
        tokens_per_update: Mean number of real target tokens in an update.
        done: Number of updates done before, when a training goes on.
        batches_per_update: Number of batches that make an update.
        measured: Name of the weights that the validation figures describe.
    """

    def __init__(
        self,
        updates,
        tokens_per_update,
        done=0,
        batches_per_update=1,
        measured="weights of this update",
    ):
        super().__init__()
        self.updates = updates
        self.tokens_per_update = tokens_per_update
        self.done = done
        self.batches_per_update = batches_per_update
        self.measured = measured
        self._bar = None

    def on_train_begin(self, logs=None):
        if self._bar is None:
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
        names = [name for name in logs if name.startswith("val_")]
        figures = ", ".join(f"{name} {logs[name]:.3f}" for name in names)
        line = f"update {self._bar.n:,}: loss {logs['loss']:.3f}; {self.measured}: {figures}"
        if sys.stderr is not None:  # like the bar: standard output is for results
            self._bar.write(line, file=sys.stderr)

    def close(self):
        """Ends the bar, even after an interruption."""
        if self._bar is not None:
            self._bar.close()


class Speed(keras.callbacks.Callback):
    """Logs `tokens_per_second`, how many real target tokens a period trains on in a second.

    Measurements between periods do not count, nor does the first batch, which may be compiled.

    Args:
        tokens_per_batch: Mean number of real target tokens in a batch.
    """

    def __init__(self, tokens_per_batch):
        super().__init__()
        self._tokens_per_batch = tokens_per_batch
        self._start, self._end, self._batches = 0.0, 0.0, 0

    def on_epoch_begin(self, epoch, logs=None):
        self._batches = 0

    def on_train_batch_end(self, batch, logs=None):
        float(logs["loss"])  # waits for the device
        self._end = time.perf_counter()
        if self._batches == 0:
            self._start = self._end
        self._batches += 1

    def on_epoch_end(self, epoch, logs=None):
        if self._batches > 1:
            tokens = (self._batches - 1) * self._tokens_per_batch
            logs["tokens_per_second"] = tokens / max(self._end - self._start, 1e-9)


def gradient_norm(optimizer):
    """Computes the size of recent gradients from the second moments of Adam.

    Adam keeps the mean of the squares of each gradient with weights `beta_2 ** age`, so the figure
    costs a training nothing between checkpoints.

    Args:
        optimizer: A `keras.optimizers.Adam` that has made updates, or one in a
            `keras.optimizers.LossScaleOptimizer`.

    Returns:
        Root mean square of the norms of the gradients of all weights together, over about the last
        `1 / (1 - beta_2)` updates: 50 for `paper_adam`. NaN before the first update.

    Example:
        >>> import keras
        >>> adam = keras.optimizers.Adam(beta_2=0.98)
        >>> weights = keras.Variable([1.0, 1.0])
        >>> for gradient in ([0.6, 0.8], [3.0, 4.0]):
        ...     adam.apply([keras.ops.array(gradient)], [weights])
        >>> round(gradient_norm(adam), 3)  # of 1 and 5, the root of (0.98 * 1 + 25) / 1.98
        3.622
    """
    adam = getattr(optimizer, "inner_optimizer", optimizer)
    updates = int(keras.ops.convert_to_numpy(adam.iterations))
    if updates == 0:
        return math.nan
    sums = (
        keras.ops.convert_to_numpy(keras.ops.sum(variable))
        for variable in adam.variables
        if variable.path.endswith("_velocity")
    )
    return math.sqrt(sum(map(float, sums)) / (1.0 - adam.beta_2**updates))


# === The checkpoint ===


class LossSoFar(pydantic.BaseModel):
    """The sums from which Keras computes the mean loss since the last measured checkpoint.

    Attributes:
        updates: Number of updates done.
        total: Sum of the losses.
        count: Their number, as Keras counts.
    """

    model_config = pydantic.ConfigDict(extra="forbid", strict=True)

    updates: PositiveInt
    total: _Float
    count: _Float

    @property
    def mean(self):
        """The mean loss."""
        return self.total / max(self.count, 1.0)

    def give_to(self, model):
        """Lets the model's own mean begin with these sums."""
        loss = _loss_of(model)
        loss.total.assign(self.total)
        loss.count.assign(self.count)


def save_stopped(model, folder, updates, sums):
    """Writes the checkpoint of a stopped training in place of an earlier one.

    Args:
        model: The model, between two updates.
        folder: `RunFolder.stopped`.
        updates: Number of updates done.
        sums: The `loss_sums` of the training since the last checkpoint that was measured.
    """
    folder.mkdir(exist_ok=True)
    write_text(folder / _LOSS, json.dumps({"updates": updates, **sums}))
    path = save_checkpoint(model, folder, updates)
    for other in folder.glob("update-*"):
        if other != path and not other.is_dir():
            other.unlink()


def read_loss(folder, updates):
    """Reads the `LossSoFar` at an update; `None` if it was not written, or is damaged."""
    path = folder / _LOSS
    if not os.path.lexists(path):
        return None
    try:
        loss = LossSoFar.model_validate_json(read_bytes(path, _MAX_LOSS_BYTES))
    except (OSError, pydantic.ValidationError):
        logger.warning("%s is damaged: the next training loss is counted from here.", path)
        return None
    return loss if loss.updates == updates else None


def discard_stopped(folder):
    """Deletes the checkpoint of a stopped training, once there is a later one."""
    if folder.is_dir() and not folder.is_symlink():
        shutil.rmtree(folder)


def loss_sums(model):
    """The sums from which a model computes its mean loss, as fields of `LossSoFar`."""
    loss = _loss_of(model)
    return {
        name: float(keras.ops.convert_to_numpy(getattr(loss, name))) for name in ("total", "count")
    }


def _loss_of(model):
    return next(metric for metric in model.metrics if metric.name == "loss")


# === The signals ===


@contextlib.contextmanager
def watch_signals(position=None, save=None, agree=None):
    """Lets SIGINT (Ctrl-C) and SIGTERM end a `fit` in the block after the update in progress.

    The signal is noted, and answered at the end of the update: `save` writes a checkpoint, then
    SIGINT raises a `KeyboardInterrupt` and SIGTERM a `SystemExit(143)`. A second signal raises the
    exception at once, and so does the first one without `save`, or between updates. If a library
    swallows the exception, the note ends the training before its next batch, or the block.

    Several processes must end after the same update. At the end of each update, they `agree` on the
    signal of any of them; validation and translations are finished first.

    A signal that is handled differently (outside the main thread, by a handler of the caller, or
    not at all) is left alone.

    Args:
        position: The `Position` of the training.
        save: Function of the number of updates done and of the `loss_sums`, or `None`.
        agree: Function of a number that gives the largest one of all processes; `None` for a
            process that trains alone.

    Yields:
        A `StopAtUpdate`, the first callback for `fit`.
    """
    stop = StopAtUpdate(position, save, agree)
    usual = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    is_main = threading.current_thread() is threading.main_thread()
    ours = [each for each in usual if is_main and signal.getsignal(each) is usual[each]]
    for each in ours:
        signal.signal(each, stop.note)
    try:
        yield stop
        stop.end()
    finally:
        for each in ours:
            signal.signal(each, usual[each])


class StopAtUpdate(keras.callbacks.Callback):
    """Ends `fit` at the end of an update, once a signal has been noted.

    Args:
        position: As in `watch_signals`.
        save: As in `watch_signals`.
        agree: As in `watch_signals`.
    """

    def __init__(self, position, save, agree=None):
        super().__init__()
        self._position, self._save, self._agree = position, save, agree
        self._is_alone = agree is None
        self._signal, self._waits = None, not self._is_alone
        self._sums = None
        self._saved = None if position is None else position.updates

    def note(self, number, frame):
        """Handles a signal."""
        is_second, self._signal = self._signal is not None, number
        if is_second or not self._waits:
            self.check()

    def check(self):
        """Raises the exception of the signal, if there was one."""
        if self._signal == signal.SIGTERM:
            raise SystemExit(128 + signal.SIGTERM)
        if self._signal is not None:
            raise KeyboardInterrupt

    def end(self):
        """Raises the exception of the signal, if any process had one."""
        number = self._signal_of_all()
        self._waits = False
        self._signal = number or self._signal  # one that came meanwhile
        self.check()

    @contextlib.contextmanager
    def at_once(self):
        """Answers signals at once within the block: there is nothing to save."""
        if not self._is_alone:  # the others would wait for this process
            yield
            return
        waited, self._waits = self._waits, False
        try:
            self.check()
            yield
        finally:
            self._waits = waited

    def on_train_begin(self, logs=None):
        if self._is_alone:
            self._waits = self._save is not None

    def on_train_end(self, logs=None):
        if self._is_alone:
            self._waits = False

    def on_epoch_begin(self, epoch, logs=None):
        self._sums = None

    def on_test_begin(self, logs=None):
        self._sums = loss_sums(self.model)  # validation is about to begin its own

    def on_train_batch_begin(self, batch, logs=None):
        if self._is_alone:
            self._stop_between_updates()

    def on_train_batch_end(self, batch, logs=None):
        self._stop_between_updates()

    def on_test_batch_end(self, batch, logs=None):
        if self._is_alone and self._signal is not None:  # the measurement is thrown away
            self.model.stop_evaluating = True

    def on_epoch_end(self, epoch, logs=None):
        self._stop_between_updates()

    def saved(self):
        """Notes that a checkpoint of this moment exists."""
        self._saved = self._position.updates

    def _signal_of_all(self):
        """The signal that this process or, if there are several, any of them got, or `None`."""
        return self._signal if self._is_alone else self._agree(self._signal or 0) or None

    def _stop_between_updates(self):
        is_between = self._save is None or self._position.is_between_updates
        # Not `self._signal` again: one that comes now is only this process'.
        number = self._signal_of_all() if is_between else None
        if number is None:
            return
        if self._save is not None and self._position.updates != self._saved:
            self._save(self._position.updates, self._sums or loss_sums(self.model))
        self._signal = number
        self.check()
