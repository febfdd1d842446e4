"""The progress of a training, on standard error."""

import sys

import keras

from aiayn_keras.progress import open_progress


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
