"""Work that fails when the tests of worker pools say so, and counts how often it is done."""

import os
import signal
import time
from pathlib import Path

from aiayn_keras.scale.worker_pool import WorkerPool


class OddError(Exception):
    """An error whose constructor takes more than its message."""

    def __init__(self, part, problem):
        super().__init__(f"part {part} is {problem}")


class CountingWorkDouble:
    """Writes a file for each call of a part, and kills its process at the first call of some.

    Args:
        folder: Path of a folder for the files.
        killed: Numbers of the parts at which it kills its process, once each, or each time if the
            number is negative; -1 for its creation.
        refused: Number of a part at which it raises an error; -1 for its creation.
        odd: Whether that error is one that pickle cannot recreate.
    """

    def __init__(self, folder, killed=(), refused=None, odd=False):
        if -1 in killed:
            os.kill(os.getpid(), signal.SIGKILL)
        if refused == -1:
            raise ValueError("the model is damaged")
        self._folder, self._killed, self._refused = Path(folder), killed, refused
        self._odd = odd
        _new_file(self._folder, "started")

    def __call__(self, part):
        """The part, times ten."""
        calls = _new_file(self._folder, f"call-{part}")
        if part in self._killed and (calls == 1 or part < 0):
            os.kill(os.getpid(), signal.SIGKILL)
        if part == self._refused:
            raise OddError(part, "damaged") if self._odd else ValueError(f"part {part} is damaged")
        return part * 10


class EndlessWorkDouble:
    """Writes the number of its process into a file for each call, and does not come back.

    Args:
        folder: Path of a folder for the files.
    """

    def __init__(self, folder):
        self._folder = Path(folder)

    def __call__(self, part):
        """Sleeps for longer than any test."""
        with (self._folder / "processes").open("a") as file:
            file.write(f"{os.getpid()}\n")
        time.sleep(600)


def work_without_end(folder):
    """A job of two workers and nine parts that does not end."""
    list(WorkerPool(2).run(EndlessWorkDouble, (str(folder),), list(range(9))))


def _new_file(folder, stem):
    """Creates the next file of a stem; returns their number."""
    number = 1
    while True:
        try:
            (folder / f"{stem}.{number}").touch(exist_ok=False)
        except FileExistsError:
            number += 1
        else:
            return number
