"""Progress of a command, on stderr."""

import contextlib
import sys
import time

import click

SECONDS_BETWEEN_LINES = 10


@contextlib.contextmanager
def show_progress(total, unit):
    """Gives a function that is told how much more is done.

    On a terminal there is a progress bar, elsewhere a line every ten seconds.

    Args:
        total: Number of things to do.
        unit: Their plural, such as `"sentences"`.

    Yields:
        Function of the number of things done since its last call.
    """
    if sys.stderr.isatty():
        from tqdm import tqdm

        with tqdm(total=total, unit=f" {unit}") as bar:
            yield bar.update
    else:
        yield _Lines(total, unit).update


class _Lines:
    """Progress in lines.

    Args:
        total: As in `show_progress`.
        unit: As in `show_progress`.
    """

    def __init__(self, total, unit):
        self.total, self.unit, self.done = total, unit, 0
        self.start = self.last_line = time.monotonic()

    def update(self, count):
        """Counts, and writes a line if the last one is long enough ago."""
        self.done += count
        now = time.monotonic()
        if now - self.last_line < SECONDS_BETWEEN_LINES:
            return
        self.last_line = now
        rate = self.done / (now - self.start)
        left = (self.total - self.done) / rate
        click.echo(
            f"{self.done:,} of {self.total:,} {self.unit}, {rate:.1f} a second, {left:.0f} s left",
            err=True,
        )
