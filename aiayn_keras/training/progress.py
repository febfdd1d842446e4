"""Progress on standard error: a bar in a terminal or notebook, elsewhere a line now and then."""

import sys

import keras
from tqdm.auto import tqdm
from tqdm.notebook import tqdm_notebook
from tqdm.std import tqdm as std_tqdm

SECONDS_BETWEEN_LINES = 10


class ProgressLines(std_tqdm):
    """Progress as whole lines, at most one in ten seconds, for a file or a pipe."""

    def __init__(self, **options):
        super().__init__(mininterval=SECONDS_BETWEEN_LINES, miniters=1, **options)

    def display(self, msg=None, pos=None):
        self.fp.write(f"{self}\n")
        self.fp.flush()

    def close(self):
        if not self.disable:
            self.sp = None  # Without a status printer, tqdm has nothing to clear.
            self.display()
            super().close()

    @classmethod
    def write(cls, s, file=None, end="\n", nolock=False):
        file = sys.stdout if file is None else file
        file.write(s + end)
        file.flush()


def open_progress(total, unit, **options):
    """Opens a progress bar on standard error, to be updated and closed as a `tqdm.tqdm`.

    Args:
        total: Number of units of the whole work.
        unit: Name of a unit.
        **options: As of `tqdm.tqdm`.
    """
    shows_bar = issubclass(tqdm, tqdm_notebook) or sys.stderr.isatty()
    return (tqdm if shows_bar else ProgressLines)(
        total=total, unit=unit, dynamic_ncols=shows_bar, **options
    )


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
        self._bar = open_progress(self.updates, "update", initial=self.done, smoothing=0.1)

    def on_train_batch_end(self, batch, logs=None):
        if (batch + 1) % self.batches_per_update:
            return
        rate = self._bar.format_dict["rate"]
        if rate:
            self._bar.set_postfix_str(
                f"loss {float(logs['loss']):.3f}, {rate * self.tokens_per_update:,.0f} tokens/s",
                refresh=False,
            )
        self._bar.update()

    def on_epoch_end(self, epoch, logs=None):
        names = ("loss", "val_loss", "val_perplexity", "val_bleu")
        figures = ", ".join(f"{name} {logs[name]:.3f}" for name in names if name in logs)
        # On standard error, as the bar: standard output is for results.
        self._bar.write(f"update {self._bar.n:,}: {figures}", file=sys.stderr)

    def close(self):
        """Ends the bar, also after an interruption."""
        if self._bar is not None:
            self._bar.close()
