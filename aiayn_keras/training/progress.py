"""The progress of a training: a bar, a line of figures for each checkpoint, speed and gradients."""

import math
import sys
import time

import keras

from aiayn_keras_light.progress import open_progress


class Progress(keras.callbacks.Callback):
    """Shows the loss, target tokens per second and the time left for all updates.

    Args:
        updates: Number of updates of the whole training.
        tokens_per_update: Mean number of real target tokens in an update.
        done: Number of updates done before, when a training goes on.
        batches_per_update: Number of batches that make an update.
        measured: Name of the weights that validation figures are of.
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
        """Ends the bar, also after an interruption."""
        if self._bar is not None:
            self._bar.close()


class Speed(keras.callbacks.Callback):
    """Logs `tokens_per_second`, the real target tokens of a period in a second of training.

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
